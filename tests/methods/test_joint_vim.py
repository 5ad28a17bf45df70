"""VIM's methods equal their joint programs, bit for bit."""

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch

from strategies.specs.vimadmm import VIMADMMOptions
from tests.helpers.contract import finished
from tests.helpers.data import labels_of
from tests.helpers.joint.reference import balanced, joint, uneven
from tests.helpers.joint.reference_vim import LinearAdmm, Vim, VimAdmm, VimAdmmJ, product
from tests.helpers.networks import register
from tests.methods.test_joint_reference import FIFTY, STEPS, assert_equal, distributed
from vfl_flower.common.codec import from_parameters
from vfl_flower.common.errors import ConfigError, NetworkError
from vfl_flower.config.registry import specs
from vfl_flower.config.run_config import RunConfig
from vfl_flower.learning.batching import drawn
from vfl_flower.learning.losses import loss_of
from vfl_flower.parties.party import Party
from vfl_flower.transport.local import run_local
from vfl_flower.workflows.build_parties import build_active, build_passive

VIM = FIFTY.changed(method="vimadmm", local_steps=3)
VIM_J = replace(VIM, method="vimadmm_j")
ADMM = [name for name, method in specs().items() if method.additive]

both = pytest.mark.parametrize("cfg", [VIM, VIM_J], ids=["vimadmm", "vimadmm_j"])


trained = cache(distributed)


def assert_joint(
    cfg: RunConfig, weight: torch.Tensor | None = None, ours: list[Party] | None = None
) -> None:
    step: Vim = VimAdmmJ(rounded=cfg.blinded) if cfg.method == "vimadmm_j" else VimAdmm()
    theirs = joint(cfg, loss_of("cross-entropy"), STEPS, step, weight)  # type: ignore[arg-type]
    assert_equal(ours or trained(cfg), theirs)


def assert_other(cfg: RunConfig, plain: RunConfig) -> None:
    """Assert that two configurations train different weights."""
    with pytest.raises(AssertionError):
        assert_equal(trained(cfg), trained(plain))


def assert_two(cfg: RunConfig, **changes: Any) -> None:
    """Assert that both are the joint program's, and not each other's."""
    assert_joint(cfg)
    assert_joint(cfg.changed(**changes))
    assert_other(cfg, cfg.changed(**changes))


@both
@pytest.mark.parametrize("optimizers", ["sgd,momentum,adagrad,adam", "adagrad,adam,sgd,momentum"])
def test_optimizers(optimizers: str, cfg: RunConfig) -> None:
    assert_joint(replace(cfg, optimizers=optimizers))


@pytest.mark.parametrize("residual", ["old-heads", "new-heads"])
def test_heads_take_the_rate_of_momentum(residual: str) -> None:
    assert_joint(VIM.changed(optimizers="momentum", residual=residual))


@pytest.mark.slow
@pytest.mark.parametrize("optimizers", ["adam", "momentum", "sgd,momentum,adagrad,adam"])
def test_a_head_steps_with_its_network_or_in_turns(optimizers: str) -> None:
    assert_two(VIM_J.changed(optimizers=optimizers), head_steps="in-turns")


@pytest.mark.parametrize("optimizers", ["momentum", "sgd,momentum,adagrad,adam"])
def test_a_head_has_its_network_s_rate_of_sgd(optimizers: str) -> None:
    assert_two(VIM_J.changed(optimizers=optimizers), head_steps="together")


def test_linear_shares_are_solved() -> None:
    """Equal to least squares, up to rounding; local steps are another method."""
    cfg = VIM.changed(method="linear_admm")
    theirs = joint(cfg, loss_of("cross-entropy"), STEPS, LinearAdmm())
    for a, b, c in zip(trained(cfg), theirs, trained(cfg.changed(solver="steps")), strict=True):
        p, q, r = (product(each) for each in (a, b, c))
        assert torch.allclose(p, q, rtol=0, atol=1e-4)
        assert not torch.allclose(p, r, rtol=0, atol=1e-2)


def test_logits_in_the_clear() -> None:
    assert_joint(replace(VIM_J, blinding="none"))


CHANGES: list[dict[str, Any]] = [{"rho": 0.1}, {"beta": 0.2}, {"head_rate": 0.01}]


