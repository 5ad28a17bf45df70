"""Noise on gradients of boosted trees: deviation, epsilon, resume, refusals."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from clients.boosted_trees import BoostedTreesClient
from strategies.boosted_trees import BoostedTrees
from tests.helpers.contract import Tap
from tests.helpers.outcomes.attempts import Attempt
from vfl_flower.algorithms.boosting.gradients import Whole
from vfl_flower.algorithms.boosting.noise import GradientNoise
from vfl_flower.common.codec import Array
from vfl_flower.common.errors import ConfigError, Interrupted
from vfl_flower.config.run_config import RunConfig
from vfl_flower.privacy.guarantees import protections
from vfl_flower.runs.seeds import first_fold
from vfl_flower.transport.endpoint import Endpoint
from vfl_flower.transport.local import serve
from vfl_flower.workflows.build_parties import build_active, build_passive

CFG = RunConfig(
    method="boosted_trees",
    dataset="breast-cancer",
    parties=3,
    epochs=3,
    tree_depth=2,
    gradient_epsilon=4.0,
    baselines="off",
)


def test_the_deviation_is_the_accountants() -> None:
    noise = GradientNoise(2.0, 1e-5, 16, 1)
    assert 1.9 < noise.spent(16) <= 2.0
    assert noise.spent(4) < noise.spent(16)
    made = noise.noised(np.zeros((50_000, 1)), b"k" * 32, 0)
    assert (made.numbers * made.unit).std() == pytest.approx(noise.sigma, rel=0.02)
    several = GradientNoise(2.0, 1e-5, 16, 3)
    made = several.noised(np.zeros((20_000, 3)), b"k" * 32, 0)
    found = (made.numbers * made.unit).std()
    assert found == pytest.approx(several.sigma * 2**0.5, rel=0.02)


def test_a_round_that_comes_again_has_the_same_noise() -> None:
    noise, g = GradientNoise(2.0, 1e-5, 16, 1), np.full((500, 1), 0.5)
    first, again = (noise.noised(g, b"k" * 32, 3).numbers for _ in range(2))
    assert np.array_equal(first, again)
    for key, number in ((b"k" * 32, 4), (b"l" * 32, 3)):
        assert not np.array_equal(first, noise.noised(g, key, number).numbers)


def messages(shift: int) -> list[list[bytes]]:
    """Return party-1's messages under shifted labels and equal releases."""
    active = build_active(CFG)
    assert isinstance(active, BoostedTrees)
    assert active.noise is not None
    active.y = (active.y + shift) % 2
    active.training_labels.labels = active.y
    released = active.noise.noised

    def same(g: Array, key: bytes, number: int) -> Whole:
        return released(np.zeros_like(g), b"k" * 32, number)

    active.noise.noised = same  # type: ignore[method-assign]
    taps = [Tap(Endpoint(build_passive(CFG, k))) for k in (1, 2)]
    serve(active, taps)
    return [ins.parameters.tensors for ins, _ in taps[0].sent]


@pytest.mark.usefixtures("known_draws")
def test_all_else_follows_from_noised_gradients() -> None:
    """With equal releases, other labels change nothing that is sent."""
    assert messages(0) == messages(1)


def test_a_run_tells_its_epsilon_and_resumes_with_its_key(tmp_path: Path) -> None:
    with pytest.raises(Interrupted):
        Attempt(CFG, tmp_path / "run").run(stop_at=1)
    Attempt(CFG, tmp_path / "run").run()
    active = build_active(CFG)
    passive = [build_passive(CFG, k) for k in (1, 2)]
    serve(active, [Endpoint(party) for party in passive])
    assert 3.9 < active.figures()["gradient_epsilon"] <= 4.0
    assert isinstance(passive[0], BoostedTreesClient)
    assert torch.equal(active.net.base, torch.zeros(1, dtype=torch.float64))  # type: ignore[arg-type]
    protected, _ = protections(CFG)
    assert any("epsilon 4 at delta 1e-05" in each for each in protected)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"label_privacy": "laplace"}, "is not true with label-privacy = laplace"),
        ({"class_weights": "balanced"}, "is not true with class-weights = balanced"),
        ({"largest_weight": 2.0}, "is not true with largest-weight = 2"),
        ({"split": "stratified"}, "is not true with split = stratified"),
    ],
)
def test_a_false_epsilon_is_refused(options: dict[str, object], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        replace(CFG, **options)  # type: ignore[arg-type]


def test_folds_that_look_at_labels_are_refused() -> None:
    assert first_fold(CFG, 3).fold == "0/3"
    with pytest.raises(ConfigError, match="labels are noised: their epsilon would not be true"):
        first_fold(replace(CFG, keep="best"), 3)


def test_delta_without_noise_is_refused() -> None:
    with pytest.raises(ConfigError, match="gradient-delta would change nothing"):
        CFG.changed(gradient_epsilon=0.0, gradient_delta=1e-6)
    with pytest.raises(ConfigError, match=r"must be 0, or 0\.001 and more"):
        CFG.changed(gradient_epsilon=1e-9)
