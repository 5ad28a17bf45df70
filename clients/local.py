"""Local training, passive party: it takes no part.  See `strategies.local`."""

from vfl_flower.api import PassiveParty


class LocalClient(PassiveParty):
    """Answers the roll call and writes checkpoints; its network never trains."""
