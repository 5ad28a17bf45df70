"""Early stopping and other ends of a training."""

import math

from vfl_flower.common.errors import Interrupted, TrainingError
from vfl_flower.common.names import party_name
from vfl_flower.learning.batching import asked
from vfl_flower.learning.schedule import steps_per_epoch
from vfl_flower.parties.active import ActiveParty


def interrupted(party: ActiveParty, what: str) -> Interrupted:
    """Build the error of a stopped run: progress, and how to resume."""
    if party.folder is None:
        return Interrupted(f"stopped after {what}; nothing was kept")
    return Interrupted(f"stopped after {what}", party.folder.parent)


def ended(party: ActiveParty) -> bool:
    """Tell whether training is over before its last epoch is."""
    fallen = party.progress.fallen(party.cfg.stop_drop)
    return bool(party.own_end) or fallen or not _affordable(party)


def end_of(party: ActiveParty) -> str:
    """Name the end of training.

    ``stop-drop``, ``target-epsilon``, ``epochs``, or a method's own.
    """
    cfg, progress = party.cfg, party.progress
    if party.own_end:
        return party.own_end
    if progress.fallen(cfg.stop_drop):
        return "stop-drop"
    steps = cfg.epochs * steps_per_epoch(cfg, len(party.rows["train"]))
    return "target-epsilon" if party.budget and progress.step < steps else "epochs"


def _affordable(party: ActiveParty) -> bool:
    """Tell whether budgets allow another step, its evaluation and test rows."""
    if party.budget is None or not party.options.uploads_in_steps:
        return True
    budget, step = party.budget, party.progress.step
    to = {party_name(rank) for rank in asked(party.cfg, step)}
    return all(
        budget.allows(budget.after_step(sent, party.rows, step, asked=name in to))
        for name, sent in party.uploaded.items()
    )


def check_finite(losses: list[float], number: int, unit: str = "step") -> None:
    """Refuse losses, one of each model, that are not finite.

    Raises
    ------
    TrainingError
        Names the party, and the step or another unit.
    """
    for rank, loss in enumerate(losses):
        if not math.isfinite(loss):
            raise TrainingError(
                f"the loss of {party_name(rank)} is not finite at {unit} {number}; lower the "
                "learning rates"
            )
