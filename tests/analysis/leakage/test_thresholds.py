"""Limits of leakage: attacks that succeed without a protection fail under it.

A change that lets more out, or that blinds an attack, crosses one of these limits.
"""

from typing import Any

import pytest

from tests.helpers.outcomes.stages import reason_of, score_of, stage_of

NOISED: dict[str, Any] = {"label_privacy": "randomized-response"}
LIMITS = [
    ("easter", NOISED, "read-off", 0.99, 0.30),
    ("easter", NOISED, "denoised", 0.90, 0.40),
    ("easter", NOISED, "operator", 0.99, 0.65),
    ("vfedmh", NOISED, "read-off", 0.99, 0.32),
    ("splitnn", NOISED, "learnt", 0.95, 0.25),
    ("vimadmm", {"label_privacy": "alibi"}, "learnt", 0.95, 0.30),
    ("splitnn", {"gradient_defence": "isotropic:1"}, "learnt", 0.95, 0.80),
    ("splitnn", {"dp_sigma": 1.0}, "decoder", 0.80, 0.40),
    ("splitnn", {"dp_sigma": 1.0}, "property", 0.90, 0.75),
    ("easter", {}, "decoder", 0.82, 0.80),
    ("easter", {}, "public-weights", 0.90, 0.75),
    ("agg_vfl", {}, "decoder", 0.72, 0.70),
]
"""Method, options, attack, least figure without protections, most with them."""


@pytest.mark.parametrize(("method", "options", "attack", "least", "most"), LIMITS)
def test_a_protection_limits_an_attack(
    method: str, options: dict[str, Any], attack: str, least: float, most: float
) -> None:
    assert score_of(attack, stage_of(method, bare=True, **options)).value >= least
    assert score_of(attack, stage_of(method, **options)).value <= most


def test_private_weights_leave_nothing_to_solve_for() -> None:
    assert "initial weights" in reason_of(
        "public-weights", stage_of("easter", party_randomness="private")
    )


@pytest.mark.slow
def test_standardised_uploads_keep_a_party_from_dominating() -> None:
    unequal = {"optimizers": "adam,adam,sgd", "epochs": 4}
    raw = score_of("dominance", stage_of("easter", **unequal))
    even = score_of("dominance", stage_of("easter", embedding_scale="standardized", **unequal))
    assert even.value < 0.65
    assert raw.value > even.value + 0.05
