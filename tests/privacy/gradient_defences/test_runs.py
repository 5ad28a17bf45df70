"""Runs whose gradients are defended."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.helpers.joint.defended import defended_easter_step, defended_splitnn_step
from tests.helpers.joint.reference import joint
from tests.helpers.outcomes.attempts import Attempt
from tests.methods.test_joint_reference import FIFTY, STEPS, assert_equal, distributed
from vfl_flower.analysis.audit.label_inference import audit
from vfl_flower.common.errors import Interrupted
from vfl_flower.config.policy.run_options import taken_from
from vfl_flower.config.run_config import RunConfig
from vfl_flower.learning.losses import loss_of, residuals
from vfl_flower.parties.residuals import Residuals
from vfl_flower.privacy.gradient_defences.discretized import Discretized
from vfl_flower.privacy.guarantees import HAS_ONE, READABLE, label_protection
from vfl_flower.transport.local import run_amnesiac
from vfl_flower.workflows.build_parties import build_passive

TINY = RunConfig(
    method="easter", models="mlp", parties=3, epochs=2, batch_size=100, train_rows=400
).changed(baselines="off", gradient_defence="isotropic:1")
TWO_CLASSES = TINY.changed(dataset="breast-cancer", gradient_defence="marvell:1", train_rows=0)


def levels(g: Tensor) -> Tensor:
    """Round to nine levels."""
    none = np.empty(0, np.int64)
    return torch.from_numpy(Discretized(9).changed(g.numpy(), none, lambda _: b""))


@pytest.mark.parametrize(
    ("method", "loss", "step"),
    [
        ("easter", "binary-cross-entropy", defended_easter_step),
        ("splitnn", "cross-entropy", defended_splitnn_step),
    ],
)
def test_runs_equal_the_joint_program_with_the_same_defence(
    method: str, loss: str, step: Callable[..., None]
) -> None:
    cfg = replace(FIFTY, method=method, gradient_defence="discretized:9")
    theirs = joint(cfg, loss_of(loss), STEPS, partial(step, change=levels))
    ours = distributed(cfg)
    assert_equal(ours, theirs)
    with pytest.raises(AssertionError):  # what changes nothing is another program
        assert_equal(ours, joint(cfg, loss_of(loss), STEPS, partial(step, change=lambda g: g)))


def weights(run: Attempt) -> list[Tensor]:
    """Return the networks of all parties."""
    return [p.clone() for party in (run.active, *run.passive) for p in party.net.parameters()]


def complete(cfg: RunConfig, out: Path | None = None) -> list[Tensor]:
    run = Attempt(cfg, out)
    run.run()
    return weights(run)


def same(one: Sequence[Tensor], other: Sequence[Tensor]) -> bool:
    return all(torch.equal(p, q) for p, q in zip(one, other, strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("cfg", [TINY, TWO_CLASSES], ids=["isotropic", "marvell"])
def test_a_public_run_repeats_and_is_resumed_bit_for_bit(cfg: RunConfig, tmp_path: Path) -> None:
    whole = complete(cfg)
    assert same(whole, complete(cfg))
    assert not same(whole, complete(cfg.changed(seed=cfg.seed + 1)))
    with pytest.raises(Interrupted):
        Attempt(cfg, tmp_path / "run").run(stop_at=3)
    assert same(whole, complete(cfg, tmp_path / "run"))


def test_rebuilt_parties_learn_the_same() -> None:
    whole, run = complete(TINY), Attempt(TINY, None)
    run_amnesiac(run.active, lambda rank: build_passive(TINY, rank))
    own = [*run.active.net.parameters()]
    assert same(whole[: len(own)], own)


def test_private_noise_is_the_operating_systems(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def noted(count: int) -> bytes:
        asked.append(count)
        return bytes(np.random.default_rng(len(asked)).bytes(count))

    monkeypatch.setattr("vfl_flower.privacy.gradient_defences.applied.os.urandom", noted)
    complete(TINY)
    assert not asked
    complete(TINY.changed(party_randomness="private", blinding="none"))
    assert sum(asked) > 8 * 2 * 12 * 100 * 10  # steps, parties, bytes, rows, classes


@pytest.mark.slow
def test_labels_are_no_longer_read_off(tmp_path: Path) -> None:
    told: dict[str, float] = {}
    for defence in ("none", "isotropic:2"):
        cfg = TINY.changed(gradient_defence=defence)
        complete(cfg, tmp_path / defence[:4])
        found = audit(tmp_path / defence[:4], epochs=1, known=5).found
        bare = [each for each in found if "randomized" not in each.protection]
        assert {each.protection for each in bare} == {
            "none" if defence == "none" else f"none; {defence}"
        }
        told[defence] = max(
            each.accuracy for each in bare if (each.source, each.attack) == ("update", "read off")
        )
    assert told["none"] == 1
    assert told["isotropic:2"] < 0.5


@pytest.mark.parametrize("private", [True, False])
@pytest.mark.parametrize("defence", ["isotropic:1", "discretized:8"])
def test_protections_promise_nothing(defence: str, private: bool) -> None:
    randomness = "private" if private else "public"
    cfg = TINY.changed(gradient_defence=defence, party_randomness=randomness)
    protected, [open_end] = label_protection(cfg)
    assert protected == []
    assert f"changed by {defence}, which has no guarantee" in open_end
    assert ("follows from the seed" in open_end) == (defence[0] == "i" and not private)
    assert label_protection(cfg.changed(gradient_defence="none"))[1] == [READABLE]
    [noised], [beside] = label_protection(cfg.changed(label_privacy="laplace"))
    assert "epsilon 1" in noised
    assert HAS_ONE in open_end and beside == open_end.replace(HAS_ONE, "")


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
@pytest.mark.parametrize("defence", ["none", "isotropic:1"])
def test_residuals_under_a_defence_are_bounded_only(defence: str, precision: str) -> None:
    cfg = TINY.changed(gradient_defence=defence, embedding_bound="8", wire_precision=precision)
    check = Residuals(cfg, 10, "cross-entropy", 400)
    random = torch.Generator().manual_seed(0)
    R, y = torch.randn(50, 10, generator=random), torch.arange(50) % 10
    (g,), _ = residuals(loss_of("cross-entropy"), [R], y)
    noised = (g + 0.02 * torch.randn(g.shape, generator=random)).numpy()
    assert (check.fault(noised, R) == "") == (defence != "none")
    assert "larger than the loss allows" in check.fault(100 * g.numpy(), R)


def test_nodes_take_the_defence_from_the_run() -> None:
    assert taken_from(TINY.to_mapping())["gradient-defence"] == "isotropic:1"
