"""Attacks tell columns from uploads, and less from masked sums."""

from typing import Any

import numpy as np
import pytest
import torch

from tests.helpers.outcomes.stages import reason_of, score_of, stage_of
from vfl_flower.analysis.audit.attacks.columns.inversion import Prior, solved
from vfl_flower.analysis.audit.attacks.columns.recovery import Decoder, r_squared

STEEP: dict[str, Any] = {
    "parties": 4,
    "embedding_dim": 8,
    "epochs": 6,
    "batch_size": 200,
    "optimizers": "sgd",
    "learning_rates": "2",
    "loss": "cross-entropy",
}
"""Few and long steps."""


def test_uploads_in_the_clear_are_decoded() -> None:
    score = score_of("decoder", stage_of("splitnn"))
    assert score.value > score.baseline + 0.5


@pytest.mark.slow
def test_masks_leave_less_to_the_active_party() -> None:
    bare, masked = (score_of("decoder", stage_of("easter", bare=each)) for each in (True, False))
    assert bare.value > masked.value + 0.05
    assert masked.value > masked.baseline


@pytest.mark.slow
def test_colluders_undo_the_masks() -> None:
    """They know the upload that is left exactly."""
    bare, masked = (score_of("colluders", stage_of("easter", bare=each)) for each in (True, False))
    assert masked.value == pytest.approx(bare.value, abs=1e-3)


def test_a_party_that_dominates_a_sum_is_found() -> None:
    assert "each is seen by itself" in reason_of("dominance", stage_of("splitnn"))
    score = score_of("dominance", stage_of("easter"))
    assert (score.against, score.baseline) == ("even share", 0.5)
    assert 0.5 < score.value < 0.8  # where a regression tells either upload with 0.95 and more


@pytest.mark.slow
def test_labels_of_choice_make_one_party_dominate() -> None:
    score = score_of("chosen-labels", stage_of("easter", **STEEP))
    assert score.value > 0.95
    assert score.baseline < 0.7
    assert score.source.split()[0] in ("99%", "100%")


@pytest.mark.slow
def test_standardised_uploads_withstand_labels_of_choice() -> None:
    scaled = stage_of("easter", **STEEP, embedding_scale="standardized")
    assert score_of("chosen-labels", scaled).value < 0.5


@pytest.mark.parametrize(
    ("method", "options", "reason"),
    [
        ("splitnn", {}, "each is seen by itself"),
        ("agg_vfl", {}, "residuals of its own"),
        ("easter", {"label_privacy": "laplace"}, "without noise"),
    ],
)
def test_labels_are_chosen_where_residuals_are_each_partys_own(
    method: str, options: dict[str, Any], reason: str
) -> None:
    assert reason in reason_of("chosen-labels", stage_of(method, **options))


@pytest.mark.slow
def test_public_weights_give_columns_away() -> None:
    seen, summed = (
        score_of("public-weights", stage_of("easter", bare=each)).value for each in (True, False)
    )
    assert seen > 0.8 > summed
    assert "private" in reason_of("public-weights", stage_of("splitnn", party_randomness="private"))
    assert "were trained" in reason_of("public-weights", stage_of("pravfed"))


@pytest.mark.slow
def test_public_networks_draws_are_known_too() -> None:
    """Without dropout's draws the attack finds a third less."""
    net = "tests.helpers.networks:own_dropout"
    assert score_of("public-weights", stage_of("splitnn", models=net, embedding_dim=32)).value > 0.3


def test_a_clone_needs_single_uploads() -> None:
    assert "masks" in reason_of("unsplit", stage_of("easter"))


@pytest.mark.slow
def test_a_clone_finds_columns_that_weights_do_not_mix() -> None:
    """A dense layer can undo any mixing of columns."""
    options = {"parties": 2, "embedding_dim": 32}
    alike = stage_of("splitnn", models="tests.helpers.networks:pixelwise", **options)
    assert score_of("unsplit", alike).value > 0.8  # of weights that went on to change
    assert score_of("unsplit", stage_of("splitnn", **options)).value < 0.3


def test_a_property_is_told_beyond_own_columns() -> None:
    score = score_of("property", stage_of("splitnn"))
    assert score.value > score.baseline + 0.1


def test_confidence_is_hardly_of_membership_after_two_epochs() -> None:
    score = score_of("membership", stage_of("splitnn"))
    assert (score.baseline, score.against) == (0.5, "chance")
    assert abs(score.value - 0.5) < 0.1


def test_r_squared_counts_all_columns_together() -> None:
    true = np.array([[0.0, 10.0], [2.0, 30.0]])
    assert r_squared(true, true) == 1
    assert r_squared(true, true.mean(0)) == 0
    assert r_squared(true, -true) == 0
    assert r_squared(true, true + np.array([[1.0, 0.0], [-1.0, 0.0]])) == pytest.approx(1 - 2 / 202)


def test_a_decoder_is_judged_on_other_rows() -> None:
    random = np.random.default_rng(0)
    view, told = random.normal(size=(200, 3)), np.arange(200) < 100
    columns = view @ random.normal(size=(3, 2))
    columns[~told] = random.normal(size=(100, 2))
    assert Decoder(told).success(view, columns) < 0.1
    assert Decoder(told).success(view, view * 2 + 1) > 0.99
    assert Decoder(told).success(np.empty((200, 0)), columns) == 0


def test_a_prior_chooses_among_many_solutions() -> None:
    """One number of two columns, that are alike in the known rows."""
    known = torch.randn(50, 1, generator=torch.Generator().manual_seed(0)).repeat(1, 2)
    true = torch.tensor([[1.5, 1.5], [-0.5, -0.5]])
    target = true[:, :1]
    [alike] = solved([Prior.of(known)], lambda x: x[0][:, :1], target, 300)
    [blind] = solved(
        [Prior(torch.zeros(2), torch.eye(2), (2,))], lambda x: x[0][:, :1], target, 300
    )
    assert torch.allclose(alike, true, atol=0.05)
    assert torch.allclose(blind[:, 1], torch.zeros(2), atol=0.05)


@pytest.mark.slow
def test_histograms_tell_the_order_of_rows() -> None:
    """More after more rounds: columns are followed, whatever their order."""
    one, ten = (
        score_of("histograms", stage_of("boosted_trees", dataset="breast-cancer", epochs=rounds))
        for rounds in (1, 10)
    )
    assert 0.5 < one.value < ten.value < 1
    assert reason_of("histograms", stage_of("splitnn")) == "no histograms of gradients are sent"
