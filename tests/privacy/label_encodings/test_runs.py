"""Runs whose labels are encoded."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

import vfl_flower as vfl
from tests.helpers.joint.reference import Step, balanced, easter_step, joint
from tests.helpers.joint.reference_split import splitnn_step
from tests.helpers.joint.reference_vim import VimAdmm
from tests.helpers.outcomes.attempts import Attempt
from tests.methods.test_joint_reference import FIFTY, STEPS, distributed
from tests.privacy.gradient_defences.test_runs import TINY, same
from vfl_flower.analysis.audit.label_inference import audit
from vfl_flower.analysis.explain.trained import check_heads, has_heads
from vfl_flower.common.errors import ConfigError, Interrupted, PolicyError
from vfl_flower.config.policy.record import OPEN
from vfl_flower.config.policy.rules import check
from vfl_flower.config.policy.run_options import taken_from
from vfl_flower.config.run_config import RunConfig
from vfl_flower.learning.losses import Loss, Weighted, loss_of, residuals
from vfl_flower.parties.active import ActiveParty
from vfl_flower.parties.party import Party
from vfl_flower.parties.residuals import Residuals
from vfl_flower.privacy.guarantees import HAS_ONE, label_protection

ENCODED = TINY.changed(gradient_defence="none", label_encoding="confusional:1")


@pytest.fixture(autouse=True)
def quick_codes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Learn codes in fewer steps, which are enough for ten classes."""
    monkeypatch.setattr("vfl_flower.privacy.label_encodings.confusional._STEPS", 200)


def codes_of(party: Party) -> Tensor:
    assert isinstance(party, ActiveParty) and party.training_labels.encoding
    return party.training_labels.encoding.codes


def soft(loss: Loss, codes: Tensor) -> Loss:
    """Return a loss against the codes of labels."""

    def encoded(R: Tensor, y: Tensor | Weighted) -> Tensor:
        return loss(R, codes[y] if isinstance(y, Tensor) else Weighted(codes[y.y], y.weight))

    return encoded


def vimadmm_step(codes: Tensor) -> Step:
    step = VimAdmm()
    return lambda parties, rows, y, loss: step(parties, rows, codes[y], loss)


def taught(cfg: RunConfig, codes: Tensor) -> list[Party]:
    """Run the joint program of a method that learns codes."""
    plain = cfg.changed(label_encoding="none")
    if cfg.method == "vimadmm":
        return joint(plain, loss_of("cross-entropy"), STEPS, vimadmm_step(codes))
    loss = loss_of("binary-cross-entropy" if cfg.method == "easter" else "cross-entropy")
    step = splitnn_step if cfg.method == "splitnn" else partial(easter_step, rounded=True)
    weight = balanced(cfg) if cfg.class_weights == "balanced" else None
    return joint(plain, soft(loss, codes), STEPS, step, weight)


def weights(parties: Sequence[Party]) -> list[Tensor]:
    return [p for each in parties for p in each.net.parameters()]


@pytest.mark.slow
@pytest.mark.parametrize("method", ["easter", "easter balanced", "splitnn", "vimadmm"])
def test_runs_equal_the_joint_program_with_the_same_codes(method: str) -> None:
    name, *by = method.split()
    cfg = replace(FIFTY, method=name, label_encoding="confusional:1")
    cfg = cfg.changed(class_weights="balanced") if by else cfg
    ours = distributed(cfg)
    codes = codes_of(ours[0])
    first = int(name == "vimadmm")  # whose active party's heads are not in the program's network
    trained = weights(ours[first:])
    assert same(trained, weights(taught(cfg, codes)[first:]))
    assert not same(trained, weights(taught(cfg, codes.flip(0))[first:]))


@pytest.mark.slow
@pytest.mark.parametrize("randomness", ["public", "private"])
def test_a_run_is_resumed_with_its_codes(randomness: str, tmp_path: Path) -> None:
    cfg = ENCODED.changed(party_randomness=randomness)
    begun, more = Attempt(cfg, tmp_path), Attempt(cfg, None)
    with pytest.raises(Interrupted):
        begun.run(stop_at=3)
    resumed = Attempt(cfg, tmp_path)
    resumed.run()
    assert torch.equal(codes_of(resumed.active), codes_of(begun.active))
    assert torch.equal(codes_of(more.active), codes_of(begun.active)) == (randomness == "public")
    if randomness == "public":
        more.run()
        assert same(weights([more.active]), weights([resumed.active]))


