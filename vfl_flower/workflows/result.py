"""Result of a finished run."""

import os
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from vfl_flower.common.names import party_name
from vfl_flower.common.versions import versions
from vfl_flower.config.evaluation.metrics import deciding, key_of, primary
from vfl_flower.config.evaluation.threshold import read_threshold
from vfl_flower.learning.device import described
from vfl_flower.learning.metrics.judge import guess
from vfl_flower.parties.active import ActiveParty
from vfl_flower.privacy.guarantees import protections
from vfl_flower.privacy.label_dp.training_labels import label_report
from vfl_flower.protocol.ledger import DOWN, UP
from vfl_flower.protocol.observer import Evaluation
from vfl_flower.runs.memory import peak_memory
from vfl_flower.training.leave_one_out import obstacle
from vfl_flower.training.stopping import end_of


def result_of(active: ActiveParty, transport: str) -> dict[str, Any]:
    """Assemble the result of a finished protocol, without baselines."""
    return {
        **_setting(active, transport),
        **_outcome(active),
        **_traffic(active),
        **_guarantees(active),
        "device": described(active.x.device),
        "precision": active.cfg.precision,
        "wire_precision": active.cfg.wire_precision,
        "threads": active.cfg.threads,
        "eval_threads": active.cfg.threads_in(training=False),
        "peak_memory": peak_memory(),
        "profile": None,
        "environment": {
            **versions(),
            "platform": platform.platform(),
            "cores": os.cpu_count(),
        },
    }


def _setting(active: ActiveParty, transport: str) -> dict[str, Any]:
    """Return the run's settings and the steps that it took."""
    cfg, progress = active.cfg, active.progress
    counting = progress.counting(cfg.keep)
    return {
        "method": cfg.method,
        "dataset": cfg.dataset,
        "task": active.target.task,
        "transport": transport,
        "seed": cfg.seed,
        "split": cfg.split,
        "fold": cfg.fold,
        "epochs": cfg.epochs,
        "stages": [stage.as_dict() for stage in progress.stages],
        "steps": progress.step,
        "counting_step": counting.step if counting else progress.step,
        "ended_by": end_of(active),
        "parties": cfg.parties,
        "without": [party_name(rank) for rank in sorted(cfg.left)],
        "joined": _joined(active),
        "loss": active.loss_name,
        "models": [cfg.model_of(rank) for rank in range(cfg.parties)],
        "optimizers": [cfg.optimizer_of(rank) for rank in range(cfg.parties)],
        "learning_rates": [cfg.rate_of(rank) for rank in range(cfg.parties)],
    }


def _joined(active: ActiveParty) -> dict[str, Any] | None:
    """Return the model that parties joined, and which; None if none."""
    cfg = active.cfg
    if not cfg.joins:
        return None
    return {
        "model": Path(cfg.model).name,
        "digest": active.model_digest(),
        "parties": [party_name(rank) for rank in cfg.newcomers],
    }


def _outcome(active: ActiveParty) -> dict[str, Any]:
    """Return the metrics of predictions; baselines come later."""
    progress = active.progress
    counting, test = progress.counting(active.cfg.keep), active.rows["test"]
    score = primary(active.target.task)
    return {
        f"test_{score}": progress.test["score"],
        "metrics": progress.metrics,
        "curves": progress.curves,
        "majority_share": guess(active.y[torch.from_numpy(test)]) if len(test) else None,
        "classes": list(active.target.classes),
        "positive": active.target.positive_class,
        "positive_by": active.target.positive_by,
        "threshold": _threshold(active, counting),
        "metric": key_of(deciding(active.cfg.metric, active.target.task)),
        "train_accuracy": counting.train_accuracy if counting else {},
        f"validation_{score}": counting.primary if counting else {},
        **({f"validation_{counting.metric}": counting.decisive} if counting else {}),
        "leave_one_out": {
            "scores": counting.leave_one_out if counting else {},
            "unmeasured": obstacle(active.cfg),
        },
        "baselines": None,
    }


def _threshold(active: ActiveParty, counting: Evaluation | None) -> dict[str, Any] | None:
    """Return the threshold's rule and values; None unless of two classes."""
    if not active.target.positive_class:
        return None
    chosen = counting.thresholds if counting else {}
    usual = read_threshold(active.cfg.threshold).number
    return {
        "rule": active.cfg.threshold,
        "step": counting.step if counting and chosen else active.progress.step,
        "values": {name: chosen.get(name, usual) for name in active.progress.metrics or ["active"]},
    }


def _traffic(active: ActiveParty) -> dict[str, Any]:
    """Return exchanges, bytes and times, those of training first."""
    return {
        **_books(active, "training"),
        "evaluation": _books(active, "evaluation"),
        "control": _books(active, "control"),
        "uploads_per_party": dict(active.ledger.uploads),
        "seconds": active.progress.elapsed(),
        "exchange_ms": _milliseconds(active),
    }


def _guarantees(active: ActiveParty) -> dict[str, Any]:
    """Return the privacy guarantees, and further figures."""
    cfg = active.cfg
    protected, unprotected = protections(cfg, active.target.task)
    client_privacy = active.budget and active.budget.report(active.uploaded)
    return {
        "protections": protected,
        "unprotected": unprotected,
        "policies": active.strategy.roster.policies,
        "figures": {**active.figures(), **_shares(active.progress.shares)},
        "epsilon": client_privacy and client_privacy["epsilon"],
        "label_privacy": label_report(cfg),
        "client_privacy": client_privacy,
    }


def _shares(percent: Sequence[int]) -> dict[str, float]:
    """Return the largest shares of summed uploads' variance, if they were checked."""
    if not percent:
        return {}
    return {"largest_share": max(percent) / 100, "largest_share_at_the_end": percent[-1] / 100}


def _milliseconds(active: ActiveParty) -> dict[str, float]:
    """Return latencies of this attempt's exchanges, the parties' work included."""
    times = 1e3 * np.array(active.strategy.latencies or [0.0])
    return {"median": float(np.median(times)), "p99": float(np.quantile(times, 0.99))}


def _books(active: ActiveParty, purpose: str) -> dict[str, Any]:
    """Return the traffic of one purpose."""
    ledger = active.ledger
    return {
        "exchanges": ledger.exchanges[purpose],
        "bytes_up": ledger.total(UP, purpose),
        "bytes_down": ledger.total(DOWN, purpose),
        "bytes_by_phase": ledger.by_phase(purpose),
        "bytes_by_party": ledger.by_party(purpose),
    }