@both
@pytest.mark.parametrize("changes", CHANGES, ids=str)
def test_options(changes: dict[str, Any], cfg: RunConfig) -> None:
    changed = replace(cfg, **changes)
    assert_joint(changed)
    assert_other(changed, cfg)


@pytest.mark.parametrize("changes", [{}, {"head_rate": 0.5}], ids=str)
def test_ridge_heads(changes: dict[str, Any]) -> None:
    changed = VIM.changed(heads="ridge", **changes)
    assert_joint(changed)
    assert_other(changed, VIM)


@both
def test_balanced_classes(cfg: RunConfig) -> None:
    changed = replace(cfg, class_weights="balanced")
    assert_joint(changed, balanced(changed))
    assert_other(changed, cfg)


@both
def test_weights_of_rows(cfg: RunConfig) -> None:
    weighted = replace(cfg, largest_weight=4.0)
    raw, weight = uneven(cfg)
    assert_joint(weighted, weight, distributed(weighted, raw))


@pytest.mark.parametrize("layers", [2, 3])
def test_deep_heads(layers: int) -> None:
    """One dropout mask serves a, z, lambda and v."""
    assert_joint(replace(VIM, top_layers=layers))


@pytest.mark.parametrize("changes", [{}, {"top_layers": 2}, {"heads": "ridge"}], ids=str)
def test_the_residual_of_the_new_heads(changes: dict[str, Any]) -> None:
    printed = VIM.changed(residual="new-heads", **changes)
    assert_joint(printed)
    assert_other(printed, VIM.changed(**changes))


@pytest.mark.slow
@both
def test_mixed_networks_and_a_schedule(cfg: RunConfig) -> None:
    assert_joint(cfg.changed(models="mixed", schedule="cosine", local_steps=5))


@both
def test_dropout_and_batch_statistics(cfg: RunConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)
    assert_joint(replace(cfg, models="own-dropout"))


@both
def test_an_active_party_with_labels_only(cfg: RunConfig) -> None:
    assert_joint(replace(cfg, active_columns="none"))


@both
@pytest.mark.parametrize("share", [0.5, 0.1])
def test_rounds_of_some_parties(cfg: RunConfig, share: float) -> None:
    some = cfg.changed(participation=share, blinding="none" if cfg.blinded else "auto")
    assert_joint(some)
    assert_other(some, some.changed(participation=1.0))


@pytest.mark.parametrize("rank", [0, 1])
def test_a_head_that_is_no_module_is_refused(rank: int) -> None:
    models = ["mlp"] * 4
    models[rank] = "tests.methods.test_joint_vim:Method"
    cfg = replace(VIM_J, models=",".join(models))
    with pytest.raises(NetworkError, match="trains `decide` as a head"):
        build_passive(cfg, 1) if rank else build_active(cfg)


