"""One run from configuration to result, whatever carries it."""

import os
import platform
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from vfl_flower.active import ActiveParty
from vfl_flower.bounds import bounds_of, wanted
from vfl_flower.data.target import REGRESSION
from vfl_flower.device import described
from vfl_flower.errors import ConfigError
from vfl_flower.evaluations import MetricsFile
from vfl_flower.ledger import DOWN, UP
from vfl_flower.metrics import guess
from vfl_flower.observer import Observer, Observers
from vfl_flower.privacy.supervision import label_report
from vfl_flower.protections import protections
from vfl_flower.runs import RunFolder
from vfl_flower.tensorboard import TensorBoard
from vfl_flower.training import end_of
from vfl_flower.versions import versions

Carry = Callable[[ActiveParty], dict[str, Any] | None]
"""Runs the active party's protocol to its end over some carrier, of which it may return facts."""


def conduct(
    active: ActiveParty,
    carrier: str,
    carry: Carry,
    folder: RunFolder | None = None,
    observer: Observer | None = None,
) -> dict[str, Any]:
    """Train, evaluate and write the result.

    Parameters
    ----------
    active : ActiveParty
        Built, not yet started.
    carrier : str
        The carrier's name, for the result.
    carry : callable
        The carrier.
    folder : RunFolder, optional
        Where checkpoints, metrics, weights and the result go. If it holds a checkpoint, the run
        goes on from there.
    observer : Observer, optional
        Is told of everything.

    Returns
    -------
    dict
        What ``result.json`` holds.

    Raises
    ------
    VflError
        Whatever went wrong; checkpoints written so far stay.
    """
    watching = [observer or Observer()]
    if active.cfg.tensorboard and not folder:
        raise ConfigError("tensorboard is on, but the run has no folder to write to; set out")
    if active.budget and not folder:
        raise ConfigError(
            "passive parties are to noise and count what they send, and the run has no folder to "
            "count in; set out"
        )
    try:
        if folder:
            watching.append(MetricsFile(folder))
            if active.cfg.tensorboard:
                watching.append(TensorBoard(folder.path))
            active.resume_from = folder.last_checkpoint()
            active.begun = not folder.fresh
            if active.begun:
                folder.begin()  # a new one begins once all parties are there
                active.patience = active.cfg.return_timeout  # some may still be in its last sitting
        active.observer = Observers(*watching)
        facts = _carry_out(active, carry)
        result = result_of(active, carrier) | {"carriage": facts or {}}
        if wanted(active.cfg):
            active.observer.on_bounds()
            result["bounds"] = bounds_of(active)
        if folder:
            folder.write_result(result)
    finally:
        if folder:
            folder.end()
    return result


def _carry_out(active: ActiveParty, carry: Carry) -> dict[str, Any] | None:
    """Run the protocol; whatever happens, the observers and the active party hear of its end."""
    try:
        return carry(active)
    finally:
        active.observer.on_end()
        active.close()


def result_of(active: ActiveParty, carrier: str) -> dict[str, Any]:
    """Gather what a finished protocol came to; the bounds are added when they are trained."""
    cfg, ledger, progress = active.cfg, active.ledger, active.progress
    protected, unprotected = protections(cfg, active.target.task == REGRESSION)
    counting = progress.counting(cfg.keep)
    client_privacy = active.budget and active.budget.report(active.uploaded)
    return {
        "method": cfg.method,
        "dataset": cfg.dataset,
        "task": active.target.task,
        "carrier": carrier,
        "seed": cfg.seed,
        "epochs": cfg.epochs,
        "stages": [stage.as_dict() for stage in progress.stages],
        "steps": progress.step,
        "counting_step": counting.step if counting else 0,
        "ended_by": end_of(active),
        "parties": cfg.parties,
        "loss": active.loss_name,
        "models": [cfg.model_of(place) for place in range(cfg.parties)],
        "optimizers": [cfg.optimizer_of(place) for place in range(cfg.parties)],
        "learning_rates": [cfg.rate_of(place) for place in range(cfg.parties)],
        "test_accuracy": progress.test["accuracy"],
        "metrics": progress.metrics,
        "majority_share": guess(active.y[torch.from_numpy(active.rows["test"])]),
        "classes": list(active.target.classes),
        "validation_accuracy": counting.validation_accuracy if counting else {},
        "bounds": None,
        "exchanges": ledger.exchanges["training"],
        "bytes_up": ledger.total(UP),
        "bytes_down": ledger.total(DOWN),
        "bytes_by_phase": ledger.by_phase(),
        "bytes_by_party": ledger.by_party(),
        "evaluation": _apart(active, "evaluation"),
        "upkeep": _apart(active, "upkeep"),
        "uploads_per_party": dict(ledger.uploads),
        "seconds": progress.elapsed(),
        "exchange_ms": _milliseconds(active),
        "protections": protected,
        "unprotected": unprotected,
        "figures": active.figures(),
        "epsilon": client_privacy and client_privacy["epsilon"],
        "label_privacy": label_report(cfg),
        "client_privacy": client_privacy,
        "device": described(active.x.device),
        "threads": cfg.threads,
        "environment": {
            **versions(),
            "platform": platform.platform(),
            "cores": os.cpu_count(),
        },
    }


def _milliseconds(active: ActiveParty) -> dict[str, float]:
    """Return how long the exchanges of this sitting took, work at the parties included."""
    times = 1e3 * np.array(active.latencies or [0.0])
    return {"median": float(np.median(times)), "p99": float(np.quantile(times, 0.99))}


def _apart(active: ActiveParty, purpose: str) -> dict[str, Any]:
    """Return the books of what was not training."""
    ledger = active.ledger
    return {
        "exchanges": ledger.exchanges[purpose],
        "bytes_up": ledger.total(UP, purpose),
        "bytes_down": ledger.total(DOWN, purpose),
        "bytes_by_phase": ledger.by_phase(purpose),
        "bytes_by_party": ledger.by_party(purpose),
    }
