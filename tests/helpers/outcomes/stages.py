"""Repeated runs under attack, each made once for all tests."""

from functools import cache
from typing import Any

import numpy as np

import vfl_flower as vfl
from vfl_flower.analysis.audit.attack import Score
from vfl_flower.analysis.audit.protection import unprotected
from vfl_flower.analysis.audit.registry import attack_of
from vfl_flower.analysis.audit.transcripts.attacked import AttackedRows
from vfl_flower.analysis.audit.transcripts.stage import Stage
from vfl_flower.config.registry import spec_of
from vfl_flower.config.run_config import RunConfig


def small(method: str, **changes: object) -> RunConfig:
    """Return the configuration of a small run on digits."""
    usual = {
        "parties": 3,
        "models": "mlp",
        "epochs": 2,
        "batch_size": 100,
        "embedding_dim": 16,
        "baselines": "off",
    }
    usual = {name: each for name, each in usual.items() if name not in spec_of(method).unused}
    return RunConfig(method=method, **{**usual, **changes})  # type: ignore[arg-type]


@cache
def stage_of(method: str, *, bare: bool = False, **changes: object) -> Stage:
    """Repeat a small run; bare, without its protections."""
    cfg = small(method, **changes)
    made = unprotected(cfg) if bare else cfg
    return Stage.of(made, AttackedRows(unprotected(cfg), known=10, auxiliary=200))


def run_with_numbers(rows: int) -> vfl.Run:
    """Train once on labels that are numbers."""
    labels = np.random.default_rng(0).normal(size=rows)
    columns = {"id": list(range(rows)), "a": labels, "b": -labels}
    bank = vfl.Table({**columns, "y": labels}, id="id", label="y")
    options: dict[str, Any] = {"epochs": 1, "batch_size": 16, "baselines": "off"}
    return vfl.train([bank, vfl.Table(columns, id="id")], method="splitnn", **options)


def score_of(attack: str, stage: Stage) -> Score:
    """Attack a stage to which the attack applies."""
    found = attack_of(attack)
    assert not found.applies(stage)
    return found.run(stage)


def reason_of(attack: str, stage: Stage) -> str:
    """Return the reason why an attack does not apply."""
    return attack_of(attack).applies(stage)
