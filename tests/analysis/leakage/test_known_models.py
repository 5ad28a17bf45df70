"""Predictions tell columns to an active party that was given all networks."""

import numpy as np
import pytest
import torch

from tests.helpers.outcomes.stages import reason_of, score_of, stage_of
from vfl_flower.analysis.audit.transcripts.joint_model import JointModel

THREE = {"dataset": "wine", "partition": "listed:0-9;10-12", "parties": 2}
"""Three classes, and three columns at the passive party."""

FEW = THREE | {"batch_size": 20}

TWO = FEW | {"partition": "listed:0-10;11-12"}
"""As many columns as differences of logarithms of three classes' probabilities."""


@pytest.mark.parametrize("method", ["splitnn", "easter", "pravfed", "vimadmm", "linear_admm"])
def test_the_joint_model_predicts_as_the_run_did(method: str) -> None:
    """Whatever the method, and under masks but for their rounding."""
    run = stage_of(method).run
    rows = run.answered["test"][:50]
    columns = {each.rank: each.columns(rows).requires_grad_() for each in run.passive}
    outputs = JointModel(run, rows)(columns)
    assert torch.allclose(outputs, run.answers["test"][:50], atol=1e-3)
    slopes = torch.autograd.grad(outputs.sum(), list(columns.values()))
    assert all(each.abs().max() > 0 for each in slopes)
    assert "columns" not in vars(run.passive[0])


@pytest.mark.slow
@pytest.mark.parametrize("method", ["splitnn", "easter"])
def test_a_generator_tells_more_than_own_columns(method: str) -> None:
    score = score_of("generative", stage_of(method))
    assert (score.against, score.source) == ("own columns", "test rows")
    assert score.value > score.baseline + 0.1


def test_a_generator_needs_predictions() -> None:
    assert "no further predictions" in reason_of("generative", stage_of("splitnn", dp_sigma=1.0))
    assert "compressed" in reason_of("generative", stage_of("c_vfl", compression="topk:0.25"))


def test_as_many_equations_as_columns_are_solved_exactly() -> None:
    score = score_of("equality-solving", stage_of("linear_admm", blinding="none", **FEW))
    assert score.value > 0.99
    assert score.baseline < 0.8


def test_fewer_equations_tell_less() -> None:
    score = score_of("equality-solving", stage_of("linear_admm"))
    assert 0.1 < score.value < 0.9


def test_networks_with_hidden_layers_give_no_equations() -> None:
    assert "not linear" in reason_of("equality-solving", stage_of("splitnn", **FEW))


def test_a_linear_model_learnt_by_gradients_is_solved_too() -> None:
    score = score_of(
        "equality-solving", stage_of("agg_vfl", models="linear", blinding="none", **FEW)
    )
    assert np.isclose(score.value, 1, atol=0.01)


@pytest.mark.parametrize(("digits", "least", "most"), [(0, 0.99, 1), (2, 0.8, 0.98), (1, 0, 0.7)])
def test_rounded_scores_tell_readers_less(digits: int, least: float, most: float) -> None:
    """And nothing less to the active party, whose logits nobody rounds."""
    stage = stage_of("linear_admm", blinding="none", score_digits=digits, **TWO)
    told = score_of("equality-scores", stage)
    assert least <= told.value <= most
    assert score_of("equality-solving", stage).value > 0.99


@pytest.mark.slow
def test_a_generator_learns_from_scores() -> None:
    stages = [stage_of("splitnn", score_digits=digits) for digits in (0, 1)]
    exact, rounded = [score_of("generative-scores", each) for each in stages]
    assert exact.value > exact.baseline + 0.1
    assert rounded.value == pytest.approx(exact.value, abs=0.1)
    assert score_of("membership", stages[0]) != score_of("membership", stages[1])


@pytest.mark.slow
def test_encoded_outputs_are_read_after_decoding() -> None:
    encoded = {"label_encoding": "confusional:1", "blinding": "none", **TWO}
    stage = stage_of("linear_admm", **encoded)
    assert "decoded by a network" in reason_of("equality-scores", stage)
    assert score_of("equality-solving", stage).value > 0.99
    assert score_of("generative-scores", stage).value > 0


@pytest.mark.slow
def test_paths_through_trees_tell_columns_to_who_has_the_thresholds() -> None:
    """The more trees, the closer thresholds are to a value."""
    few, many = (
        score_of("path-restriction", stage_of("boosted_trees", **THREE, epochs=rounds))
        for rounds in (1, 30)
    )
    assert (few.against, few.source) == ("own columns", "test rows")
    assert few.value < many.value
    assert many.value > max(many.baseline, 0.8)
    assert reason_of("path-restriction", stage_of("splitnn")) == "no party has trees"
