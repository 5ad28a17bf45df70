"""Training accuracy of every evaluation, from the predictions of steps."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from tests.helpers.contract import CASES, IN_TURNS, configured, finished, used
from tests.helpers.formulas import K
from tests.helpers.outcomes.attempts import Attempt
from tests.helpers.outcomes.commands import train as run
from tests.helpers.own_data.own import X, flags, make, result_of
from vfl_flower.common.errors import Interrupted, RunError
from vfl_flower.config.run_config import RunConfig
from vfl_flower.parties.active import ActiveParty
from vfl_flower.runs.metrics_file import read_metrics
from vfl_flower.runs.results import under_present_names
from vfl_flower.runs.trackers.numbers import numbers_of
from vfl_flower.transport.endpoint import Endpoint
from vfl_flower.transport.local import serve
from vfl_flower.workflows.build_parties import build_active, build_passive

OTHER_OUTPUTS = {*IN_TURNS, "adptvfedconv"}
"""Cases whose outputs in a step are not those of an evaluation: older embeddings, dropout."""


def trained(cfg: RunConfig) -> ActiveParty:
    active = build_active(cfg)
    serve(active, [Endpoint(build_passive(cfg, k)) for k in range(1, cfg.parties)])
    return active


@pytest.mark.parametrize("method", [case for case in CASES if case not in OTHER_OUTPUTS])
def test_it_is_the_accuracy_of_the_weights_before_a_step(method: str) -> None:
    """Training rows are one batch, and the validation rows."""
    cfg = configured(method)
    batch = {"batch_size": len(build_active(cfg).rows["train"]), "schedule": "constant"}
    cfg = replace(cfg, **used(method, batch))
    active, parties = build_active(cfg), [build_passive(cfg, k) for k in range(1, K + 1)]
    active.rows["validation"] = active.rows["train"]
    for party in parties:
        assert party.plan is not None
        party.plan.any_row = True
        party.data.rows["validation"] = party.data.rows["train"]
    serve(active, [Endpoint(party) for party in parties])
    first, second = active.progress.records
    assert second.train_accuracy == first.validation_accuracy
    assert second.train_accuracy != first.train_accuracy


def test_rows_count_once_since_the_last_evaluation() -> None:
    """Rows of a short last batch count like others."""
    active = finished("easter", "local").active
    rows = len(active.rows["train"])
    for each in active.progress.records:
        for share in each.train_accuracy.values():
            assert share * rows == pytest.approx(round(share * rows), abs=1e-6)


@pytest.mark.parametrize("method", ["fedbcd", "c_vfl as published"])
def test_work_of_the_step_before_does_not_count(method: str) -> None:
    """Local steps run with the next exchange, on the batch before.

    At a rate of nearly 0 outputs stay as they are, so all epochs have the same accuracy.
    """
    cfg = replace(configured(method), learning_rates="1e-12", epochs=3)
    first, *others = [each.train_accuracy for each in trained(cfg).progress.records]
    assert others == [first, first]


def test_labels_are_the_true_ones_under_label_privacy() -> None:
    """True labels are predicted more often than noisy ones are true."""
    cfg = replace(configured("splitnn"), epochs=6, learning_rates="0.01")
    active = trained(replace(cfg, label_privacy="randomized-response", label_epsilon=2.0))
    rows = torch.from_numpy(active.rows["train"])
    true = active.training_labels.labels[rows].argmax(1) == active.y[rows]
    assert active.progress.records[-1].train_accuracy["active"] > true.float().mean() + 0.1


def test_only_classes_have_it(tmp_path: Path) -> None:
    numbers = make(tmp_path / "tables", [float(each) for each in X[:, 0]])
    assert run(flags(numbers, tmp_path / "run", "--method=splitnn")) == 0
    assert all(each.train_accuracy == {} for each in read_metrics(tmp_path / "run"))
    assert "train_accuracy" not in (tmp_path / "run/metrics.jsonl").read_text()
    assert result_of(tmp_path / "run")["train_accuracy"] == {}


def test_a_number_set_as_threshold_decides() -> None:
    """At nearly any probability the positive class is predicted."""
    active = trained(replace(configured("splitnn"), dataset="breast-cancer", threshold="1e-30"))
    positive = active.y[torch.from_numpy(active.rows["train"])] == active.target.positive
    for each in active.progress.records:
        assert each.train_accuracy["active"] == pytest.approx(positive.float().mean().item())


@pytest.mark.slow
def test_a_stopped_run_counts_all_rows_since_the_last_evaluation(tmp_path: Path) -> None:
    cfg = configured("easter")
    whole, stopped = Attempt(cfg, tmp_path / "whole"), tmp_path / "stopped"
    whole.run()
    with pytest.raises(Interrupted):
        Attempt(cfg, stopped).run(stop_at=whole.active.progress.records[0].step + 3)
    again = Attempt(cfg, stopped)
    again.run()
    ours, theirs = (each.active.progress.records for each in (again, whole))
    assert [each.train_accuracy for each in ours] == [each.train_accuracy for each in theirs]
    result = result_of(stopped)
    assert result["train_accuracy"] == theirs[-1].train_accuracy


def test_earlier_runs_have_none_and_damage_is_refused(tmp_path: Path) -> None:
    evaluation, _ = finished("easter", "local").active.progress.records
    line = evaluation.as_dict()
    names = {f"train_accuracy/{name}" for name in evaluation.train_loss}
    assert names <= set(numbers_of(evaluation))
    for content in (dict[str, object](), {"train_accuracy": line["train_accuracy"]}):
        earlier = {key: each for key, each in line.items() if key != "train_accuracy"} | content
        (tmp_path / "metrics.jsonl").write_text(json.dumps(earlier) + "\n")
        (found,) = read_metrics(tmp_path)
        assert found.train_accuracy == content.get("train_accuracy", {})
    (tmp_path / "metrics.jsonl").write_text(json.dumps(line | {"train_accuracy": [1]}) + "\n")
    with pytest.raises(RunError, match="damaged"):
        read_metrics(tmp_path)
    assert under_present_names({"task": "binary"})["train_accuracy"] == {}
