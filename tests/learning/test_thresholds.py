"""Thresholds chosen by hand-made probabilities, and their rules."""

import math

import pytest
import torch

from vfl_flower.common.errors import ConfigError
from vfl_flower.config.evaluation.threshold import read_threshold
from vfl_flower.config.run_config import RunConfig
from vfl_flower.data.preprocessing.target import Target
from vfl_flower.learning.metrics.predictions import Predictions
from vfl_flower.learning.metrics.threshold import NO_ALARM, chosen_threshold

LIKELY = (0.1, 0.2, 0.3, 0.4, 0.6, 0.8)
HITS = (0, 0, 1, 0, 0, 1)


def chosen(text: str, hits: tuple[int, ...] = HITS, positive: int = 1) -> float | None:
    """Choose a threshold for six rows."""
    likely, y = torch.tensor(LIKELY, dtype=torch.float64), torch.tensor(hits)
    logits = torch.stack([1 - likely, likely], 1).log()
    if not positive:
        logits, y = logits.flip(1), 1 - y
    target = Target("binary", ("a", "b"), positive=positive)
    return chosen_threshold(read_threshold(text), Predictions(logits, y, target))


@pytest.mark.parametrize("positive", [0, 1])
@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("f1", 0.7),  # F1 from 0.8 on: 2/3; from 0.3 on: 2/3 too, with more alarms
        ("recall:0.5", 0.7),
        ("recall:0.9", 0.25),
        ("recall:1", 0.25),
        ("cost:1:1", 0.7),  # one missed; with 0.3, two false alarms
        ("cost:5:1", 0.25),
        ("cost:1:1000", 0.7),
    ],
)
def test_a_rule_chooses_by_hand(rule: str, expected: float, positive: int) -> None:
    """The threshold lies half-way between two rows."""
    assert chosen(rule, positive=positive) == pytest.approx(expected)


def test_no_alarm_may_be_the_cheapest() -> None:
    found = chosen("cost:1:10", (0, 0, 1, 0, 0, 0))
    assert found == NO_ALARM > 1


def test_rows_without_a_positive_one_choose_nothing() -> None:
    assert chosen("f1", (0,) * 6) is None


@pytest.mark.parametrize(
    "text", ["", "0", "1", "f2", "f1:2", "recall", "recall:0", "cost:1", "cost:1:0", "cost:inf:1"]
)
def test_other_rules_are_refused(text: str) -> None:
    with pytest.raises(ConfigError, match=r"threshold must be 0\.5"):
        RunConfig(threshold=text)


def test_a_class_is_predicted_from_the_threshold_on() -> None:
    likely = torch.tensor([0.29, 0.31])
    logits = torch.stack([likely, 1 - likely], 1).log()
    target = Target("binary", ("a", "b"), positive=0, threshold=0.3)
    assert target.decided(logits).tolist() == [1, 0]
    never = Target("binary", ("a", "b"), threshold=math.nextafter(1, 2))
    assert never.decided(torch.tensor([[0.0, 1e9]])).tolist() == [0]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"threshold": "f1", "validation": 0}, "threshold is f1, and validation is 0"),
        ({"threshold": "f1", "epochs": 0}, "threshold is f1, and epochs is 0"),
        ({"metric": "auc", "validation": 0}, "metric is auc, and validation is 0"),
        ({"metric": "log-loss", "stop_drop": 1.0}, "stop-drop is in percentage points"),
        ({"metric": "gini"}, "unknown metric 'gini'"),
    ],
)
def test_options_that_decide_nothing_are_refused(options: dict[str, object], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        RunConfig(**options)  # type: ignore[arg-type]
