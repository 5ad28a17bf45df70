"""Noise under masks of 16 bits: exact sums, wide enough words, refusals."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
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
from vfl_flower.common.codec import Array
from vfl_flower.common.errors import ConfigError
from vfl_flower.config.run_config import RunConfig
from vfl_flower.crypto.fixed_point import decode_ring
from vfl_flower.privacy.client_dp.accounting import epsilon_of
from vfl_flower.privacy.client_dp.gaussian import Gaussian
from vfl_flower.workflows.build_parties import build_active, build_passive


def narrow(method: str, **changes: Any) -> RunConfig:
    masked = {"blinding": "pairwise", "wire_precision": "bfloat16"}
    return configured(method, **{**masked, **changes})


def sums_of(cfg: RunConfig, folder: Path) -> list[Tensor]:
    """Train, and return the sums of all parties' words."""
    parties = passive_parties("local", lambda k: build_passive(cfg, k, folder))
    taps = [Tap(client) for client in parties.clients]
    active = build_active(cfg)
    carry("local", active, taps)
    words = [[a for sent in tap.sent for a in of_columns(sent, cfg.method)] for tap in taps]
    limit = active.row_limit()
    assert limit
    ring = limit.ring(3)

    def summed(each: tuple[Array, ...]) -> Tensor:
        assert {array.dtype for array in each} == {np.dtype(np.uint16)}
        return decode_ring(np.add.reduce(each, dtype=np.uint16), ring)

    return [summed(each) for each in zip(*words, strict=True)]


@pytest.mark.parametrize(
    ("method", "changes"),
    [
        ("agg_vfl", {}),
        ("easter", {"dp_sigma": 0.0, "target_epsilon": 3.0, "wire_precision": "int8"}),
        ("agg_vfl", {"dp_adjacency": "row", "dp_eval": "clear"}),
    ],
)
def test_sums_are_those_of_noised_uploads_but_for_rounding(
    method: str,
    changes: dict[str, Any],
    tmp_path: Path,
    uploads: list[tuple[str, Tensor, Tensor]],
) -> None:
    cfg = narrow(method, **changes)
    sums = sums_of(cfg, tmp_path)
    assert len(sums) == STEPS + EVALUATIONS
    budget = build_passive(cfg, 1, tmp_path).privacy.budget
    assert budget
    of_range = 3 * (16 + 10 * budget.summed.width)  # of the sum; words hold it in 2**15 steps
    for number, total in enumerate(sums):
        sent = torch.stack([x for _, _, x in uploads[3 * number : 3 * number + 3]])
        assert (total - sent.sum(0)).abs().max() <= 3 * of_range / 2**15
        if method == "agg_vfl" and number == 0:
            assert sent.std() > budget.summed.width / 2


def test_epsilon_is_that_of_32_bits(tmp_path: Path) -> None:
    Attempt(narrow("agg_vfl"), tmp_path / "run").run()
    result = result_of(tmp_path / "run")
    assert result["epsilon"] == epsilon_of(2.0, STEPS + EVALUATIONS, 1e-5, "rdp")
    assert any("Z/2^16" in text for text in result["protections"])


def test_a_number_beyond_the_ring_wraps_and_is_not_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A refusal would tell of columns, and no noise covers it."""
    cfg = narrow("agg_vfl", epochs=1)
    limit = build_active(cfg).row_limit()
    assert limit
    turn = 2 * limit.ring(3).limit
    monkeypatch.setattr(Gaussian, "release", lambda self, x: torch.full(x.shape, turn + 1.0))
    assert (sums_of(cfg, tmp_path)[0] - 3).abs().max() < 0.01


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"dp_noise": "distributed"}, "dp-noise is distributed.*or dp-noise = own"),
        ({"wire_precision": "float16"}, "may not hold the noise.*bfloat16"),
        ({"dp_clip": 1e-4}, r"more than the noise's deviation 0\.0002; .* nearer to dp-clip, 0\.0"),
    ],
)
def test_noise_that_16_bits_do_not_hold_is_refused(
    changes: dict[str, Any], text: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match=text):
        Attempt(narrow("agg_vfl", **changes), tmp_path / "run").run()
    assert not (tmp_path / "run").exists()


def test_a_bound_near_the_clip_leaves_steps_enough(tmp_path: Path) -> None:
    cfg = narrow("agg_vfl", dp_clip=0.001, embedding_bound="0.001", epochs=1)
    assert len(sums_of(cfg, tmp_path)) > 0
