"""Deviations of a passive party: other columns, other gradients, other words."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

import torch
from torch import Tensor

from vfl_flower.analysis.audit.transcripts.repetition import Deviation
from vfl_flower.analysis.audit.transcripts.stage import NO_PREDICTIONS, Stage
from vfl_flower.common.codec import Array
from vfl_flower.common.names import party_name
from vfl_flower.config.evaluation.metrics import primary
from vfl_flower.parties.active import ActiveParty
from vfl_flower.parties.passive import PassiveParty
from vfl_flower.protocol.components import Phase, PhaseMethod

RANK = 1
"""The passive party that deviates."""
DEVIATOR = party_name(RANK)

Change = Callable[[Tensor, Tensor], Tensor]
"""From a step's rows, (B,), and their received numbers, (B, ...), to others."""


def by(change: Callable[[PassiveParty], object]) -> Deviation:
    """Return a deviation of the one party, changed before the run."""

    def deviation(active: ActiveParty, passive: Sequence[PassiveParty]) -> None:
        change(passive[RANK - 1])

    return deviation


def give_own_columns(party: PassiveParty) -> Tensor:
    """Give a party a copy of its columns: (N, ...)."""
    columns = party.data.numbers.clone()
    party.data = replace(party.data, x=columns)
    return columns


@contextmanager
def shown(party: PassiveParty, rows: Array, columns: Tensor) -> Iterator[None]:
    """Give rows, (B,), other columns, (B, ...), for a while."""
    x, index = party.data.numbers, torch.from_numpy(rows).long()
    kept = x[index].clone()
    x[index] = columns
    try:
        yield
    finally:
        x[index] = kept


def change_received(party: PassiveParty, change: Change) -> None:
    """Replace the numbers that a party learns from, after its own checks."""
    step: dict[str, Tensor] = {}
    for name, method in party.phases.items():
        declared = party.declared(name)
        if declared is not None and declared.training:
            party.phases[name] = _changed(method, declared, change, step)


def _changed(
    method: PhaseMethod, declared: Phase, change: Change, step: dict[str, Tensor]
) -> PhaseMethod:
    """Return a phase that notes its rows, and changes its numbers."""
    learns = not declared.sends
    changed = partial(_run, method, declared.names_rows, change if learns else None, step)
    changed.phase = declared  # type: ignore[attr-defined]
    return changed


def _run(
    method: PhaseMethod,
    named: bool,
    change: Change | None,
    step: dict[str, Tensor],
    *arrays: Tensor,
) -> object:
    if named:
        step["rows"] = arrays[0].long()
    rows = step.get("rows", torch.empty(0))
    given = [change(rows, each) if change and _is_about(each, rows) else each for each in arrays]
    return method(*given)


def _is_about(array: Tensor, rows: Tensor) -> bool:
    """Tell whether numbers are one row's each."""
    return array.is_floating_point() and array.ndim > 1 and len(array) == len(rows)


def embedded_only(stage: Stage) -> str:
    """Return the reason why no party's upload changes a prediction, or nothing."""
    if reason := stage.lacks_uploads:
        return reason
    if not stage.run.active.progress.test.get("score"):
        return "the run has no test rows"
    return ""


def predicted(stage: Stage) -> str:
    """Return the reason why predictions cannot be asked for, or nothing."""
    if stage.attacked.other_labels:
        return f"labels {stage.attacked.other_labels}; it is about predicted classes"
    if "test" not in stage.run.answers:
        return NO_PREDICTIONS
    return embedded_only(stage)


def score_on_test(active: ActiveParty) -> tuple[str, float]:
    """Return name and value of the active party's score on test rows."""
    return primary(active.target.task), float(active.progress.test["score"][party_name(0)])
