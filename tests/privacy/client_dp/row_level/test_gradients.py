"""Per-row gradients: clipped as a loop clips them, of bounded sensitivity."""

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from tests.helpers.blinding import send
from tests.helpers.client_privacy import configured
from tests.helpers.data import next_batch
from tests.helpers.networks import GlobalNet, register
from vfl_flower.common.errors import NetworkError
from vfl_flower.config.catalog import NETWORKS, NetworkSpec
from vfl_flower.learning.dropout import Dropout
from vfl_flower.learning.networks.base import Shape, SplitNet
from vfl_flower.learning.networks.small import cnn, mlp
from vfl_flower.parties.passive import PassiveParty
from vfl_flower.privacy.client_dp.gaussian import Gaussian
from vfl_flower.privacy.client_dp.row_level import gradients
from vfl_flower.privacy.client_dp.row_level.apart import each_row
from vfl_flower.privacy.client_dp.row_level.gradients import Pass, RowGradients
from vfl_flower.workflows.build_parties import build_passive

CLIP, ROWS = 0.3, 7
IMAGES = torch.randn(20, 1, 6, 6, generator=torch.Generator().manual_seed(0))


def silent(deviation: int, size: int, entropy: object = None) -> object:
    """Draw no noise."""
    return np.zeros(size, np.int64)


@pytest.fixture
def no_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (gradients.__name__, "vfl_flower.privacy.client_dp.gaussian"):
        monkeypatch.setattr(f"{module}.discrete_gaussian", silent)


def network(build: Callable[..., nn.Module]) -> nn.Module:
    torch.manual_seed(0)
    return build((1, 6, 6), 4, 3)


def embedding_of(net: nn.Module, x: Tensor) -> Pass:
    return lambda rows: each_row(net.embed, x.index_select(0, rows))  # type: ignore[arg-type]


def sum_of(net: nn.Module, x: Tensor, rows: Tensor, g: Tensor, sigma: float = 1.0) -> Tensor:
    """Return the batch's gradient of the embedding net times its rows: (P,)."""
    made = RowGradients(net, Gaussian(sigma, CLIP, by_row=True))
    run = embedding_of(net, x)
    net.zero_grad()
    made.backward(run, rows, g, made.depended_on(run, rows))
    assert all(each.grad is None for each in net.decide.parameters())  # type: ignore[union-attr]
    found = [each.grad for each in net.embed.parameters()]  # type: ignore[union-attr]
    return len(rows) * torch.cat([each.flatten() for each in found if each is not None])


def by_loop(net: nn.Module, x: Tensor, rows: Tensor, g: Tensor) -> Tensor:
    """Clip and sum row after row, by ordinary backward passes."""
    total = torch.zeros(1)
    for row, g_i in zip(rows, g, strict=True):
        net.zero_grad()
        net.embed(x[row][None]).backward(g_i[None])  # type: ignore[operator]
        weights = net.embed.parameters()  # type: ignore[union-attr]
        flat = len(rows) * torch.cat([each.grad.flatten() for each in weights])  # type: ignore[union-attr]
        total = total + flat * min(1.0, CLIP / float(flat.norm()))
    return total


