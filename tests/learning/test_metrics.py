"""AUC, F1 and confusion matrix against values computed by hand."""

import json
import statistics
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.helpers.outcomes.commands import report
from tests.helpers.outcomes.commands import train as run
from tests.helpers.outcomes.edits import values_of
from tests.helpers.own_data.tables import write_fraud
from vfl_flower.data.preprocessing.target import Target
from vfl_flower.learning.metrics.judge import majority_share, metrics_of
from vfl_flower.learning.metrics.predictions import Predictions
from vfl_flower.runs.results import fit_together, warnings_of

TWO, THREE = Target("binary", ("a", "b")), Target("multi-class", ("a", "b", "c"))
PARTIES = ["active", "party-1", "party-2", "party-3"]


def judged(output: Tensor, y: Tensor, target: Target) -> dict[str, Any]:
    """Return all metrics of predictions."""
    return metrics_of(Predictions(output, y, target))


def two(*scores: float) -> Tensor:
    """Return two-class logits whose difference is the positive class's score."""
    return torch.tensor([[-score / 2, score / 2] for score in scores])


# By hand ------------------------------------------------------------------------------------------


def test_two_classes_by_hand() -> None:
    """By hand: AUC 4/6; recall 2/3 with one false positive."""
    logits, y = two(-2, 1, 0.5, 2, -1), torch.tensor([0, 0, 1, 1, 1])
    found = judged(logits, y, TWO)
    ahead = sum(a > b for a in (0.5, 2, -1) for b in (-2, 1))
    assert ahead == 4
    assert found["auc"] == pytest.approx(ahead / 6)
    assert found["f1"] == pytest.approx(2 * 2 / (2 * 2 + 1 + 1))
    assert found["class_accuracy_std"] == pytest.approx((2 / 3 - 1 / 2) / 2)
    assert found["class_recall"] == pytest.approx([1 / 2, 2 / 3])
    assert found["class_precision"] == pytest.approx([1 / 2, 2 / 3])
    assert found["confusion"] == [[1, 1], [1, 2]]


def test_the_positive_class_by_hand() -> None:
    """By hand, of class a: one found of three, two false."""
    likely = torch.tensor([0.85, 0.75, 0.55, 0.35, 0.15], dtype=torch.float64)
    logits, y = torch.stack([likely, 1 - likely], 1).log(), torch.tensor([1, 1, 0, 0, 0])
    found = judged(logits, y, replace(TWO, positive=0))
    assert found["confusion"] == [[1, 2], [2, 0]]
    assert (found["precision"], found["recall"]) == (pytest.approx(1 / 3), pytest.approx(1 / 3))
    assert found["average_precision"] == pytest.approx((1 / 3 + 2 / 4 + 3 / 5) / 3)
    assert found["auc"] == 0
    hits = (y == 0).double()
    assert found["brier"] == pytest.approx((likely - hits).square().mean().item())
    assert found["calibration_error"] == pytest.approx((likely - hits).abs().mean().item())
    truth = torch.where(y == 0, likely, 1 - likely)
    assert found["log_loss"] == pytest.approx(-truth.log().mean().item())
    assert found["balanced_accuracy"] == pytest.approx((1 / 3 + 0) / 2)


def test_rows_of_one_bin_are_calibrated_together() -> None:
    """By hand: two rows in one bin, of which one is positive."""
    likely = torch.tensor([0.22, 0.28, 0.95], dtype=torch.float64)
    logits = torch.stack([1 - likely, likely], 1).log()
    found = judged(logits, torch.tensor([1, 0, 1]), TWO)
    assert found["calibration_error"] == pytest.approx((2 * 0.25 + 1 * 0.05) / 3)


def test_a_regression_by_hand() -> None:
    """By hand: errors 1, 0, -1, 2, variance 5/4, unit 10."""
    y = torch.tensor([0.0, 1, 2, 3])
    numbers = Target("regression", (), mean=1000, deviation=10)
    found = judged(torch.tensor([[1.0], [1], [1], [5]]), y, numbers)
    assert found == {
        "mse": pytest.approx(100 * 6 / 4),
        "rmse": pytest.approx(10 * (6 / 4) ** 0.5),
        "mae": pytest.approx(10 * 4 / 4),
        "r2": pytest.approx(1 - (6 / 4) / (5 / 4)),
    }
    assert judged(y[:, None], y, numbers) == {"mse": 0, "rmse": 0, "mae": 0, "r2": 1}
    assert judged(y[:, None], torch.ones(4), numbers)["r2"] is None
    lost = judged(torch.full((4, 1), float("nan")), y, numbers)
    assert set(lost.values()) == {None}