class Method(torch.nn.Module):
    """Decides by a method."""

    def __init__(self, shape: tuple[int, ...], width: int, classes: int) -> None:
        super().__init__()
        self.embed = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.LazyLinear(width))
        self.last = torch.nn.Linear(width, classes)

    def decide(self, embedding: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = self.last(embedding)
        return logits


def test_parties_are_drawn_alike_often() -> None:
    cfg = RunConfig(method="vimadmm", parties=11, participation=0.3)
    drawings = [drawn(cfg, step) for step in range(500)]
    assert all(len({*each}) == len(each) == 3 and list(each) == sorted(each) for each in drawings)
    counts = np.bincount(np.concatenate(drawings), minlength=11)[1:]
    assert abs(counts - 150).max() < 50
    assert len(drawn(cfg.changed(participation=0.01), 0)) == 1


def test_what_cannot_be_solved_or_summed_is_refused() -> None:
    for changes, message in (
        ({"method": "easter", "participation": 0.5}, "easter has no such option"),
        ({"method": "vimadmm_j", "participation": 0.5}, "masks cancel in the sum over all"),
        ({"method": "vimadmm", "heads": "ridge", "top_layers": 2}, "linear heads"),
        ({"method": "vimadmm", "heads": "ridge", "beta": 0.0}, "positive beta"),
        ({"method": "vimadmm_j", "heads": "ridge"}, "vimadmm_j has no such option"),
        ({"method": "linear_admm", "beta": 0.0}, "positive beta; use solver = steps"),
        ({"method": "linear_admm", "top_layers": 2}, "linear_admm has linear networks"),
        ({"method": "vimadmm", "local_steps": 0}, "local-steps must be at least 1"),
    ):
        with pytest.raises(ConfigError, match=message):
            RunConfig(**changes)


@both
def test_the_short_form_is_the_paper_s(cfg: RunConfig) -> None:
    """By lambda and s_k or by v: equal parameters up to rounding."""
    cfg = replace(cfg, blinding="none" if cfg.method == "vimadmm_j" else "auto", optimizers="sgd")
    program = VimAdmmJ if cfg.method == "vimadmm_j" else VimAdmm
    ours, theirs = (
        joint(cfg, loss_of("cross-entropy"), 10, program(paper=paper, rounded=False))
        for paper in (False, True)
    )
    start = joint(cfg, loss_of("cross-entropy"), 0, program())
    for a, b, c in zip(ours, theirs, start, strict=True):
        p, q, r = (nn_vector(each.net.embed) for each in (a, b, c))  # type: ignore[arg-type]
        assert torch.allclose(p, q, rtol=0, atol=1e-5)
        assert not torch.allclose(p, r, rtol=0, atol=1e-3)


def nn_vector(net: torch.nn.Module) -> torch.Tensor:
    return torch.nn.utils.parameters_to_vector(net.parameters()).detach()


@pytest.mark.parametrize("method", ADMM)
def test_every_v_in_turn_tells_the_labels(method: str) -> None:
    """Given lambda, v tells the next one, and that the class."""
    run = finished(method, "local")
    y = labels_of(run.active.cfg).numpy()
    duals = torch.zeros(len(y), 10)
    told = [arrays for phase, arrays in run.taps[1].requests() if phase == "update"]
    own = [
        from_parameters(res.parameters)[0]
        for ins, res in run.taps[1].sent
        if str(ins.config["phases"]).endswith("embed")
    ]
    assert len(told) == 14
    for step, (rows, (v_k, *W_k)) in enumerate(zip(run.batches(), told, strict=True)):
        v = torch.from_numpy(v_k.copy())
        if W_k:
            v = slope_from(v, torch.tensor(own[step]), torch.tensor(W_k[0]), run.active.cfg)
        duals[rows] = (v + duals[rows]) / 2
        assert (duals[rows].argmin(1).numpy() == y[rows]).all()
    kept = run.active.duals.values  # type: ignore[attr-defined]
    assert torch.allclose(duals, kept, rtol=0, atol=1e-5)


def slope_from(
    v_k: torch.Tensor, H_k: torch.Tensor, W_k: torch.Tensor, cfg: RunConfig
) -> torch.Tensor:
    """Solve for v, in which VIMADMM's v_k is linear by Eq. 7."""
    options = cfg.own(VIMADMMOptions)
    H, W, eta = H_k.double(), W_k.double().T, options.head_rate or 0.001
    kept = 1 - 2 * eta * options.beta  # the old head is (W + eta H^T v / B) / kept
    change = options.rho * H @ W * (1 - 1 / kept)
    gram = options.rho * eta / (kept * len(H)) * H @ H.T
    solved: torch.Tensor = torch.linalg.solve(
        torch.eye(len(H)).double() - gram, v_k.double() - change
    )
    return solved.float()


@pytest.mark.parametrize("method", ADMM)
def test_another_loss_is_refused(method: str) -> None:
    with pytest.raises(ConfigError, match="solves for the cross-entropy's minimum"):
        RunConfig(method=method, loss="binary-cross-entropy")
    assert RunConfig(method=method, loss="cross-entropy").loss


@both
def test_duals_are_those_of_training_rows(cfg: RunConfig) -> None:
    cfg = replace(cfg, epochs=1, batch_size=200)
    active = build_active(cfg)
    run_local(active, [build_passive(cfg, k) for k in range(1, cfg.parties)])
    assert "duals" in active.durable()
    seen = active.duals.values.abs().sum(1) > 0  # type: ignore[attr-defined]
    assert torch.equal(seen.nonzero().ravel(), torch.from_numpy(active.rows["train"]).sort()[0])
