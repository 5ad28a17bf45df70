"""``stop-drop`` ends training, ``keep = best`` lets the best weights count."""

import json
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load_file

from tests.helpers.connections.sessions import kill, nodes
from tests.helpers.connections.streams import FakeGrid, run_stream
from tests.helpers.contract import Weights, carry, differing, passive_parties
from tests.helpers.outcomes.attempts import Attempt
from tests.helpers.outcomes.commands import report
from tests.helpers.outcomes.commands import train as run
from vfl_flower.common.errors import Interrupted
from vfl_flower.config.run_config import RunConfig
from vfl_flower.parties.active import ActiveParty
from vfl_flower.parties.persistence.model_folder import EXTRA
from vfl_flower.parties.progress import Progress
from vfl_flower.protocol.observer import Evaluation, Observer
from vfl_flower.transport.local import run_local
from vfl_flower.transport.stream import session_opener as opening
from vfl_flower.workflows.baselines import baselines_of
from vfl_flower.workflows.build_parties import build_active, build_passive

RESTLESS = RunConfig(
    method="splitnn",
    models="mlp",
    embedding_dim=16,
    batch_size=100,
    epochs=3,
    eval_every=2,
    learning_rates="0.05",
    baselines="off",
)
"""Steps too long to settle: the accuracy falls now and then."""

METHODS: dict[str, dict[str, Any]] = {
    "splitnn": {},
    "easter": {"epochs": 4},
    "agg_vfl": {"active_columns": "none"},
    "pravfed": {"label_privacy": "none", "local_epochs": 2, "epochs": 5},
    "local": {},
}
NAMES = ("active", "party-1", "party-2", "party-3")


class Snapshots(Observer):
    """Keeps all parties' weights at each evaluation."""

    def __init__(self, weights: Callable[[], Weights]) -> None:
        self.weights, self.taken = weights, list[tuple[Evaluation, Weights]]()

    def on_evaluation(self, evaluation: Evaluation) -> None:
        copied = [{name: each.clone() for name, each in net.items()} for net in self.weights()]
        self.taken.append((evaluation, copied))


def configured(method: str, **options: Any) -> RunConfig:
    return replace(RESTLESS, method=method, **METHODS[method] | options)


@cache
def free(method: str) -> list[tuple[Evaluation, Weights]]:
    """Train with neither option; return evaluations and their weights."""
    cfg = configured(method)
    active, passive = build_active(cfg), [build_passive(cfg, k) for k in range(1, 4)]
    watch = Snapshots(lambda: [each.net.state_dict() for each in (active, *passive)])
    active.observer = watch
    run_local(active, passive)
    return watch.taken


def accuracy(evaluation: Evaluation) -> float:
    values = evaluation.validation_accuracy.values()
    return sum(values) / len(values)


def best(taken: list[tuple[Evaluation, Weights]]) -> tuple[Evaluation, Weights]:
    """Return the first of those with the highest accuracy."""
    top = max(accuracy(evaluation) for evaluation, _ in taken)
    return next(each for each in taken if accuracy(each[0]) == top)


def trained(cfg: RunConfig, carrier: str) -> tuple[ActiveParty, Weights]:
    active, parties = build_active(cfg), passive_parties(carrier, partial(build_passive, cfg))
    carry(carrier, active, parties.clients)
    return active, [active.net.state_dict(), *parties.weights()]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "carrier"),
    [
        *((method, "local") for method in METHODS),
        *(("splitnn", "amnesia"), ("pravfed", "amnesia"), ("easter", "stream")),
    ],
)
def test_the_best_weights_are_those_that_the_best_evaluation_saw(method: str, carrier: str) -> None:
    evaluation, weights = best(free(method))
    assert evaluation.step < free(method)[-1][0].step, "the last is the best: nothing is tested"
    active, ours = trained(configured(method, keep="best"), carrier)
    assert differing(ours, weights) == []
    assert active.progress.records[-1].step == free(method)[-1][0].step
    (last,) = {each.step for each in active.progress.records if each is active.progress.best}
    assert last == evaluation.step


@pytest.mark.parametrize("method", METHODS)
def test_training_ends_where_the_accuracy_has_fallen_by_more(method: str) -> None:
    evaluations = [evaluation for evaluation, _ in free(method)]
    seen = [accuracy(each) for each in evaluations]
    drops = [100 * (max(seen[: n + 1]) - each) for n, each in enumerate(seen)]
    points = sorted(drops)[-1] / 2
    assert points > 0
    end = next(n for n, drop in enumerate(drops) if drop > points)
    active, ours = trained(configured(method, stop_drop=points), "local")
    assert [each.step for each in active.progress.records] == [
        each.step for each in evaluations[: end + 1]
    ]
    assert active.progress.step == evaluations[end].step < evaluations[-1].step
    assert differing(ours, free(method)[end][1]) == []


def made(accuracies: list[float]) -> Progress:
    progress = Progress()
    for step, each in enumerate(accuracies):
        losses = {"active": 0.0}
        progress.add(
            Evaluation(step, 0, losses, losses, {"accuracy": {"active": each}}, 0.0, 0, 0, 0)
        )
    return progress


