"""One attempt at a training, from its roll call to its end."""

import time

from vfl_flower.parties.active import ActiveParty
from vfl_flower.protocol.exchange import Protocol
from vfl_flower.training.checkpointing import checkpoint, restore


def attempt(party: ActiveParty) -> Protocol:
    """Restore or write the first checkpoint, then run the protocol."""
    party.training_labels.keep(party.folder, begun=party.begun)
    party.progress.started = time.monotonic()
    if party.resume_from is not None:
        yield from restore(party, party.resume_from)
    else:  # a party that has to start again finds something to go back to
        yield from checkpoint(party)
    yield from party.protocol()
