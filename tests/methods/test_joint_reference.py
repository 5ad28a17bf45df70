"""Every method equals its joint autograd program, bit for bit."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.helpers.joint.reference import WeightedData, balanced, joint_easter, uneven
from vfl_flower.config.registry import spec_of
from vfl_flower.config.run_config import RunConfig
from vfl_flower.learning.losses import loss_of
from vfl_flower.parties.party import Party
from vfl_flower.transport.local import run_local
from vfl_flower.workflows.build_parties import build_active, build_passive

STEPS = 16
FIFTY = RunConfig(
    method="easter", models="mlp", epochs=2, batch_size=50, train_rows=390, test_rows=60
)
"""Fifty rows a step, and eight steps an epoch; the last is short."""


def taken_by(method: str, cfg: RunConfig, **changes: Any) -> RunConfig:
    """Return a run by another method, without options of no use there."""
    usual = {name: getattr(RunConfig(), name) for name in spec_of(method).unused}
    return cfg.changed(method=method, **(usual | changes))


def distributed(cfg: RunConfig, weights: Tensor | None = None) -> list[Party]:
    """Train in process and return all parties, the active one first."""
    active = build_active(cfg, source=None if weights is None else WeightedData(cfg, weights))
    passive = [build_passive(cfg, k) for k in range(1, cfg.parties)]
    run_local(active, passive)
    assert active.progress.step == (cfg.epochs if cfg.spec.full_batch else STEPS)
    return [active, *passive]


def assert_equal(ours: list[Party], theirs: list[Party]) -> None:
    for a, b in zip(ours, theirs, strict=True):
        for (name, p), q in zip(
            a.net.state_dict().items(), b.net.state_dict().values(), strict=True
        ):
            assert torch.equal(p, q), f"place {a.rank}: {name} differs by {(p - q).abs().max()}"


@pytest.mark.parametrize("blinding", ["pairwise", "none"])
@pytest.mark.parametrize("optimizer", ["sgd", "momentum", "adagrad", "adam"])
def test_optimizers(optimizer: str, blinding: str) -> None:
    cfg = replace(FIFTY, optimizers=optimizer, blinding=blinding)
    loss = loss_of("binary-cross-entropy")
    theirs = joint_easter(cfg, loss, STEPS, rounded=blinding == "pairwise")
    assert_equal(distributed(cfg), theirs)


@pytest.mark.parametrize(
    "optimizers",
    [
        "adamw:weight_decay=0.1,nadam,radam:betas=0.8/0.99,adamax",
        "sgd:momentum=0.9:nesterov=true,rmsprop:momentum=0.5,adadelta,adafactor",
    ],
)
def test_optimizers_with_arguments_and_warm_up(optimizers: str) -> None:
    cfg = replace(FIFTY, optimizers=optimizers, schedule="linear:warmup=20%")
    loss = loss_of("binary-cross-entropy")
    assert_equal(distributed(cfg), joint_easter(cfg, loss, STEPS, rounded=True))


@pytest.mark.parametrize(
    ("models", "blinding"),
    [*((models, "pairwise") for models in ("cnn", "lenet", "mlp", "mixed")), ("mixed", "none")],
)
def test_networks(models: str, blinding: str) -> None:
    cfg = replace(FIFTY, models=models, blinding=blinding, schedule="cosine")
    loss = loss_of("binary-cross-entropy")
    theirs = joint_easter(cfg, loss, STEPS, rounded=blinding == "pairwise")
    assert_equal(distributed(cfg), theirs)


def test_vfedmh_is_easter_with_cross_entropy() -> None:
    cfg = replace(FIFTY, method="vfedmh", models="mixed")
    assert_equal(distributed(cfg), joint_easter(cfg, loss_of("cross-entropy"), STEPS))


@pytest.mark.parametrize("loss", ["cross-entropy", "binary-cross-entropy"])
def test_balanced_classes(loss: str) -> None:
    cfg = replace(FIFTY, class_weights="balanced", loss=loss)
    assert_equal(distributed(cfg), joint_easter(cfg, loss_of(loss), STEPS, weight=balanced(cfg)))


def test_weights_of_rows() -> None:
    cfg = replace(FIFTY, largest_weight=4.0)
    raw, weight = uneven(cfg)
    theirs = joint_easter(cfg, loss_of("binary-cross-entropy"), STEPS, weight=weight)
    assert_equal(distributed(cfg, raw), theirs)


def test_reference_can_fail() -> None:
    """Another seed gives other weights: the comparison above is not vacuous."""
    ours = distributed(FIFTY)
    theirs = joint_easter(replace(FIFTY, seed=1), loss_of("binary-cross-entropy"), STEPS)
    with pytest.raises(AssertionError):
        assert_equal(ours, theirs)
