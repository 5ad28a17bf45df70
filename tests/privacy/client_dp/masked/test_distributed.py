"""Distributed noise: shares in the ring, and the guarantee of their sum."""

import math
import random
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from torch import Tensor

from tests.helpers.client_privacy import (
    EVALUATIONS,
    STEPS,
    configured,
    of_columns,
    result_of,
)
from tests.helpers.contract import Tap, carry, passive_parties
from tests.helpers.outcomes.attempts import Attempt
from vfl_flower.common.errors import ConfigError, PrivacyError
from vfl_flower.config.registry import specs
from vfl_flower.config.run_config import RunConfig
from vfl_flower.crypto.fixed_point import SCALE, decode_ring
from vfl_flower.privacy.client_dp.accounting import epsilon_of
from vfl_flower.privacy.client_dp.distributed import LEAST, GaussianShare
from vfl_flower.protocol.uploads import Upload
from vfl_flower.workflows.build_parties import build_active, build_passive

SUMMED = [
    name
    for name, method in specs().items()
    if method.noises and method.blinds and method.options().uploads_in_steps
]

HONEST = 2  # of three passive parties, if all but two may collude


def distributed(method: str, **changes: float | str) -> RunConfig:
    masked = {"blinding": "pairwise", "dp_noise": "distributed"}
    return configured(method, **{**masked, **changes})


@given(st.floats(0.1, 1000), st.floats(1e-3, 1), st.integers(1, 1000))
def test_honest_shares_come_to_the_whole_noise(sigma: float, clip: float, honest: int) -> None:
    """No less than asked for, and no step more than needed."""
    assume(sigma * clip * SCALE > LEAST * math.sqrt(honest) and sigma * clip < 200)
    share = GaussianShare(sigma, clip, honest)
    wanted = (Fraction(sigma) * Fraction(clip) * Fraction(SCALE)) ** 2
    assert honest * share.deviation**2 >= wanted > honest * (share.deviation - 1) ** 2


def test_a_sum_of_least_shares_is_a_gaussian_beyond_float64() -> None:
    """The distance term of a million parties (Kairouz et al. 2021)."""
    exponents = [-2 * math.pi**2 * LEAST**2 * j / (j + 1) for j in (1, 2, 10**6)]
    largest = math.log10(10 * 10**6) + max(exponents) / math.log(10)  # of as many terms
    assert largest < -1000


def test_shares_are_drawn_in_whole_steps_of_the_ring() -> None:
    share = GaussianShare(2.0, 1.0, 4)
    x = torch.linspace(-1, 1, 20_000).reshape(200, 100)
    noised = share.release(x, random.Random(0).randbytes)  # noqa: S311
    steps = noised.numpy() * SCALE
    assert noised.dtype == torch.float64
    assert (steps == np.rint(steps)).all()
    noise = (steps - share.clipped(x)) / SCALE
    assert noise.std() == pytest.approx(1.0, rel=0.03)  # 2 / sqrt(4)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"dp_clip": 1e-5, "dp_sigma": 0.1}, "does not fit the ring: .* larger dp-clip"),
        ({"dp_clip": 300.0, "dp_sigma": 2.0}, "does not fit the ring: .* smaller dp-clip"),
        ({"blinding": "none"}, "distributed, and nothing is masked .* dp-noise = own"),
        ({"dp_sigma": 0.0}, "dp-noise would change nothing: no noise is asked for"),
    ],
)
def test_noise_that_cannot_be_shared_is_refused(
    changes: dict[str, float | str], text: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match=text):
        Attempt(distributed("agg_vfl", **changes), tmp_path / "run").run()
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("method", SUMMED)
def test_what_the_active_party_adds_up_has_the_noise_of_all(
    method: str, tmp_path: Path, uploads: list[tuple[str, Tensor, Tensor]]
) -> None:
    """Exactly the shares that were drawn, none of them rounded."""
    cfg = distributed(method)
    parties = passive_parties("local", lambda k: build_passive(cfg, k, tmp_path))
    taps = [Tap(client) for client in parties.clients]
    active = build_active(cfg)
    carry("local", active, taps)
    words = [[a for sent in tap.sent for a in of_columns(sent, method)] for tap in taps]
    sums = [decode_ring(np.add.reduce(each, dtype=np.uint32)) for each in zip(*words, strict=True)]
    assert len(sums) == STEPS + EVALUATIONS
    share = GaussianShare(2.0, 1.0, HONEST)
    noises = []
    for number, total in enumerate(sums):
        of_all = uploads[3 * number : 3 * number + 3]
        assert torch.equal(total, torch.stack([sent for _, _, sent in of_all]).sum(0).float())
        clipped = sum(share.clipped(x) for _, x, _ in of_all) * share.step
        noises.append((total.double().numpy() - clipped).ravel())
    noise = np.concatenate(noises)
    expected = 2.0 * math.sqrt(3 / HONEST)
    assert noise.std() == pytest.approx(expected, rel=6 / np.sqrt(noise.size))


def test_the_result_says_whose_noise_counts(tmp_path: Path) -> None:
    Attempt(distributed("easter"), tmp_path / "run").run()
    result = result_of(tmp_path / "run")
    privacy = result["client_privacy"]
    assert result["epsilon"] == epsilon_of(2.0, STEPS + EVALUATIONS, 1e-5, "rdp")
    assert privacy["mechanism"] == "distributed discrete Gaussian, of 2 honest parties"
    assert "at most 1 of the 3 passive parties collude" in privacy["covers"]
    assert any("a share of discrete Gaussian noise" in text for text in result["protections"])


def test_an_upload_with_a_weight_gets_no_share(tmp_path: Path) -> None:
    """Others' shares would be too small for it."""
    party = build_passive(distributed("agg_vfl"), 1, tmp_path)
    declared = party.declared("predict")
    assert declared
    with pytest.raises(PrivacyError, match="an upload of weight 3"):
        party.privacy.apply(Upload(torch.ones(2, 2), weight=3), declared)
    assert party.privacy.counts().total() == 0


def test_words_wrap_where_a_refusal_would_tell_something(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sum beyond the ring is right modulo its size."""
    monkeypatch.setattr(GaussianShare, "release", lambda self, x: x.double() + 2.0**15)
    cfg = distributed("agg_vfl", epochs=1)
    parties = passive_parties("local", lambda k: build_passive(cfg, k, tmp_path))
    taps = [Tap(client) for client in parties.clients]
    carry("local", build_active(cfg), taps)
    first = [next(a for sent in tap.sent for a in of_columns(sent, "agg_vfl")) for tap in taps]
    total = decode_ring(np.add.reduce(first, dtype=np.uint32))
    turns = (total.double() - 3 * 2.0**15) / 2.0**16
    assert (turns - turns.round()).abs().max() < 0.01