@pytest.mark.parametrize("numbers", [1, 10**4, 10**8])
@pytest.mark.parametrize("build", [mlp, cnn])
@pytest.mark.usefixtures("no_noise")
def test_clipped_sums_are_those_of_a_loop(
    build: Callable[..., nn.Module], numbers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In parts of any size, with and without clips."""
    monkeypatch.setattr(gradients, "_NUMBERS", numbers)
    net, rows = network(build), torch.randperm(len(IMAGES))[:ROWS]
    g = torch.randn(ROWS, 4) * torch.logspace(-4, 1, ROWS)[:, None]
    expected = by_loop(net, IMAGES, rows, g)
    assert expected.norm() > CLIP
    assert torch.allclose(sum_of(net, IMAGES, rows, g), expected, atol=1e-5)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, ROWS - 1), st.floats(-6, 6), st.floats(0.1, 30))
def test_one_row_moves_a_sum_by_the_clip_at_most(
    seed: int, position: int, power: float, sigma: float
) -> None:
    """By twice the clip, where it is replaced."""
    drawn = torch.Generator().manual_seed(seed)
    net, rows = network(mlp), torch.arange(ROWS)
    g = torch.randn(ROWS, 4, generator=drawn) * 10**power
    x, others = IMAGES.clone(), IMAGES.clone()
    others[position] = torch.randn(1, 6, 6, generator=drawn) * 10 ** (power / 2)
    without = g.clone()
    without[position] = 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gradients, "discrete_gaussian", silent)
        sums = [sum_of(net, *each, sigma).double() for each in ((x, rows, g), (others, rows, g))]
        zeroed = sum_of(net, x, rows, without, sigma).double()
    rounding = 1e-5 * ROWS * CLIP
    assert (sums[0] - zeroed).norm() <= CLIP + rounding
    assert (sums[0] - sums[1]).norm() <= 2 * CLIP + rounding


@settings(deadline=None)
@given(st.integers(0, 10**6), st.integers(0, ROWS - 1), st.floats(-20, 20), st.floats(0.1, 1000))
def test_one_row_moves_an_upload_by_the_clip_at_most(
    seed: int, position: int, power: float, sigma: float
) -> None:
    """In whole numbers, exactly; no other row moves."""
    mechanism = Gaussian(sigma, CLIP, by_row=True)
    drawn = torch.Generator().manual_seed(seed)
    x = torch.randn(ROWS, 5, generator=drawn) * 10**power
    others = x.clone()
    others[position] = torch.randn(5, generator=drawn)
    moved = mechanism.clipped(x) - mechanism.clipped(others)
    assert not np.delete(moved, position, 0).any()
    limit = (CLIP / mechanism.step) ** 2
    assert math.isqrt(int(np.square(mechanism.clipped(x)[position]).sum())) <= math.sqrt(limit)
    assert np.square(moved[position]).sum() <= 4 * limit


def test_a_row_that_is_not_finite_is_noise_alone_and_others_are_not() -> None:
    x = torch.ones(3, 4)
    x[1, 2] = torch.nan
    clipped = Gaussian(1.0, 1.0, by_row=True).clipped(x)
    assert not clipped[1].any()
    assert clipped[[0, 2]].all()


def test_gradients_have_the_noise_of_their_sensitivity() -> None:
    """Of one draw for the whole batch."""
    net, rows = network(mlp), torch.arange(ROWS)
    g = torch.randn(ROWS, 4)
    noise = sum_of(net, IMAGES, rows, g, sigma=4.0) - by_loop(net, IMAGES, rows, g)
    assert noise.std() == pytest.approx(4 * CLIP, rel=6 / math.sqrt(noise.numel()))


def dropping(
    shape: Shape, width: int, classes: int, dropout: type[nn.Module]
) -> tuple[nn.Module, nn.Module]:
    embed = nn.Sequential(nn.Flatten(), nn.Linear(math.prod(shape), 24), dropout(0.3))
    return nn.Sequential(*embed, nn.ReLU(), nn.Linear(24, width)), nn.Linear(width, classes)


def own_drops(shape: Shape, width: int, classes: int) -> nn.Module:
    """Build a network with dropout of this package, and no BatchNorm."""
    return SplitNet(*dropping(shape, width, classes, Dropout))


def global_drops(shape: Shape, width: int, classes: int) -> nn.Module:
    """Build a network with dropout of torch, and no BatchNorm."""
    return GlobalNet(*dropping(shape, width, classes, nn.Dropout))


def party_of(folder: Path, **changes: float | str) -> PassiveParty:
    cfg = configured("splitnn", dp_adjacency="row", dp_clip=50.0, dp_gradient_clip=50.0, **changes)
    return build_passive(cfg, 1, folder)


@pytest.mark.parametrize("build", ["own_drops", "global_drops"])
@pytest.mark.usefixtures("no_noise")
def test_masks_of_gradients_are_those_of_uploads(
    build: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With wide clips and no noise, gradients are the ordinary ones."""
    monkeypatch.setitem(NETWORKS, "drops", NetworkSpec(f"{__name__}:{build}"))
    monkeypatch.setattr(gradients, "_NUMBERS", 10**4)  # parts, which draw one after another
    party = party_of(tmp_path, models="drops", optimizers="sgd")
    rows, before = torch.from_numpy(next_batch(party)), party.randomness.state_dict()
    (sent,) = send(party, 1, "embed", rows.numpy())[0]
    after = party.randomness.state_dict()
    party.randomness.load_state_dict(before)
    parts = rows.split(party.row_gradients._size)
    E_k = torch.cat([party.embed_rows(part) for part in parts])
    assert torch.allclose(E_k, torch.from_numpy(sent), atol=1e-3)
    g, weights = torch.randn(len(rows), 8) / len(rows), [*party.net.embed.parameters()]  # type: ignore[union-attr]
    expected = torch.autograd.grad(E_k, weights, g)
    assert torch.equal(party.randomness.generator.get_state(), after["generator"])
    send(party, 2, "update", g.numpy())
    assert torch.equal(party.randomness.generator.get_state(), after["generator"])
    for weight, each in zip(weights, expected, strict=True):
        assert weight.grad is not None
        assert torch.allclose(weight.grad, each, atol=1e-3)


def test_a_step_has_one_gradient(tmp_path: Path) -> None:
    """Another draw would cost again, and no graph goes around it."""
    party = party_of(tmp_path)
    rows = next_batch(party)
    send(party, 1, "embed", rows)
    _, sent = party.tape["embed"]  # type: ignore[attr-defined]
    assert not sent.requires_grad
    send(party, 2, "update", np.zeros((len(rows), 8), np.float32))
    before = [each.clone() for each in party.net.parameters()]
    _, metrics = send(party, 3, "update", np.zeros((len(rows), 8), np.float32))
    assert metrics["error"] == "ProtocolError"
    assert all(map(torch.equal, before, party.net.parameters()))


def test_networks_that_mix_rows_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    register(monkeypatch)
    with pytest.raises(
        NetworkError, match=r"party-1: dp-adjacency is row, and layer .* mixes rows"
    ):
        party_of(tmp_path, models="own-dropout")


class Branching(nn.Module):
    """A layer that branches on its values."""

    def forward(self, x: Tensor) -> Tensor:
        return x if x.sum() > 0 else torch.zeros_like(x)


def branching(shape: Shape, width: int, classes: int) -> nn.Module:
    embed = nn.Sequential(nn.Flatten(), Branching(), nn.Linear(math.prod(shape), width))
    return SplitNet(embed, nn.Linear(width, classes))


def test_networks_that_branch_on_values_are_refused_when_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(NETWORKS, "branches", NetworkSpec(f"{__name__}:branching"))
    with pytest.raises(NetworkError, match=r"party-1: .* a branch on values cannot .*use a net"):
        party_of(tmp_path, models="branches")
