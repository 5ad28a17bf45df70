"""Central training, passive party: it takes no part.  See `strategies.central`."""

from .local import LocalClient


class CentralClient(LocalClient):
    """Answers the roll call; its columns are read without it."""
