"""Random words of one masked party are refused where rows are bounded."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.helpers.liars import random_words, run_with_liar
from vfl_flower.common.codec import Array
from vfl_flower.common.errors import PartyError
from vfl_flower.config.run_config import RunConfig
from vfl_flower.crypto.fixed_point import LIMIT, SCALE, encode_ring
from vfl_flower.learning.row_limit import RowLimit
from vfl_flower.privacy.client_dp.gaussian import Gaussian
from vfl_flower.protocol.exchange import Replies

TINY = RunConfig(models="mlp", epochs=1, batch_size=100, train_rows=300, embedding_dim=8)
SUMS = [
    *(("easter", phase) for phase in ("embed", "embed_only")),
    *((method, "predict") for method in ("agg_vfl", "fdml", "vimadmm_j", "linear_admm")),
    *(("pravfed", phase) for phase in ("embed", "embed_only")),
]


def configured(method: str, bound: str) -> RunConfig:
    own: dict[str, Any] = {"local_epochs": 1} if method == "pravfed" else {}
    return TINY.changed(method=method, embedding_bound=bound, **own)


@pytest.mark.parametrize(("method", "phase"), SUMS)
def test_random_words_are_refused_at_the_first_sum(method: str, phase: str) -> None:
    for precision in ("float32", "float16"):
        cfg = configured(method, "16").changed(wire_precision=precision)
        with pytest.raises(PartyError, match="a masked party sent rows above embedding-bound 16"):
            run_with_liar(cfg, phase, random_words)


def test_without_a_bound_random_words_spoil_a_run_unnoticed() -> None:
    """Documented: nobody can see them without a bound."""
    active = run_with_liar(configured("easter", "none"), "embed", random_words)
    assert active.progress.step == 3


@pytest.mark.parametrize(("entry", "refused"), [(47.9, False), (48.1, True)])
def test_a_lie_is_bounded_by_all_parties_together(entry: float, refused: bool) -> None:
    """A lie passes within K times the bound, and not beyond."""
    honest = np.zeros((5, 8), np.uint32)
    lie = honest.copy()
    lie[2, 3] = round(entry * SCALE)
    replies = Replies([[honest], [lie], [honest]], limit=RowLimit(16.0))
    if not refused:
        assert replies.sum()[2, 3].item() == pytest.approx(entry, abs=1e-4)
        return
    with pytest.raises(PartyError, match="a masked party"):
        replies.sum()


def test_honest_rows_at_the_bound_pass_with_weights_and_rounding() -> None:
    """All rows point one way, with the largest error of rounding."""
    weights, width = (85, 85, 86), 64
    row = torch.full((3, width), 2.0 / math.sqrt(width) + 0.49 / SCALE)
    row *= 2.0 / row.norm(dim=1, keepdim=True)
    words: list[list[Array]] = [[encode_ring(row, 256) * np.uint32(w)] for w in weights]
    assert Replies(words, limit=RowLimit(2.0)).sum(256).shape == (3, width)
    with pytest.raises(PartyError):
        Replies(words, limit=RowLimit(2.0)).sum(255)


def test_noise_of_honest_parties_passes_and_random_words_do_not() -> None:
    """Honest noise in 10**4 rows stays far below its allowance."""
    sigma, clip, rows, width = 3.0, 2.0, 10_000, 10
    limit = RowLimit(1.0, sigma * clip)
    noised = [Gaussian(sigma, clip).release(torch.zeros(rows, width)) for _ in range(3)]
    total = torch.stack(noised).sum(0)
    assert not limit.exceeded(total, 3, 3)
    reach = limit.of_sum(rows, width, 3, 3)
    assert total.norm(dim=1).max() < 0.8 * reach
    assert limit.exceeded((torch.rand(rows, width) * 2 - 1) * LIMIT, 3, 3)


def test_noised_runs_go_on_under_a_bound_and_random_words_do_not(tmp_path: Path) -> None:
    noised = configured("agg_vfl", "0.5").changed(dp_sigma=1.0)
    honest = run_with_liar(noised, "predict", list, folder=tmp_path / "honest")
    assert honest.progress.step == 3
    with pytest.raises(PartyError, match="a masked party"):
        run_with_liar(noised, "predict", random_words, folder=tmp_path / "lying")


def test_the_chance_of_random_words_is_as_stated() -> None:
    ball = math.pi**5 / math.factorial(5)  # volume of the unit ball in ten dimensions
    assert ball * (RowLimit(16.0).of_sum(1, 10, 3, 3) / 2**16) ** 10 < 2e-31


@pytest.mark.parametrize(("width", "chance"), [(1, 0.75), (10, 1.5e-4), (64, 2e-47)])
def test_the_chance_of_random_words_in_16_bits_is_as_stated(width: int, chance: float) -> None:
    limit = RowLimit(16.0, narrow=True)
    ball = math.pi ** (width / 2) / math.gamma(width / 2 + 1)
    side = 2**16 / limit.ring(3).scale
    share = limit.of_sum(1, width, 3, 3) / side
    assert ball * share**width == pytest.approx(chance, rel=0.2)
