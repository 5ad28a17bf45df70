"""A party that deviates changes predictions, and no other run."""

import numpy as np
import pytest
import torch

from tests.helpers.outcomes.stages import reason_of, score_of, stage_of
from vfl_flower.analysis.audit.attacks.integrity.backdoor import GAMMA, Replacement, triggered
from vfl_flower.analysis.audit.attacks.integrity.malicious_optimizer import factors
from vfl_flower.analysis.audit.attacks.integrity.villain import Trigger
from vfl_flower.analysis.audit.transcripts.repetition import repeat


@pytest.mark.slow
def test_a_backdoor_fools_triggered_rows() -> None:
    score = score_of("backdoor", stage_of("vimadmm"))
    assert score.value > score.baseline + 0.2
    assert float(score.source.split()[1]) > 0.85  # of the accuracy
    assert "given labels" in reason_of("backdoor", stage_of("pravfed"))


@pytest.mark.slow
def test_a_trigger_on_embeddings_fools_rows() -> None:
    """Under masks, which hide it."""
    score = score_of("villain", stage_of("easter", epochs=10))
    assert score.value > score.baseline + 0.3
    assert "no embeddings" in reason_of("villain", stage_of("agg_vfl"))


def test_a_free_rider_costs_accuracy() -> None:
    score = score_of("free-rider", stage_of("splitnn"))
    assert score.metric == "accuracy left"
    assert score.value < score.baseline - 0.05


def test_a_poisoned_training_loses_more_than_a_party() -> None:
    stage = stage_of("agg_vfl")  # whose residual is the sum's, whoever spoiled it
    score = score_of("poisoning", stage)
    assert (score.metric, score.source) == ("accuracy left", "signs turned")
    assert score.value < score_of("free-rider", stage).value - 0.2
    assert score.value < score.baseline - 0.5


@pytest.mark.slow
def test_shuffled_columns_poison_where_nothing_is_received() -> None:
    """Labels of PraVFed's parties are no gradients to turn."""
    score = score_of("poisoning", stage_of("pravfed"))
    assert score.source == "columns shuffled"
    assert score.value < score.baseline - 0.05


def test_poisoning_needs_uploads_of_every_row() -> None:
    assert "every training row" in reason_of("poisoning", stage_of("vimadmm", participation=0.5))


@pytest.mark.slow
def test_chosen_columns_dominate_a_prediction() -> None:
    for method in ("splitnn", "pravfed"):  # whose active party keeps uploads of rows
        score = score_of("dominating", stage_of(method))
        assert score.value > 0.9 > score.baseline


def test_random_words_stop_a_run_with_bounded_rows() -> None:
    """Without a bound, nothing tells a random sum from a true one."""
    bounded = score_of("random-words", stage_of("easter", embedding_bound="8"))
    assert (bounded.value, bounded.source) == (0.0, "PartyError")
    assert score_of("random-words", stage_of("easter")).value == 1.0
    assert "not masked" in reason_of("random-words", stage_of("splitnn"))


@pytest.mark.slow
def test_larger_steps_make_completion_better() -> None:
    score = score_of("malicious-optimizer", stage_of("vimadmm"))
    assert score.value > score.baseline + 0.03


def test_weights_hurry_while_gradients_keep_their_signs() -> None:
    gradient, last = torch.tensor([1.0, -1.0, 9.0, 1.0]), torch.tensor([2.0, 2.0, 1.0, 0.0])
    assert factors(gradient, last).tolist() == [1.5, 1.0, 5.0, 1.0]


@pytest.mark.slow
def test_a_budget_of_uploads_leaves_no_predictions() -> None:
    stage = stage_of("splitnn", dp_sigma=1.0)
    for attack in ("backdoor", "dominating", "membership"):
        assert "predictions" in reason_of(attack, stage)
    for attack in ("free-rider", "completion", "public-weights"):  # which ask for none
        assert score_of(attack, stage).value >= 0


@pytest.mark.slow
def test_a_deviation_leaves_the_data_alone() -> None:
    """Poisoned columns are a copy, and the next run is honest."""
    stage = stage_of("splitnn")
    score_of("backdoor", stage)
    score_of("dominating", stage)
    again = repeat(stage.cfg, stage.attacked)
    ours, theirs = again.passive[0].net.state_dict(), stage.run.passive[0].net.state_dict()
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)


def test_poisoned_rows_get_a_target_rows_gradient() -> None:
    replace = Replacement(np.array([3], np.int32), np.array([1, 2], np.int32))
    numbers = torch.tensor([[1.0, 1.0], [2.0, 2.0], [5.0, 7.0]])
    rows = torch.tensor([0, 1, 2])
    assert torch.equal(replace(rows, numbers), numbers)  # no target row was seen yet
    changed = replace(torch.tensor([0, 1, 3]), numbers)
    assert torch.equal(changed[[0, 2]], numbers[[0, 2]])
    assert torch.equal(changed[1], GAMMA * numbers[2])


def test_a_trigger_moves_the_numbers_that_vary_most() -> None:
    E = torch.tensor([[0.0, 0.0, 0.0, 5.0], [1.0, 2.0, 2.0, 5.0]])
    moved = Trigger(np.array([7], np.int32))(torch.tensor([7, 8]), E) - E
    assert (moved[0, :2] > 0).all()
    assert moved[0, 2] == -moved[0, 1]
    assert moved[0, 3] == 0 == moved[1].abs().max()  # the constant number, and the other row


def test_a_trigger_covers_a_part_of_the_columns() -> None:
    columns = torch.zeros(2, 1, 2, 4)
    assert (triggered(columns) != 0).sum(dim=(1, 2, 3)).tolist() == [2, 2]
    assert (columns == 0).all()