@pytest.mark.slow
def test_predictions_are_of_classes(tmp_path: Path) -> None:
    """By the codes of the model folder, which another process reads."""
    cfg = ENCODED.changed(epochs=30, party_randomness="private", method="splitnn", train_rows=0)
    run = Attempt(cfg, tmp_path)
    run.run()
    score = run.active.progress.test["score"]["active"]
    assert score > 0.9
    told = vfl.load(tmp_path).predict(rows="test", truth=True)
    assert (told["prediction"] == told["truth"]).mean() == pytest.approx(score)
    shares = told[[f"probability_{digit}" for digit in range(10)]].to_numpy()
    assert np.allclose(shares.sum(1), 1, atol=1e-5)
    assert np.median(shares.max(1)) > 0.8  # codes themselves have no such share
    last = run.active.progress.records[-1]
    assert last.train_accuracy["active"] > 0.9
    assert last.validation_loss["active"] < 1 < last.train_loss["active"]


@pytest.mark.slow
def test_labels_are_not_read_off_and_still_learnt(tmp_path: Path) -> None:
    told: dict[str, dict[str, float]] = {}
    for encoding in ("none", "confusional:1"):
        cfg = ENCODED.changed(label_encoding=encoding)
        Attempt(cfg, tmp_path / encoding[:4]).run()
        found = audit(tmp_path / encoding[:4], epochs=1, known=5).found
        bare = "none" if encoding == "none" else f"none; {encoding}"
        told[encoding] = {
            each.attack: each.accuracy
            for each in found
            if each.protection == bare and each.source == "update"
        }
    assert told["none"]["read off"] == 1
    assert told["confusional:1"]["read off"] < 0.2
    assert told["confusional:1"]["learnt"] > 0.9


@pytest.mark.parametrize("private", [True, False])
def test_protections_promise_nothing(private: bool) -> None:
    cfg = ENCODED.changed(party_randomness="private" if private else "public")
    protected, [open_end] = label_protection(cfg)
    assert protected == []
    assert "codes of confusional:1" in open_end and "which has no guarantee" in open_end
    assert ("follow from the seed" in open_end) != private
    [noised], [beside] = label_protection(cfg.changed(label_privacy="laplace"))
    assert "epsilon 1" in noised and beside == open_end.replace(HAS_ONE, "")
    assert HAS_ONE in open_end


@pytest.mark.parametrize("loss", ["cross-entropy", "binary-cross-entropy"])
@pytest.mark.parametrize("balance", ["none", "balanced"])
def test_residuals_of_codes_are_taken_and_of_no_shares_refused(loss: str, balance: str) -> None:
    cfg = ENCODED.changed(class_weights=balance)
    check_of = {each: Residuals(each, 10, loss, 400) for each in (cfg, TINY.changed(
        gradient_defence="none", class_weights=balance))}  # fmt: skip
    random = torch.Generator().manual_seed(0)
    R = torch.randn(50, 10, generator=random)
    codes = torch.randn(50, 10, generator=random).softmax(1)
    y = codes if balance == "none" else Weighted(codes, torch.full((50,), 0.3))
    (g,), _ = residuals(loss_of(loss), [R], y)
    encoded, plain = check_of.values()
    assert encoded.fault(g.numpy(), R) == ""
    assert "none of the run's labels" in plain.fault(g.numpy(), R)
    shares = codes.clone()
    shares[0, :2] += torch.tensor([-80.0, 80.0])  # a sum of 1, and no shares
    (g,), _ = residuals(loss_of(loss), [R], shares)
    assert encoded.fault(g.numpy(), R) != ""


def test_heads_that_add_up_to_codes_are_not_explained() -> None:
    cfg = RunConfig(method="vimadmm", label_encoding="confusional:1")
    with pytest.raises(ConfigError, match=r"--heads.*label-encoding is confusional:1"):
        check_heads(cfg, "--heads")
    assert not has_heads(cfg)
    assert has_heads(cfg.changed(label_encoding="none"))


def test_a_node_takes_part_only_if_its_owner_allows_it() -> None:
    assert taken_from(ENCODED.to_mapping())["label-encoding"] == "confusional:1"
    check(OPEN, ENCODED, 1)
    strict = replace(OPEN, allow_gradient_defence=False)
    check(strict, RunConfig(method="easter"), 1)
    with pytest.raises(PolicyError, match=r"allow-gradient-defence.*label-encoding is confusional"):
        check(strict, ENCODED, 1)
