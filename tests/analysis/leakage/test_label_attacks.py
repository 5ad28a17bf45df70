"""Attacks on labels succeed where messages tell them, and noise limits them."""

import numpy as np
import pytest
import torch

from tests.helpers.outcomes.stages import reason_of, score_of, stage_of
from vfl_flower.analysis.audit.attacks.labels.completion.mixmatch import sharpened
from vfl_flower.analysis.audit.attacks.labels.cosine import CosineScoring
from vfl_flower.analysis.audit.attacks.labels.norm import NormScoring
from vfl_flower.analysis.audit.attacks.labels.spectral import SpectralScoring
from vfl_flower.analysis.audit.transcripts.attacked import AttackedRows

NOISED = {"label_privacy": "randomized-response"}


def test_residuals_are_read_off() -> None:
    score = score_of("read-off", stage_of("easter"))
    assert (score.metric, score.value, score.source) == ("accuracy", 1.0, "update")
    assert 0.1 < score.baseline < 0.15


def test_gradients_of_embeddings_have_no_number_a_class() -> None:
    assert "no message" in reason_of("read-off", stage_of("splitnn"))
    assert score_of("learnt", stage_of("splitnn")).value > 0.95


def test_a_trained_bottom_model_is_completed() -> None:
    score = score_of("completion", stage_of("splitnn"))
    assert score.against == "untrained model"
    assert score.value > score.baseline + 0.05


@pytest.mark.slow
def test_unlabelled_rows_complete_a_model_further() -> None:
    """The party's own model stays as it was trained."""
    stage = stage_of("easter")
    before = {name: each.clone() for name, each in stage.run.passive[0].net.state_dict().items()}
    score = score_of("mixmatch", stage)
    assert score.value > score_of("completion", stage).value + 0.01
    after = stage.run.passive[0].net.state_dict()
    assert all(torch.equal(each, after[name]) for name, each in before.items())


def test_sharpening_makes_a_guess_more_certain() -> None:
    guess = torch.tensor([[0.5, 0.3, 0.2], [0.25, 0.25, 0.5]])
    sharp = sharpened(guess)
    assert torch.allclose(sharp.sum(1), torch.ones(2))
    assert (sharp.max(1).values > guess.max(1).values).all()
    assert sharp[1, 0] == sharp[1, 1]


@pytest.mark.parametrize("attack", ["norm", "cosine", "spectral"])
def test_gradients_score_classes_beyond_chance(attack: str) -> None:
    score = score_of(attack, stage_of("splitnn"))
    assert 0.5 <= score.baseline < 0.56
    assert score.value > score.baseline + 0.1


@pytest.mark.parametrize("attack", ["read-off", "cosine", "operator"])
def test_noise_on_labels_limits_attacks(attack: str) -> None:
    bare = score_of(attack, stage_of("easter", bare=True, **NOISED)).value
    noised = score_of(attack, stage_of("easter", **NOISED)).value
    assert noised < bare - 0.2


def test_the_operator_sees_relayed_messages_only() -> None:
    assert score_of("operator", stage_of("easter")).value == 1.0
    assert "does not relay" in reason_of("operator", stage_of("easter", transport="stream"))


def test_each_score_is_of_its_own_geometry() -> None:
    """Rows of class 1 are long and point another way."""
    attacked = AttackedRows.__new__(AttackedRows)
    attacked.classes, attacked.y = 2, np.array([0, 0, 1, 1])
    attacked.known = np.array([True, False, True, False])
    table = np.array([[1.0, 0.0], [2.0, 0.1], [0.0, 8.0], [0.2, 9.0]])
    assert NormScoring().scored(table, attacked)[0] == 1
    cosines = CosineScoring().scored(table, attacked)
    assert cosines.argmax(1).tolist() == attacked.y.tolist()
    along = SpectralScoring().scored(table, attacked)[:, 0]
    assert np.sign(along[:2]).tolist() == (-np.sign(along[2:])).tolist()
