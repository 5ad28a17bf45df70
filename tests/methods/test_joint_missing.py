"""Sums over present parties equal joint programs, bit for bit."""

from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.helpers.data import labels_of
from tests.helpers.joint.reference import Step, joint
from tests.helpers.joint.reference_missing import (
    MissingEaster,
    MissingLogits,
    MissingSplit,
    MissingVimAdmmJ,
)
from tests.methods.test_joint_reference import assert_equal
from vfl_flower.config.run_config import RunConfig
from vfl_flower.data.splitting.presence import drawn_presence
from vfl_flower.learning.losses import loss_of
from vfl_flower.parties.party import Party
from vfl_flower.privacy.missing_parties.drawn_subsets import drawn_sizes, drawn_subsets
from vfl_flower.transport.local import run_local
from vfl_flower.workflows.build_parties import build_active, build_passive

PARTLY: dict[str, Any] = {
    "models": "mlp",
    "epochs": 2,
    "batch_size": 50,
    "train_rows": 390,
    "missing_parties": "use",
    "row_presence": 0.6,
    "optimizers": "momentum",
}
METHODS: dict[str, tuple[str, Any, dict[str, Any]]] = {
    "easter": ("binary-cross-entropy", MissingEaster, {}),
    "vfedmh": ("cross-entropy", MissingEaster, {}),
    "agg_vfl": ("cross-entropy", MissingLogits, {}),
    "fdml": ("cross-entropy", MissingLogits, {}),
    "vimadmm_j": ("cross-entropy", MissingVimAdmmJ, {"local_steps": 3}),
    "splitnn": ("cross-entropy", MissingSplit, {}),
    "fedbcd": ("cross-entropy", partial(MissingSplit, steps=3), {"local_steps": 3}),
}
CASES = [
    (method, blinding)
    for method in METHODS
    for blinding in ("pairwise", "none")
    if blinding == "none" or RunConfig(method=method).spec.blinds
]


def distributed(cfg: RunConfig) -> list[Party]:
    """Train in process and return all parties, the active one first."""
    active = build_active(cfg)
    passive = [build_passive(cfg, k) for k in range(1, cfg.parties)]
    run_local(active, passive)
    return [active, *passive]


def masked(method: str, blinding: str) -> RunConfig:
    masks: dict[str, Any] = {"blinding": blinding} if RunConfig(method=method).spec.blinds else {}
    return RunConfig(method=method, **masks, **PARTLY)


def patterns_of(cfg: RunConfig) -> Any:
    """Return who has rows, as a function of them."""
    presence = drawn_presence(cfg, len(labels_of(cfg)))
    assert presence is not None

    def present(rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        found: NDArray[np.bool_] = presence[rows]
        return found

    return present


def assert_joint(cfg: RunConfig, step: Step) -> None:
    ours = distributed(cfg)
    loss = METHODS[cfg.method][0]
    steps = ours[0].progress.step  # type: ignore[attr-defined]
    assert steps > 10, "too few steps to compare"
    assert_equal(ours, joint(cfg, loss_of(loss), steps, step))


@pytest.mark.parametrize(("method", "blinding"), CASES)
def test_rows_that_parties_lack(method: str, blinding: str) -> None:
    _, program, own = METHODS[method]
    cfg = masked(method, blinding).changed(**own)
    made: Any = program(patterns_of(cfg), rounded=cfg.blinded)
    assert_joint(cfg, made)


class Drawn:
    """Who adds to rows, step after step, with a run's secret."""

    def __init__(self, parties: list[Party]) -> None:
        self.cfg, self.step = parties[0].cfg, 0
        self.secret: bytes = parties[1].presence._drawing._secret  # type: ignore[attr-defined]
        self.present = patterns_of(self.cfg)

    def __call__(self, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        present = self.present(rows)
        sizes = drawn_sizes(self.cfg.seed, self.step, present.sum(1), self.cfg.least_present)
        drawn = drawn_subsets(self.secret, self.step, present, sizes)
        self.step += 1
        return drawn


@pytest.mark.parametrize(("method", "blinding"), CASES)
def test_drawn_subsets(method: str, blinding: str) -> None:
    loss, program, own = METHODS[method]
    cfg = masked(method, blinding).changed(parties=5, subset_training="on", **own)
    ours = distributed(cfg)
    step: Any = program(Drawn(ours), rounded=cfg.blinded)
    steps = ours[0].progress.step  # type: ignore[attr-defined]
    assert_equal(ours, joint(cfg, loss_of(loss), steps, step))


def test_mean_over_those_present() -> None:
    cfg = RunConfig(method="fdml", **PARTLY).changed(prediction="mean")
    assert_joint(cfg, MissingLogits(patterns_of(cfg), rounded=True, mean=True))


def test_embedding_bound_of_rows_that_are_there() -> None:
    cfg = RunConfig(method="easter", embedding_bound="0.5", **PARTLY)
    assert_joint(cfg, MissingEaster(patterns_of(cfg), rounded=True))


def test_reference_of_other_patterns_differs() -> None:
    cfg = RunConfig(method="agg_vfl", **PARTLY)
    whole = MissingLogits(lambda rows: np.ones((len(rows), 3), bool), rounded=True)
    with pytest.raises(AssertionError):
        assert_joint(cfg, whole)