def test_three_classes_by_hand() -> None:
    """One against the rest, then the macro average: F1 1, 2/3, 0."""
    p = torch.tensor([[0.8, 0.1, 0.1], [0.1, 0.5, 0.4], [0.2, 0.6, 0.2], [0.6, 0.3, 0.1]])
    found = judged(p.log(), torch.tensor([0, 1, 2, 0]), THREE)
    assert found["confusion"] == [[2, 0, 0], [0, 1, 0], [0, 1, 0]]
    assert found["f1"] == pytest.approx((1 + 2 / 3 + 0) / 3)
    assert found["class_accuracy_std"] == pytest.approx(2**0.5 / 3)  # of 1, 1 and 0
    assert found["class_recall"] == [1, 1, 0]
    assert found["class_precision"] == [1, 0.5, None]  # nothing is predicted as class 2
    assert found["class_precision_std"] is None
    # class 0: 4 of 4 pairs; class 1: 0.5 is above 0.1 and 0.3; class 2: 0.2 is above twice 0.1
    assert found["auc"] == pytest.approx((1 + 2 / 3 + 2 / 3) / 3)


def test_deviations_over_classes_by_hand() -> None:
    """By hand: precisions 1, 2/3, 1/2, and recalls 1/3, 1, 1."""
    decided, y = torch.tensor([0, 1, 1, 1, 2, 2]), torch.tensor([0, 0, 1, 1, 2, 0])
    found = judged(torch.eye(3)[decided], y, THREE)
    assert found["confusion"] == [[1, 1, 1], [0, 2, 0], [0, 0, 1]]
    assert found["class_precision"] == pytest.approx([1, 2 / 3, 1 / 2])
    assert found["class_recall"] == pytest.approx([1 / 3, 1, 1])
    assert found["class_precision_std"] == pytest.approx(statistics.pstdev([1, 2 / 3, 1 / 2]))
    assert found["class_accuracy_std"] == pytest.approx(statistics.pstdev([1 / 3, 1, 1]))


def test_probabilities_that_round_to_one_still_tell_rows_apart() -> None:
    logits, y = two(100, 90, 80, 70).double(), torch.tensor([1, 1, 0, 0])
    assert torch.softmax(logits, 1)[:, 1].unique().tolist() == [1]
    assert judged(logits, y, TWO)["auc"] == 1


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("label", [0, 1])
def test_what_is_not_defined_is_none(classes: int, label: int) -> None:
    """One class among the rows: no AUC, F1 of that class."""
    logits, y = torch.eye(classes)[[0, 1]], torch.tensor([label, label])
    found = judged(logits, y, {2: TWO, 3: THREE}[classes])
    assert found["auc"] is None
    assert found["class_accuracy_std"] is None
    assert 0 <= found["f1"] < 1
    assert [sum(row) for row in found["confusion"]] == [2 * (c == label) for c in range(classes)]


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_logits_that_are_not_finite_have_no_auc(bad: float) -> None:
    found = judged(two(-1, 1, bad), torch.tensor([0, 1, 1]), TWO)
    assert found["auc"] is None
    assert sum(map(sum, found["confusion"])) == 3


def test_majority_share_by_hand() -> None:
    assert majority_share(torch.tensor([2, 0, 2, 1, 2, 1, 2, 2])) == 5 / 8


def test_a_party_near_the_most_frequent_class_is_named() -> None:
    accuracies = {"active": 0.905, "party-1": 0.92, "party-2": 0.5}
    result = {"task": "binary", "majority_share": 0.9, "test_accuracy": accuracies, "steps": 1}
    told = warnings_of(result)
    assert [text.split()[0] for text in told] == ["active", "party-2"]
    assert "near the share of the most frequent class (90.00%)" in told[0]


# In results ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def seeds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Train two seeds on a table without information: 4/5 of class 0."""
    root = tmp_path_factory.mktemp("metrics")
    write_fraud(root, 400)
    flags = ["--dataset", "credit-card-fraud", "--data-dir", str(root), "--epochs", "1"]
    flags += ["--learning-rates", "1e-9", "--optimizers", "sgd", "--baselines", "on"]
    assert run([*flags, "--seeds", "2", "--out", str(root / "run")]) == 0
    return root / "run"


def result_of(path: Path) -> dict[str, Any]:
    return values_of(path / "result.json")