@given(st.lists(st.integers(0, 50), min_size=1), st.integers(1, 100))
def test_ties_keep_the_earlier_and_exactly_so_much_is_not_more(
    hits: list[int], points: int
) -> None:
    """Of 50 validation rows, accuracies are multiples of two points."""
    progress = made([each / 50 for each in hits])
    assert progress.best is not None
    assert progress.best.step == hits.index(max(hits))
    assert progress.fallen(float(points)) == (2 * (max(hits) - hits[-1]) > points)
    assert not progress.fallen(0.0)


# Interruptions ----------------------------------------------------------------------------------


def result_of(folder: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((folder / "result.json").read_text())
    return content


def assert_same(ours: Path, theirs: Path) -> None:
    for name in NAMES:
        a, b = (folder / name / "model/weights.safetensors" for folder in (ours, theirs))
        assert a.read_bytes() == b.read_bytes(), name
    results = [result_of(folder) for folder in (ours, theirs)]
    keys = ("test_accuracy", "validation_accuracy", "counting_step", "ended_by", "steps")
    for key in (*keys, "exchanges", "bytes_by_phase"):
        assert results[0][key] == results[1][key], key


@pytest.mark.slow
@pytest.mark.parametrize("method", ["easter", "pravfed", "local"])
def test_a_stopped_run_ends_like_one_that_was_not(method: str, tmp_path: Path) -> None:
    """Stopped at the best evaluation, and again once it is all trained."""
    evaluation, weights = best(free(method))
    cfg = configured(method, keep="best")
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    Attempt(cfg, whole).run()
    for moment in (evaluation.step, free(method)[-1][0].step):
        with pytest.raises(Interrupted):
            Attempt(cfg, stopped).run(stop_at=moment)
    Attempt(cfg, stopped).run()
    assert_same(stopped, whole)
    files = [load_file(whole / name / "model/weights.safetensors") for name in NAMES]
    saved = [{n: each for n, each in file.items() if not n.startswith(EXTRA)} for file in files]
    assert differing(saved, weights) == []
    assert result_of(whole)["counting_step"] == evaluation.step
    assert result_of(whole)["validation_accuracy"] == evaluation.validation_accuracy


def test_a_run_that_ended_early_is_complete_and_stays_ended(tmp_path: Path) -> None:
    cfg = configured("splitnn", keep="best", stop_drop=1.0, checkpoint_every=1)
    whole, again = tmp_path / "whole", tmp_path / "again"
    Attempt(cfg, whole).run()
    result = result_of(whole)
    assert result["ended_by"] == "stop-drop"
    assert result["counting_step"] < result["steps"] < free("splitnn")[-1][0].step
    with pytest.raises(Interrupted):
        Attempt(cfg, again).run(stop_at=result["steps"] - 1)
    Attempt(cfg, again).run()
    assert_same(again, whole)
    (again / "result.json").unlink()  # as if it had been killed before that was written
    Attempt(cfg, again).run()
    assert_same(again, whole)


@pytest.mark.slow
@pytest.mark.parametrize("moments", [(20,), (30, 45)])
def test_a_killed_party_has_its_best_weights_again(
    moments: tuple[int, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "POLL", 0.1)
    monkeypatch.setattr(opening, "AGAIN", 0.3)
    cfg = configured("splitnn", keep="best", run_name="one", party_randomness="public")
    left = kill(monkeypatch, moments, lambda: None)
    active, grid = build_active(cfg, tmp_path), FakeGrid(nodes(tmp_path, cfg))
    facts = run_stream(active, grid, "127.0.0.1:0", cfg.to_mapping())
    assert left == []
    assert facts["returns_to_a_checkpoint"] == len(moments)
    folders = [tmp_path / "active", *(tmp_path / f"node{k}/one/party-{k + 1}" for k in range(3))]
    saved = [load_file(folder / "model/weights.safetensors") for folder in folders]
    assert differing(saved, best(free("splitnn"))[1]) == []


# What is said -----------------------------------------------------------------------------------


@pytest.mark.slow
def test_it_is_said_on_the_screen_and_in_the_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    flags = ["--method", "splitnn", "--models", "mlp", "--embedding-dim", "16", "--batch-size"]
    flags += ["100", "--eval-every", "2", "--learning-rates", "0.05", "--baselines", "off"]
    assert run([*flags, "--stop-drop", "1", "--keep", "best", "--out", str(out)]) == 0
    result, told = result_of(out), capsys.readouterr().out
    assert report([str(out)]) == 0
    for text in (told, (out / "report.html").read_text()):
        assert f"training ended at step {result['steps']}: " in text
        assert f"the weights of step {result['counting_step']} count" in text


def test_nothing_is_said_where_all_is_as_always(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    assert (
        run(["--method", "splitnn", "--epochs", "1", "--baselines", "off", "--out", str(out)]) == 0
    )
    told = capsys.readouterr().out
    assert "training ended" not in told
    assert "count" not in told
    result = result_of(out)
    assert (result["ended_by"], result["counting_step"]) == ("epochs", result["steps"])


def test_bounds_end_and_keep_by_the_same_rule() -> None:
    """On the run's own terms, and in memory: bounds have no folder."""
    cfg = configured("splitnn", eval_every=0, epochs=8, keep="best")
    accuracies = baselines_of(build_active(cfg))
    alone = replace(cfg, method="local")
    active, _ = trained(alone, "local")
    assert active.progress.best is not active.progress.records[-1]
    assert accuracies["local"] == active.progress.test["score"]["active"]
