"""NoPeek, MID and FedPass are as their equations say."""

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.distributions import Normal, kl_divergence

from vfl_flower.common.errors import ConfigError, NetworkError
from vfl_flower.config.options.defences.embeddings import EMBEDDING_DEFENCES, read_embedding_defence
from vfl_flower.config.run_config import RunConfig
from vfl_flower.learning.networks.defences.defence import defend, penalised
from vfl_flower.learning.networks.defences.fedpass import FedPass, Passport
from vfl_flower.learning.networks.defences.mid import MID, divergence
from vfl_flower.learning.networks.defences.nopeek import NoPeek, distance_correlation
from vfl_flower.workflows.build_parties import build_passive

WIDTH, COLUMNS = 6, 5
Numbers = NDArray[np.float64]


@pytest.fixture(autouse=True)
def seeded() -> None:
    torch.manual_seed(0)


def bottom() -> nn.Module:
    return nn.Sequential(nn.Linear(COLUMNS, WIDTH))


def by_definition(x: Numbers, y: Numbers) -> float:
    """Compute a distance correlation, sum by sum."""

    def centred(rows: Numbers) -> Numbers:
        n = len(rows)
        a = np.array([[np.linalg.norm(p - q) for q in rows] for p in rows])
        total = a.sum() / n**2
        return np.array(
            [
                [a[i, j] - a[i].sum() / n - a[:, j].sum() / n + total for j in range(n)]
                for i in range(n)
            ]
        )

    A, B = centred(x), centred(y)
    shared, own = (A * B).sum(), np.sqrt((A * A).sum() * (B * B).sum())
    return float(np.sqrt(shared / own))


def test_distance_correlation_is_as_defined() -> None:
    x, E = torch.randn(9, 2, 3), torch.randn(9, 4)
    expected = by_definition(x.flatten(1).double().numpy(), E.double().numpy())
    assert distance_correlation(x, E).item() == pytest.approx(expected, rel=1e-5)


def test_distance_correlation_of_what_is_equal_is_one_and_of_what_is_constant_zero() -> None:
    x = torch.randn(20, 3)
    assert distance_correlation(x, 2 * x + 1).item() == pytest.approx(1, abs=1e-5)
    for constant in (torch.ones(20, 3), torch.ones(1, 3)):
        E = constant.clone().requires_grad_()
        penalty = distance_correlation(x[: len(constant)], E)
        assert penalty.item() == 0
        assert penalised(E, penalty).sum().item() == constant.sum().item()


@pytest.mark.parametrize("equal", [2, 20])
def test_equal_rows_have_finite_gradients(equal: int) -> None:
    E = torch.randn(20, 4)
    E[:equal] = E[0]
    E.requires_grad_()
    x = torch.randn(20, 3)
    penalised(E, distance_correlation(x, E) if equal < 20 else E.new_zeros(())).sum().backward()
    assert E.grad is not None
    assert torch.isfinite(E.grad).all()


def test_a_penalty_joins_once_for_each_backward_pass() -> None:
    """Also where the embedding is used twice, and whatever gradient comes back."""
    E = torch.randn(4, 3, requires_grad=True)
    made = penalised(E, (E**2).sum())
    assert torch.equal(made, E)
    (5 * made.sum() + 2 * made.sum()).backward()
    assert E.grad is not None
    assert torch.allclose(E.grad, 7 + 2 * E.detach())


def test_nopeek_in_evaluation_is_the_network_alone() -> None:
    inner, x = bottom(), torch.randn(8, COLUMNS)
    net = NoPeek(inner, WIDTH, 3.0)
    assert torch.equal(net(x), inner(x))  # training changes gradients alone
    assert net.eval()(x).grad_fn.name() == inner(x).grad_fn.name()


def test_divergence_is_that_of_gaussians() -> None:
    mean, log_variance = torch.randn(5, 4), torch.randn(5, 4)
    each = kl_divergence(Normal(mean, (log_variance / 2).exp()), Normal(0.0, 1.0))
    assert divergence(mean, log_variance).item() == pytest.approx(each.sum(1).mean().item())


