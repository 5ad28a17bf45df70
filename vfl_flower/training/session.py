"""One attempt at a training, from its roll call to its end."""

import time

from vfl_flower.common.names import party_log
from vfl_flower.config.evaluation.positive import STATED
from vfl_flower.parties.active import ActiveParty
from vfl_flower.parties.persistence.run_identity import keep_run, known_run
from vfl_flower.protocol.exchange import Protocol
from vfl_flower.training.checkpointing import checkpoint, restore


def attempt(party: ActiveParty) -> Protocol:
    """Restore or write the first checkpoint, then run the protocol."""
    if party.folder is not None and party.resume_from is None:
        # one that died before its first checkpoint was of this run, too
        party.nonce = known_run(party.folder) or party.nonce
        keep_run(party.folder, party.nonce)
    if party.target.positive_by != STATED and party.target.told_positive:
        party_log(0).info("%s", party.target.told_positive)
    party.progress.started = time.monotonic()
    if party.resume_from is not None:
        yield from restore(party)
    else:  # a party that has to start again finds something to go back to
        yield from checkpoint(party)
    yield from party.protocol()
