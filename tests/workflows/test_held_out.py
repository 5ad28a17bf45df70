"""Runs without test rows, without validation rows, and without either."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vfl_flower as vfl
from vfl_flower.common.errors import ConfigError, DataError
from vfl_flower.config.run_config import RunConfig
from vfl_flower.data.splitting.rows import rows_of

QUICK: dict[str, Any] = {"method": "splitnn", "parties": 2, "epochs": 1, "train_rows": 0}


@pytest.fixture(scope="module")
def bare() -> vfl.Run:
    """Train on all rows."""
    return vfl.train("wine", **QUICK, test_share=0, validation=0)


@pytest.mark.parametrize(("test", "validation"), [(0, 0), (0, 0.1), (0.2, 0), (0.5, 0.5)])
def test_shares_are_those_that_were_asked_for(test: float, validation: float) -> None:
    rows = rows_of(RunConfig(dataset="wine", test_share=test, validation=validation), 1000)
    sizes = {name: len(each) for name, each in rows.items()}
    others = round(1000 * (1 - test))
    assert sizes["test"] == 1000 - others
    assert sizes["validation"] == round(others * validation)
    assert sorted(np.concatenate(list(rows.values()))) == list(range(1000))


def test_a_share_that_comes_to_no_row_is_refused() -> None:
    with pytest.raises(DataError, match="no rows are left for validation"):
        rows_of(RunConfig(dataset="wine", validation=0.001, batch_size=1), 100)


def test_test_rows_of_a_data_set_stay() -> None:
    with pytest.raises(DataError, match="mnist has test rows of its own"):
        rows_of(RunConfig(dataset="mnist", test_share=0), 70_000)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"validation": 0, "keep": "best"}, "keep is best, and validation is 0"),
        ({"validation": 0, "stop_drop": 1}, "stop-drop is 1, and validation is 0"),
        ({"test_share": 0, "baselines": "on"}, "baselines is on, and test-share is 0"),
        ({"validation": 0, "method": "adptvfedconv"}, "validation is 0, and adptvfedconv keeps"),
    ],
)
def test_options_that_need_held_out_rows_are_refused(options: dict[str, Any], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        RunConfig(**options)


def test_nothing_is_said_of_rows_that_were_not_held_out(bare: vfl.Run) -> None:
    result = bare.result
    assert (result["test_accuracy"], result["metrics"], bare.metrics) == ({}, {}, {})
    assert result["majority_share"] is None and result["baselines"] is None
    assert result["evaluation"]["exchanges"] == 0
    assert list(bare.history["epoch"]) == [1]
    assert not [name for name in bare.history if name.startswith("validation")]
    assert "Test rows" not in (bare.path / "active" / "model" / "card.md").read_text()


def test_all_rows_can_be_predicted_and_no_others(bare: vfl.Run) -> None:
    assert len(bare.predict(rows="all")) == 178
    with pytest.raises(ConfigError, match="rows is test, and the run held no such rows out"):
        bare.predict()


@pytest.mark.slow
def test_reports_do_without_held_out_rows(
    bare: vfl.Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = bare.report(tmp_path / "page.html").read_text()
    assert "train loss" in page or "<img" in page
    assert "Test accuracy of each party" not in page
    assert bare.plot().axes[1].lines and not bare.plot().axes[0].lines
    blind = vfl.train("wine", **QUICK | {"method": "vimadmm"}, test_share=0)
    with pytest.raises(DataError, match="no test rows, on which noise explains heads"):
        blind.explain(noise=1)
    assert "norm" not in blind.explain(repeats=1)
    assert capsys.readouterr().out == ""


def test_the_best_weights_are_chosen_on_validation_rows_alone() -> None:
    run = vfl.train("wine", **QUICK, test_share=0, validation=0.2, keep="best")
    assert run.result["validation_accuracy"]["active"] > 0 and run.metrics == {}


def test_progress_shows_a_dash(capsys: pytest.CaptureFixture[str]) -> None:
    vfl.train("wine", **QUICK, test_share=0, validation=0, progress=True)
    assert "validation -" in capsys.readouterr().out
