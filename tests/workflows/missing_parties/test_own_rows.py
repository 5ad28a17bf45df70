"""Data sets of which parties lack rows: runs and predictions."""

from pathlib import Path

import pytest

from tests.helpers.outcomes.commands import train
from vfl_flower.workflows.simulate import predict

FLAGS = ["--missing-parties=use", "--row-presence=0.8", "--epochs=1", "--models=mlp"]


@pytest.mark.slow
def test_a_run_with_baselines_predicts_its_own_rows(tmp_path: Path) -> None:
    run = tmp_path / "run"
    assert train([*FLAGS, "--subset-training=on", "--baselines=on", f"--out={run}"]) == 0
    for rows in ("test", "all"):
        made = predict(run, tmp_path / f"{rows}.csv", None, rows)
        assert made["rows"] > 0
    assert made["rows"] < 1797  # some rows have one party only
