"""Checkpoints of all parties as sub-protocols."""

import numpy as np

from vfl_flower.common.nonce import nonce_to_array
from vfl_flower.parties.active import ActiveParty
from vfl_flower.parties.persistence.checkpoints import folder_of, read_checkpoint, write_checkpoint
from vfl_flower.parties.persistence.run_identity import keep_run
from vfl_flower.protocol.exchange import Protocol, ask
from vfl_flower.protocol.observer import Evaluation, Stage


def checkpoint(party: ActiveParty) -> Protocol:
    """Write every party's checkpoint, the active party's last.

    The active party's makes the set valid.

    Passive parties that were asked nothing since their last one in training are as they were, and
    that one belongs to this set too.
    """
    if party.folder is None:
        return
    progress, exchanges = party.progress, party.ledger.exchanges["training"]
    if progress.parties_exchanges != exchanges:
        run = nonce_to_array(party.nonce)
        yield ask("checkpoint", np.array(progress.mark), run, purpose="control")
        progress.parties_mark, progress.parties_exchanges = progress.mark, exchanges
    state = party.checkpointed() | {
        "exchange": party.strategy.exchange,
        "nonce": party.nonce,
        "ledger": party.ledger.state_dict(),
        "step": progress.step,
        "stages": [stage.as_dict() for stage in progress.stages],
        "parties_mark": progress.parties_mark,
        "seconds": progress.elapsed(),
        "losses": progress.losses,
        "records": [record.as_dict() for record in progress.records],
        "test": progress.test,
        "metrics": progress.metrics,
        "curves": progress.curves,
    }
    write_checkpoint(party, progress.mark, state)


def restore(party: ActiveParty, mark: int) -> Protocol:
    """Take all parties back to one checkpoint."""
    state = read_checkpoint(party, mark)
    party.nonce = state.pop("nonce")
    keep_run(folder_of(party), party.nonce)
    party.progress.step, party.progress.seconds = state.pop("step"), state.pop("seconds")
    party.progress.losses = state.pop("losses")
    party.progress.stages = [Stage(**each) for each in state.pop("stages")]
    for record in state.pop("records"):
        party.progress.add(Evaluation.from_dict(record))
    party.progress.test, party.progress.metrics = _tested(state.pop("test")), state.pop("metrics")
    party.progress.curves = state.pop("curves", {})  # earlier versions have none
    books = state.pop("ledger")
    if not party.ledger.exchanges:  # of another process; a run that went back has all it sent
        party.ledger.carry_over(books)
    strategy = party.strategy
    strategy.exchange = max(strategy.exchange, state.pop("exchange"))  # it never goes back
    party.progress.parties_mark = state.pop("parties_mark")
    party.progress.parties_exchanges = party.ledger.exchanges["training"]
    party.go_back(state)
    run = nonce_to_array(party.nonce)
    yield ask("restore", np.array(party.progress.parties_mark), run, purpose="control")


def _tested(test: dict[str, dict[str, float]]) -> dict[str, dict[str, float]]:
    """Return the test rows' loss and score, which was called accuracy."""
    return {{"accuracy": "score"}.get(key, key): each for key, each in test.items()}
