"""Runs under row-level privacy equal joint programs that loop over rows."""

from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
from torch import Tensor

from tests.helpers.joint.reference import Step, joint
from tests.helpers.joint.row_level import public_noise, sent_of, step_by_rows
from vfl_flower.config.run_config import RunConfig
from vfl_flower.learning.losses import Loss, loss_of
from vfl_flower.parties.party import Party
from vfl_flower.transport.local import run_amnesiac, run_local
from vfl_flower.workflows.build_parties import build_active, build_passive

SIGMA, STEPS = 0.2, 10
CFG = RunConfig(
    models="mlp",
    embedding_dim=6,
    epochs=2,
    batch_size=25,
    train_rows=120,  # the last of five batches is short
    parties=3,
    blinding="none",
    baselines="off",
    party_randomness="public",
    optimizers="sgd,momentum,adam:weight_decay=0.01",
    dp_adjacency="row",
    dp_sigma=SIGMA,
    dp_clip=2.0,
    dp_gradient_clip=0.5,
)


@pytest.fixture(autouse=True)
def noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let all noise follow from its size."""
    for module in ("gaussian", "row_level.gradients"):
        name = f"vfl_flower.privacy.client_dp.{module}.discrete_gaussian"
        monkeypatch.setattr(name, public_noise)


def zero(parties: Sequence[Party]) -> None:
    for each in parties:
        each.optimizer.zero()


def splitnn(parties: Sequence[Party], rows: Tensor, y: Tensor, loss: Loss) -> None:
    active = parties[0]
    sent = sent_of(parties, rows, "embed", SIGMA)
    zero(parties)
    loss(active.decide(torch.cat([active.embed_rows(rows), *sent], 1)), y[rows]).backward()
    active.optimizer.step()
    for party, each in zip(parties[1:], sent, strict=True):
        assert each.grad is not None
        step_by_rows(party, rows, each.grad, party.net.embed, SIGMA)  # type: ignore[arg-type]


def easter(parties: Sequence[Party], rows: Tensor, y: Tensor, loss: Loss) -> None:
    active = parties[0]
    sent = sent_of(parties, rows, "embed", SIGMA)
    zero(parties)
    own = active.embed_rows(rows)
    E = (own.detach() + torch.stack(sent).sum(0).detach()) / len(parties)
    loss(active.decide(E + (own - own.detach()) / len(parties)), y[rows]).backward()
    active.optimizer.step()
    for party in parties[1:]:
        leaf = E.clone().requires_grad_()
        loss(party.decide(leaf), y[rows]).backward()
        assert leaf.grad is not None
        g = leaf.grad / len(parties)
        step_by_rows(party, rows, g, party.net.embed, SIGMA)  # type: ignore[arg-type]


def agg_vfl(parties: Sequence[Party], rows: Tensor, y: Tensor, loss: Loss) -> None:
    active = parties[0]
    sent = sent_of(parties, rows, "", SIGMA)
    zero(parties)
    own = active.decide(active.embed_rows(rows))
    loss(torch.stack([own, *sent]).sum(0), y[rows]).backward()
    active.optimizer.step()
    for party, each in zip(parties[1:], sent, strict=True):
        assert each.grad is not None
        step_by_rows(party, rows, each.grad, party.net, SIGMA)


def assert_near(ours: Sequence[Party], theirs: Sequence[Party]) -> None:
    """Compare weights, which differ by the mechanisms' grids."""
    for a, b in zip(ours, theirs, strict=True):
        others = b.net.state_dict()
        for name, weight in a.net.state_dict().items():
            assert torch.allclose(weight, others[name], rtol=1e-3, atol=2e-4), (a.rank, name)


def trained(cfg: RunConfig, folder: Path) -> list[Party]:
    active = build_active(cfg)
    passive = [build_passive(cfg, k, folder) for k in range(1, cfg.parties)]
    run_local(active, passive)
    assert active.progress.step == STEPS
    return [active, *passive]


@pytest.mark.parametrize(
    ("method", "step", "loss"),
    [
        ("splitnn", splitnn, "cross-entropy"),
        ("easter", easter, "binary-cross-entropy"),
        ("vfedmh", easter, "cross-entropy"),
        ("agg_vfl", agg_vfl, "cross-entropy"),
        ("fdml", agg_vfl, "cross-entropy"),
    ],
)
def test_runs_equal_the_joint_program(method: str, step: Step, loss: str, tmp_path: Path) -> None:
    cfg = CFG.changed(method=method)
    theirs = joint(cfg, loss_of(loss), STEPS, step)
    ours = trained(cfg, tmp_path)
    assert_near(ours, theirs)


@pytest.mark.slow
def test_a_rebuilt_party_takes_the_same_steps(tmp_path: Path) -> None:
    """Dropout too: masks of gradients are those of uploads."""
    cfg = CFG.changed(method="easter")
    live = trained(cfg, tmp_path / "live")
    active = build_active(cfg)
    run_amnesiac(active, lambda k: build_passive(cfg, k, tmp_path / "rebuilt"))
    for name, weight in active.net.state_dict().items():
        assert torch.equal(weight, live[0].net.state_dict()[name])