def test_mid_sends_samples_in_training_and_means_otherwise() -> None:
    inner, x = bottom(), torch.randn(1, COLUMNS)
    net = MID(inner, WIDTH, 0.1)
    with torch.no_grad():
        net.log_variance.bias.fill_(float(np.log(0.25)))
        samples = net(x.repeat(20_000, 1))
        assert samples.mean(0).numpy() == pytest.approx(inner(x)[0].numpy(), abs=0.02)
        assert samples.std(0).numpy() == pytest.approx(0.5, rel=0.03)
        assert torch.equal(net.eval()(x), inner(x))


def test_mid_draws_from_its_partys_generator() -> None:
    party = build_passive(RunConfig(models="mlp", embedding_defence="mid:1"), 1)
    torch.manual_seed(1)
    before = torch.get_rng_state()
    state = party.randomness.state_dict()
    rows = torch.arange(4)
    party.net.train()
    one, other = party.embed_rows(rows), party.embed_rows(rows)
    party.randomness.load_state_dict(state)
    assert torch.equal(one, party.embed_rows(rows))
    assert not torch.equal(one, other)
    assert torch.equal(before, torch.get_rng_state())


def test_fedpass_scales_and_shifts_by_its_passports() -> None:
    net, x = FedPass(bottom(), WIDTH, 5.0), torch.randn(7, COLUMNS)
    layer = net.passport
    W, b = (each.detach().numpy() for each in (layer.linear.weight, layer.linear.bias))
    down, up = (each.detach().numpy() for each in layer.coder.parameters())

    def coded(passport: Tensor) -> Numbers:
        hidden = down @ (W @ passport.numpy() + b)
        return np.asarray(up @ np.where(hidden > 0, hidden, 0.01 * hidden))

    h = net.embed(x).detach().numpy() @ W.T + b
    scale, shift = map(coded, layer.passports)
    assert net(x).detach().numpy() == pytest.approx(scale * h + shift, rel=1e-4, abs=1e-5)


def test_passports_lie_around_means_below_zero() -> None:
    layer = Passport(500, 6.0)
    drawn = []
    for _ in range(40):
        drawn.append(layer.passports.clone())
        layer.reset_parameters()
    assert not torch.equal(drawn[0], drawn[1])
    assert torch.stack(drawn).mean().item() == pytest.approx(-3, abs=0.05)
    assert torch.stack(drawn).var().item() == pytest.approx(6**2 / 12 + 1, rel=0.03)
    assert "passports" in layer.state_dict()  # or a resumed party would have others


@pytest.mark.parametrize("secret", [True, False])
def test_passports_are_secret_where_randomness_is_private(secret: bool) -> None:
    randomness = "private" if secret else "public"
    cfg = RunConfig(models="mlp", embedding_defence="fedpass:5", party_randomness=randomness)
    one, other = (build_passive(cfg, 1).net.embed.passport.passports for _ in range(2))  # type: ignore[union-attr]
    assert torch.equal(one, other) == (not secret)  # type: ignore[arg-type]


class OfMethods(nn.Module):
    """A network whose halves are methods."""

    def embed(self, x: Tensor) -> Tensor:
        return x


def test_a_half_that_cannot_be_wrapped_is_refused() -> None:
    with pytest.raises(NetworkError, match="`embed` of this network is a method"):
        defend(OfMethods(), 2, "nopeek:1")


@pytest.mark.parametrize("text", ["noise:1", "nopeek", "mid:0", "mid:inf", "fedpass:1e4"])
def test_forms_are_told(text: str) -> None:
    with pytest.raises(ConfigError, match=r"nopeek:WEIGHT.*mid:WEIGHT.*fedpass:REACH"):
        read_embedding_defence(text)


def test_examples_can_be_read() -> None:
    for name, spec in EMBEDDING_DEFENCES.items():
        assert read_embedding_defence(spec.example)[0] is EMBEDDING_DEFENCES[name]