@pytest.mark.slow
def test_a_result_has_metrics_of_every_party(seeds: Path) -> None:
    result = result_of(seeds / "seed-0")
    assert list(result["metrics"]) == PARTIES
    assert result["classes"] == ["0", "1"]
    for name, each in result["metrics"].items():
        (tn, fp), (fn, tp) = each["confusion"]
        assert tn + fp + fn + tp == 80
        assert (tn + tp) / 80 == pytest.approx(result["test_accuracy"][name])
        assert max(tn + fp, fn + tp) / 80 == pytest.approx(result["majority_share"])
        assert each["f1"] == pytest.approx(2 * tp / (2 * tp + fp + fn) if tp else 0)
        assert 0 <= each["auc"] <= 1
    rows = [line.strip() for line in (seeds / "seed-0" / "result.json").read_text().split("\n")]
    assert str(result["metrics"]["active"]["confusion"][0]) + "," in rows  # a row a line


@pytest.mark.slow
def test_seeds_are_summed_up(seeds: Path) -> None:
    a, b = (result_of(seeds / f"seed-{n}") for n in (0, 1))
    summary = result_of(seeds)
    for name in PARTIES:
        for key in ("auc", "f1", "class_accuracy_std"):
            both = [each["metrics"][name][key] for each in (a, b)]
            assert summary["metrics"][name][key]["mean"] == pytest.approx(sum(both) / 2)
            spread = abs(both[0] - both[1]) / 2**0.5
            assert summary["metrics"][name][key]["std"] == pytest.approx(spread)


def test_a_table_prints_scores_confusion_and_warnings(
    seeds: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = result_of(seeds / "seed-0")
    assert run(["--resume", str(seeds / "seed-0")]) == 0
    lines = capsys.readouterr().out.splitlines()
    active = next(line for line in lines if line.startswith("│ active"))
    for key in ("auc", "f1"):
        assert f" {result['metrics']['active'][key]:.4f} " in active
    assert any("by the active party's prediction" in line for line in lines)
    row = result["metrics"]["active"]["confusion"][1]
    assert any(line.replace("│", " ").split() == ["1", *map(str, row)] for line in lines)
    told = [line for line in lines if line.startswith("warning: ")]
    assert told == [f"warning: {text}" for text in warnings_of(result)]
    assert told


def test_seeds_are_printed_with_their_spread(
    seeds: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["--resume", str(seeds)]) == 0
    spread = result_of(seeds)["metrics"]["party-3"]["auc"]
    lines = capsys.readouterr().out.splitlines()
    shown = [line for line in lines if f"{spread['mean']:.4f} ± {spread['std']:.4f}" in line]
    assert any(line.startswith("│ party-3") for line in shown)


@pytest.mark.slow
def test_a_report_shows_them(seeds: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert report([str(seeds), "--page", str(page)]) == 0
    text = " ".join(page.read_text().split())
    spread = result_of(seeds)["metrics"]["party-3"]["auc"]
    assert f"{spread['mean']:.4f} ± {spread['std']:.4f}" in text
    fairness = result_of(seeds)["metrics"]["party-3"]["class_accuracy_std"]
    assert f"{fairness['mean']:.2%} ± {fairness['std']:.2%}</td></tr>" in text
    result = result_of(seeds / "seed-0")
    cells = "".join(f'<td class="n">{n}</td>' for n in result["metrics"]["active"]["confusion"][0])
    assert f'<tr><th scope="row">0</th>{cells}</tr>' in text
    for n in (0, 1):
        for told in warnings_of(result_of(seeds / f"seed-{n}")):
            assert f"seed {n}: {told}" in text


def test_images_print_no_confusion(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flags = ["--models", "mlp", "--epochs", "1", "--baselines", "off", "--parties", "3"]
    assert run([*flags, "--out", str(tmp_path / "run")]) == 0
    shown = capsys.readouterr().out
    assert " AUC " in shown
    assert "prediction" not in shown
    confusion = result_of(tmp_path / "run")["metrics"]["party-2"]["confusion"]
    assert [len(row) for row in confusion] == [10] * 10


def test_metrics_of_other_parties_or_classes_are_told(
    seeds: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = result_of(seeds / "seed-0")
    assert fit_together(good)
    (tmp_path / "config.toml").write_bytes((seeds / "seed-0" / "config.toml").read_bytes())
    fewer = {name: each for name, each in good["metrics"].items() if name != "party-2"}
    ragged = good["metrics"] | {"party-2": good["metrics"]["party-2"] | {"confusion": [[1, 2]]}}
    wrong = [{"metrics": fewer}, {"metrics": ragged}, {"classes": ["0"]}, {"majority_share": None}]
    for each in wrong:
        (tmp_path / "result.json").write_text(json.dumps(good | each))
        assert run(["--resume", str(tmp_path)]) == 2
        assert "result.json is damaged" in capsys.readouterr().err
