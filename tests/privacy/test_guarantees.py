"""Public initial weights reveal columns; private ones do not."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.autograd import grad

from tests.helpers.data import columns_of
from tests.helpers.outcomes.attempts import Attempt
from vfl_flower.common.errors import Interrupted
from vfl_flower.config.run_config import RunConfig
from vfl_flower.crypto.fixed_point import decode_ring, encode_ring
from vfl_flower.data.loading import load_party
from vfl_flower.privacy.guarantees import (
    CLEAR,
    MASKS,
    NOISE,
    PAIR,
    PRIVATE,
    PUBLIC,
    PUBLISHED,
    READABLE,
    SINGLE,
    UNNOISED_EVALUATION,
    column_protections,
    label_protection,
    protections,
)
from vfl_flower.transport.local import run_amnesiac
from vfl_flower.workflows.build_learner import build_learner
from vfl_flower.workflows.build_parties import build_passive

PUBLIC_RUN = RunConfig(models="mlp", epochs=2, batch_size=400, baselines="off")
PRIVATE_RUN = replace(PUBLIC_RUN, party_randomness="private")
ROWS = torch.arange(16)
PIXELS = 16  # of a quarter of an 8 x 8 image


def first_sum(cfg: RunConfig) -> Tensor:
    """Return the active party's first unmasked sum: (B, D) float64."""
    with torch.no_grad():
        words = [encode_ring(build_passive(cfg, k).embed_rows(ROWS), 3) for k in range(1, 4)]
    return decode_ring(np.add.reduce(words, dtype=np.uint32)).double()


def inverted(cfg: RunConfig, total: Tensor) -> Tensor:
    """Invert a sum of embeddings to columns, given the seed.

    Damped Gauss-Newton (Levenberg-Marquardt) for all rows at once: (B, D) -> (B, 3, pixels).
    """
    unknown = torch.zeros(1797, 1, 8, 2)
    data = [replace(load_party(cfg, rank), x=unknown) for rank in (1, 2, 3)]
    nets = [build_learner(cfg, each).net.double().eval() for each in data]
    for net in nets:
        net.requires_grad_(False)

    def summed(x: Tensor) -> Tensor:  # (B, 48) -> (B, D)
        components = x.reshape(-1, 3, 1, 8, 2).unbind(1)
        each: list[Tensor] = [net.embed(part) for net, part in zip(nets, components, strict=True)]  # type: ignore[operator]
        return torch.stack(each).sum(0)

    x = torch.zeros(len(ROWS), 3 * PIXELS, dtype=torch.double)
    damping = torch.full((len(ROWS), 1, 1), 0.1, dtype=torch.double)
    for _ in range(100):
        at = x.clone().requires_grad_()
        outputs = summed(at)
        rows = [grad(each.sum(), at, retain_graph=True)[0] for each in outputs.T]
        slope, residual = torch.stack(rows, 1), outputs.detach() - total
        normal = slope.mT @ slope + damping * torch.eye(3 * PIXELS, dtype=torch.double)
        tried = x - torch.linalg.solve(normal, slope.mT @ residual[..., None])[..., 0]
        better = (summed(tried) - total).norm(dim=1) < residual.norm(dim=1)
        x = torch.where(better[:, None], tried, x)
        damping = torch.where(better[:, None, None], damping * 0.4, damping * 3).clamp(1e-12, 1e6)
    return x.reshape(len(ROWS), 3, PIXELS)


def recovered(cfg: RunConfig) -> float:
    """Return the share of rows whose columns are recovered.

    At all three parties, to 5 % of their standard deviation.
    """
    truth = torch.stack([columns_of(cfg, k)[ROWS].reshape(len(ROWS), -1) for k in (1, 2, 3)], 1)
    error = (inverted(cfg, first_sum(cfg)) - truth).square().mean((1, 2)).sqrt()
    return (error < 0.05).double().mean().item()


@pytest.mark.slow
def test_a_sum_of_embeddings_under_public_weights_gives_the_columns_away() -> None:
    """The sum alone determines 48 pixels by 64 known functions."""
    assert recovered(PUBLIC_RUN) > 0.9


@pytest.mark.slow
def test_private_weights_stop_that() -> None:
    assert recovered(PRIVATE_RUN) == 0


