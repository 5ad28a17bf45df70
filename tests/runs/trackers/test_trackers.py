"""Trackers have the run's options and metrics, each once, and nothing else."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.outcomes.attempts import Attempt
from vfl_flower.common.errors import Interrupted
from vfl_flower.config.run_config import RunConfig
from vfl_flower.runs.callback import shared_options

TINY = RunConfig(models="linear", epochs=2, batch_size=700, embedding_dim=4, baselines="off")
STEPS = 4


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return tmp_path / "private-folder" / "first"


def lines_of(run: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]


def trained_in_two_attempts(cfg: RunConfig, run: Path) -> dict[str, Any]:
    """Stop a run, resume it, and return its result."""
    with pytest.raises(Interrupted):
        Attempt(cfg, run).run(stop_at=3)
    Attempt(cfg, run).run()
    result: dict[str, Any] = json.loads((run / "result.json").read_text())
    return result


@pytest.mark.slow  # to import, and to make its database
def test_mlflow_has_options_evaluations_and_test_metrics(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mlflow = pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/mlflow.db")
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    monkeypatch.setenv("MLFLOW_EXPERIMENT_NAME", "digits in strips")
    cfg = TINY.changed(track="mlflow")
    result = trained_in_two_attempts(cfg, run)

    client = mlflow.MlflowClient()
    experiment = client.get_experiment_by_name("digits in strips")
    (found,) = client.search_runs([experiment.experiment_id])
    assert (found.info.run_name, found.info.status) == ("first", "FINISHED")
    assert found.data.params == {k: str(v) for k, v in shared_options(cfg).items()}
    for name in ("train_loss", "train_accuracy", "validation_loss", "validation_accuracy"):
        history = client.get_metric_history(found.info.run_id, f"{name}/party-2")
        assert [(m.step, m.value) for m in history] == [
            (line["step"], line[name]["party-2"]) for line in lines_of(run)
        ]
    sent = client.get_metric_history(found.info.run_id, "traffic/bytes_up")
    assert [m.value for m in sent] == [line["bytes_up"] for line in lines_of(run)]
    final = found.data.metrics
    assert final["test_accuracy/active"] == result["test_accuracy"]["active"]
    assert final["total/bytes_down"] == result["bytes_down"]
    assert "private-folder" not in str(found.to_dictionary()["data"]["params"])


@pytest.mark.slow
def test_weights_and_biases_offline_has_the_metrics_and_no_path(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wandb = pytest.importorskip("wandb")
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_DATA_DIR", str(tmp_path / "wandb-data"))
    monkeypatch.setenv("WANDB_CACHE_DIR", str(tmp_path / "wandb-cache"))
    monkeypatch.setenv("WANDB_CONFIG_DIR", str(tmp_path / "wandb-config"))
    trained_in_two_attempts(TINY.changed(track="wandb", data_dir="/srv/private-data"), run)
    wandb.teardown()  # its service may still be writing
    number = json.loads((run / "wandb.json").read_text())["id"]
    # an attempt that starts within the same second as another has a number behind its name
    logs = sorted((run / "wandb").glob(f"offline-run-*-{number}*/run-{number}.wandb"))
    assert len(logs) == 2, "each attempt has its log"
    sent = b"".join(log.read_bytes() for log in logs)
    for line in lines_of(run):
        assert repr(line["validation_loss"]["party-2"]).encode() in sent
    assert b"embedding-dim" in sent
    assert b"test_accuracy/active" in sent
    for private in (b"/srv/private-data", b"private-folder", b"pytest"):
        assert private not in sent
