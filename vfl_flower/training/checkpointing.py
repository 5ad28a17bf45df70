"""Checkpoints of all parties as sub-protocols."""

from pathlib import Path

import numpy as np

from vfl_flower.common.errors import DamageError, RunError
from vfl_flower.common.layout import checkpoint_path, steps_kept
from vfl_flower.common.names import party_log, party_name
from vfl_flower.common.nonce import nonce_to_array
from vfl_flower.common.state import State
from vfl_flower.parties.active import ActiveParty
from vfl_flower.parties.persistence.checkpoints import (
    drop_later,
    folder_of,
    read_checkpoint,
    write_checkpoint,
)
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
        progress.spare_mark = progress.written_mark
        progress.parties_mark, progress.parties_exchanges = progress.mark, exchanges
    state = party.checkpointed() | {
        "exchange": party.strategy.exchange,
        "nonce": party.nonce,
        "ledger": party.ledger.state_dict(),
        "step": progress.step,
        "stages": [stage.as_dict() for stage in progress.stages],
        "parties_mark": progress.parties_mark,
        "spare_mark": progress.spare_mark,
        "seconds": progress.elapsed(),
        "losses": progress.losses,
        "hits": progress.hits,
        "judged": progress.judged,
        "records": [record.as_dict() for record in progress.records],
        "test": progress.test,
        "metrics": progress.metrics,
        "curves": progress.curves,
        "shares": progress.shares,
    }
    write_checkpoint(party, progress.mark, state, progress.spare_mark)
    progress.written_mark = progress.mark


def restore(party: ActiveParty) -> Protocol:
    """Take all parties back to the last whole set of checkpoints."""
    of_another_process = not party.ledger.exchanges
    mark, state = yield from _last_set(party)
    party.progress.written_mark = mark
    party.progress.spare_mark = state.pop("spare_mark", -1)  # earlier versions have none
    party.nonce = state.pop("nonce")
    keep_run(folder_of(party), party.nonce)
    party.progress.step, party.progress.seconds = state.pop("step"), state.pop("seconds")
    party.progress.losses = state.pop("losses")
    party.progress.hits = state.pop("hits", [])  # earlier versions have none
    party.progress.judged = state.pop("judged", 0)
    party.progress.stages = [Stage(**each) for each in state.pop("stages")]
    for record in state.pop("records"):
        party.progress.add(Evaluation.from_dict(record))
    party.progress.test, party.progress.metrics = _tested(state.pop("test")), state.pop("metrics")
    party.progress.curves = state.pop("curves", {})  # earlier versions have none
    party.progress.shares = state.pop("shares", [])
    books = state.pop("ledger")
    if of_another_process:  # a run that went back has all it sent
        party.ledger.carry_over(books)
    del state["exchange"]
    party.progress.parties_mark = state.pop("parties_mark")
    exchanges = party.ledger.exchanges["training"]
    party.progress.parties_exchanges = party.progress.checked_exchanges = exchanges
    party.go_back(state)
    run = nonce_to_array(party.nonce)
    yield ask("restore", np.array(party.progress.parties_mark), run, purpose="control")
    drop_later(folder_of(party), mark)


def _last_set(party: ActiveParty) -> Protocol:
    """Return mark and state of the last whole set of checkpoints."""
    damaged = ""
    for mark in reversed(steps_kept(folder_of(party))):
        if damaged:
            party_log(0).warning("%s; going back to the set of checkpoints before", damaged)
        try:
            state = read_checkpoint(party, mark)
        except DamageError as error:
            damaged = f"{error}"
        else:
            lacking = yield from _lacking(party, state)
            if not lacking:
                return mark, state
            damaged = f"{' and '.join(lacking)}: missing or damaged"
    raise RunError(f"{damaged}, and no set before is whole; put it back, or start a new run")


def _lacking(party: ActiveParty, state: State) -> Protocol:
    """Return the checkpoints of a set that passive parties cannot read."""
    strategy = party.strategy
    strategy.exchange = max(strategy.exchange, state["exchange"])  # it never goes back
    mark, run = np.array(state["parties_mark"]), nonce_to_array(state["nonce"])
    replies = yield ask("can_restore", mark, run, purpose="control")
    file = checkpoint_path(Path(), state["parties_mark"]).name
    answers = dict(enumerate(replies.arrays, 1))
    ranks = [rank for rank in party.cfg.present if not answers[rank][0]]
    return [f"{party_name(rank)}/{file}" for rank in ranks]


def _tested(test: dict[str, dict[str, float]]) -> dict[str, dict[str, float]]:
    """Return the test rows' loss and score, which was called accuracy."""
    return {{"accuracy": "score"}.get(key, key): each for key, each in test.items()}
