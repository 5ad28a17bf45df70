"""A run without its protections, and tasks and methods that limit attacks."""

from typing import Any

import numpy as np
import pytest

from tests.helpers.outcomes.stages import (
    reason_of,
    run_with_numbers,
    score_of,
    small,
    stage_of,
)
from vfl_flower.analysis.audit.protection import protections_of, unprotected
from vfl_flower.analysis.audit.registry import ATTACKS, attack_of


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({}, ["pairwise masking"]),
        ({"blinding": "none"}, []),
        ({"parties": 9, "colluding_share": 0.5, "blinding": "pairwise"}, ["pairwise masking"]),
        ({"party_randomness": "private"}, ["pairwise masking", "private initial weights"]),
        (
            {"label_privacy": "laplace", "label_epsilon": 2.0},
            ["pairwise masking", "label differential privacy (laplace, epsilon 2)"],
        ),
        (
            {"method": "splitnn", "dp_sigma": 1.0, "dp_clip": 2.0},
            ["client-level differential privacy"],
        ),
    ],
)
def test_protections_are_named_and_removed(options: dict[str, Any], named: list[str]) -> None:
    chosen = {"method": "easter", **options}
    cfg = small(**chosen)
    assert protections_of(cfg) == named
    assert protections_of(unprotected(cfg)) == []


@pytest.mark.slow
def test_labels_that_are_numbers_are_not_told_apart() -> None:
    card = run_with_numbers(200).audit("card", epochs=1)
    assert {line["target"] for line in card["lines"]} == {"columns", "a property", "integrity"}
    assert "labels are numbers" in card["inapplicable"]["read-off"]


@pytest.mark.slow
def test_feature_maps_have_columns_to_tell_and_no_label() -> None:
    tiny = {"models": "tests.helpers.networks:TinyChain", "cut": "one", "pretrain_epochs": 1}
    stage = stage_of("adptvfedconv", **tiny, parties=4, local_epochs=1, epochs=1)
    assert score_of("decoder", stage).value > 0.9
    assert 0 < score_of("mixmatch", stage).value < 1
    assert "receive no number" in reason_of("norm", stage)
    assert "no embeddings" in reason_of("unsplit", stage)


def test_rows_that_a_party_never_uploaded_leave_columns_alone() -> None:
    """Rounds ask some parties only, and a short training misses rows."""
    stage = stage_of("vimadmm", participation=0.5)
    assert "every training row" in reason_of("decoder", stage)
    assert score_of("operator", stage).value > 0.9


@pytest.mark.slow
@pytest.mark.parametrize(
    "method", ["vfedmh", "fedbcd", "c_vfl", "vafl", "agg_vfl", "vimadmm_j", "linear_admm", "fdml"]
)
def test_every_attack_applies_or_says_why(method: str) -> None:
    stage = stage_of(method)
    for name in ATTACKS:
        attack = attack_of(name)
        reason = attack.applies(stage)
        if not reason:
            score = attack.run(stage)
            assert np.isfinite([score.value, score.baseline]).all(), name
