"""New parties learn as in a joint program with the others frozen."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor

from tests.helpers.contract import CARRIERS, differing
from tests.helpers.joint.joining import joined, joined_by, joining, trained
from tests.helpers.joint.reference import (
    easter_step,
    joint,
    parties_of,
    total,
    within_bound,
)
from tests.helpers.networks import register
from tests.methods.test_joint_reference import assert_equal
from vfl_flower.common.layout import WEIGHTS, model_of
from vfl_flower.common.names import party_name
from vfl_flower.config.run_config import RunConfig
from vfl_flower.learning.losses import Loss, loss_of
from vfl_flower.parties.party import Party

Step = Callable[..., None]


def logits_step(
    parties: Sequence[Party], rows: Tensor, y: Tensor, loss: Loss, *, rounded: bool
) -> None:
    """Take one step on the sum of all parties' logits."""
    R_k = [within_bound(m, m.decide(m.embed_rows(rows))) for m in parties]
    R = R_k[0].detach() + total(R_k[1:], rounded=rounded)
    R = R + torch.stack([each - each.detach() for each in R_k]).sum(0)
    for m in parties:
        m.optimizer.optimizer.zero_grad()
    loss(R, y[rows]).backward()
    for m in parties:
        m.optimizer.step()


METHODS: dict[str, tuple[str, Step]] = {
    "easter": ("binary-cross-entropy", easter_step),
    "vfedmh": ("cross-entropy", easter_step),
    "agg_vfl": ("cross-entropy", logits_step),
    "fdml": ("cross-entropy", logits_step),
}


def weights_of(run: Path, rank: int) -> dict[str, Tensor]:
    return load_file(model_of(run / party_name(rank)) / WEIGHTS)


def reference(cfg: RunConfig, monkeypatch: pytest.MonkeyPatch) -> list[Party]:
    """Train the new parties in one program, the others frozen."""
    made = parties_of(cfg)
    for party in made:
        if party.rank < cfg.parties - cfg.new_parties:
            party.net.load_state_dict(weights_of(Path(cfg.model), party.rank))
            party.net.eval()
            monkeypatch.setattr(party.optimizer, "step", lambda of=1: None)
    monkeypatch.setattr("tests.helpers.joint.reference.parties_of", lambda cfg: made)
    loss, step = METHODS[cfg.method]
    steps = cfg.epochs * 4  # of at most 100 of 390 rows
    return joint(cfg, loss_of(loss), steps, partial(step, rounded=cfg.blinded))


@pytest.mark.parametrize("blinding", ["auto", "none"])
@pytest.mark.parametrize("method", METHODS)
def test_new_parties_equal_a_joint_program(
    method: str, blinding: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = tmp_path / "model"
    cfg = joining(model, trained(model, method), blinding=blinding, optimizers="momentum")
    ours = joined(cfg, tmp_path / "joined")
    assert_equal(ours, reference(cfg, monkeypatch))
    for rank in range(3):
        kept, now = weights_of(model, rank), weights_of(tmp_path / "joined", rank)
        assert all(torch.equal(kept[name], now[name]) for name in kept), rank
    changed = ours[3].net.state_dict()
    fresh = parties_of(cfg)[3].net.state_dict()
    assert any(not torch.equal(fresh[name], changed[name]) for name in fresh)


@pytest.mark.parametrize("models", ["own-dropout", "mixed"])
def test_frozen_networks_stay_in_evaluation_mode(
    models: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """BatchNorm statistics stay, and dropout adds no noise."""
    register(monkeypatch)
    model = tmp_path / "model"
    old = trained(model, "easter", models=models)
    cfg = joining(model, old, optimizers="adam,sgd,momentum,adagrad,adam")
    ours = joined(cfg, tmp_path / "joined")
    assert_equal(ours, reference(cfg, monkeypatch))
    for rank in range(3):
        now = ours[rank].net.state_dict()
        assert all(torch.equal(each, now[n]) for n, each in weights_of(model, rank).items())


@pytest.mark.slow
@pytest.mark.parametrize("method", ["easter", "agg_vfl", "fdml"])
def test_transports_agree(method: str, tmp_path: Path) -> None:
    cfg = joining(tmp_path, trained(tmp_path, method))
    runs = [joined_by(carrier, cfg) for carrier in CARRIERS]
    weights: list[Any] = [[active.net.state_dict(), *others.weights()] for active, others in runs]
    assert differing(weights[0], weights[1]) == differing(weights[0], weights[2]) == []
    assert runs[0][0].ledger.state_dict() == runs[1][0].ledger.state_dict()


def test_steps_of_their_own_between_exchanges(tmp_path: Path) -> None:
    old = trained(tmp_path / "model", "agg_vfl", adaptive_steps=2)
    ours = joined(joining(tmp_path / "model", old))
    for rank in range(3):
        now = ours[rank].net.state_dict()
        kept = weights_of(tmp_path / "model", rank)
        assert all(torch.equal(each, now[name]) for name, each in kept.items())