def test_private_weights_need_more_than_a_seed_to_be_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Torch takes 32 bits of a seed; the whole state counts."""
    drawn: list[int] = []

    def counted(size: int) -> bytes:
        drawn.append(size)
        return np.random.default_rng(len(drawn)).bytes(size)  # another for every call

    monkeypatch.setattr("vfl_flower.learning.randomness.secrets.token_bytes", counted)
    build_learner(PRIVATE_RUN, load_party(PRIVATE_RUN, 1))
    assert drawn == [624 * 4] * 4  # dropout of two kinds, and either half

    def last_word(number: int) -> Tensor:
        words = np.zeros(624, np.uint32)
        words[0], words[-1] = 1 << 31, number
        monkeypatch.setattr(
            "vfl_flower.learning.randomness.secrets.token_bytes", lambda size: words.tobytes()
        )
        return next(build_learner(PRIVATE_RUN, load_party(PRIVATE_RUN, 1)).net.parameters())

    assert torch.equal(last_word(5), last_word(5))
    assert not torch.equal(last_word(5), last_word(6))


def test_protections_name_both_sides() -> None:
    published = replace(PRIVATE_RUN, models="resnet18", weights="x.pth")
    assert column_protections(published) == ([MASKS], [PUBLISHED])
    assert column_protections(PUBLIC_RUN) == ([MASKS], [PUBLIC])
    assert column_protections(PRIVATE_RUN) == ([MASKS, PRIVATE], [])
    assert column_protections(replace(PUBLIC_RUN, blinding="none")) == ([], [CLEAR, PUBLIC])
    assert column_protections(replace(PRIVATE_RUN, blinding="none")) == ([PRIVATE], [CLEAR])


@pytest.mark.parametrize("method", ["agg_vfl", "fdml", "vimadmm_j", "linear_admm"])
def test_two_parties_behind_one_prediction_are_told_of(method: str) -> None:
    pair = RunConfig(method=method, parties=3, active_columns="none")
    assert PAIR in column_protections(pair)[1]
    for other in (replace(pair, parties=4), replace(pair, active_columns="own")):
        assert PAIR not in column_protections(other)[1]


def test_label_protection_names_the_mechanism_and_the_epsilon_that_holds() -> None:
    assert label_protection(PUBLIC_RUN) == ([], [READABLE])
    noised = replace(PUBLIC_RUN, label_privacy="laplace", label_epsilon=0.5)
    assert label_protection(noised) == (
        [
            "labels of training rows noised once by laplace, "
            "label differential privacy with epsilon 0.5 a label"
        ],
        [],
    )
    forced = replace(noised, label_sensitivity=1.0, force_sensitivity=True)
    protected, [unprotected] = label_protection(forced)
    assert protected == []
    assert "epsilon 1 a label, not as configured" in unprotected
    assert protections(noised) == ([MASKS, *label_protection(noised)[0]], [PUBLIC])


def test_noise_on_uploads_is_named_and_does_not_close_what_it_leaves_open() -> None:
    """A party that pins identities still wants masks and private weights."""
    noised = replace(PRIVATE_RUN, method="agg_vfl", dp_sigma=2.0)
    protected, unprotected = column_protections(noised)
    noise = f"{NOISE} to Frobenius norm 1; the adjacency is a party's whole data"
    assert protected == [MASKS, noise, PRIVATE]
    assert unprotected == []
    assert column_protections(replace(noised, blinding="none"))[1] == [SINGLE]
    assert column_protections(replace(noised, dp_eval="clear"))[1] == [UNNOISED_EVALUATION]
    assert column_protections(replace(noised, party_randomness="public"))[1] == [PUBLIC]


def test_private_weights_differ_from_run_to_run_and_the_batches_do_not() -> None:
    runs = [Attempt(cfg, None) for cfg in (PRIVATE_RUN, PRIVATE_RUN, PUBLIC_RUN, PUBLIC_RUN)]
    weights = [
        [next(party.net.parameters()) for party in (run.active, *run.passive)] for run in runs
    ]
    for one, other, public, same in zip(*weights, strict=True):  # party by party
        assert not torch.equal(one, other)
        assert not torch.equal(one, public)
        assert torch.equal(public, same)
    for run in runs[1:]:
        assert all(np.array_equal(run.active.rows[p], runs[0].active.rows[p]) for p in ("train",))


@pytest.mark.slow
def test_private_weights_survive_every_message_of_a_rebuilt_party() -> None:
    """Each rebuild draws other weights; the party's memory overrides them."""
    cfg = replace(PRIVATE_RUN, epochs=3, batch_size=100, learning_rates="0.01")
    active = Attempt(cfg, None).active
    run_amnesiac(active, lambda k: build_passive(cfg, k))
    assert min(active.progress.test["score"].values()) > 0.75


def test_a_private_run_is_resumed_from_its_own_weights(tmp_path: Path) -> None:
    first = Attempt(PRIVATE_RUN, tmp_path)
    with pytest.raises(Interrupted):
        first.run(2)
    second = Attempt(PRIVATE_RUN, tmp_path)
    second.active.stop = True  # after the first step that it takes
    learnt = [p.clone() for p in first.passive[0].net.parameters()]
    with pytest.raises(Interrupted):
        second.run()
    for before, after in zip(learnt, second.passive[0].net.parameters(), strict=True):
        assert (before - after).abs().max() < 0.1  # one step away
