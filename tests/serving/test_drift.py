"""Drift of inputs in a service, in the log of each party."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from tests.helpers.connections.services import calling, service_of
from tests.helpers.outcomes.commands import train
from tests.helpers.own_data.own import TINY, write
from vfl_flower.common.layout import RANGES, model_of
from vfl_flower.common.names import party_name
from vfl_flower.config.run_config import RunConfig
from vfl_flower.data.published_data import PublishedData
from vfl_flower.parties import input_drift
from vfl_flower.workflows.local.predict import predict_rows

ROWS = 120
SETTINGS = TINY | {"method": "splitnn", "batch_size": 32}


def tables_of(folder: Path, numbers: list[float], towns: list[str]) -> str:
    """Write three tables with an age, one with a town."""
    folder.mkdir()
    paths = []
    for rank in range(3):
        rows: list[list[object]] = [
            [f"id-{n:03d}", age, *([towns[n]] if rank == 2 else [])]
            for n, age in enumerate(numbers)
        ]
        head = ["id", "age", *(["town"] if rank == 2 else [])]
        if rank == 0:
            rows = [[*row, "ab"[n % 2]] for n, row in enumerate(rows)]
            head.append("y")
        paths.append(write(folder, rank, rows, head, label="" if rank else "y"))
    return ",".join(map(str, paths))


def trained(root: Path) -> Path:
    """Train on ages from 20 to 69 and towns x and y."""
    root.mkdir(exist_ok=True)
    ages = [20.0 + n % 50 for n in range(ROWS)]
    tables = tables_of(root / "tables", ages, ["xy"[n % 2] for n in range(ROWS)])
    flags = [f"--{key.replace('_', '-')}={value}" for key, value in SETTINGS.items()]
    assert train([*flags, f"--tables={tables}", f"--out={root / 'run'}", "--baselines=off"]) == 0
    return root / "run"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trained(tmp_path_factory.mktemp("drift"))


def test_strange_inputs_are_counted_by_each_party(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    monkeypatch.setattr(input_drift, "EVERY", 10)
    ages = [500.0, 1.0, *[30.0] * 8, *[40.0] * 10]
    new = tables_of(tmp_path / "new", ages, ["z"] * 3 + ["x"] * 17)
    with calling(service_of(run, tmp_path, new)) as caller:
        caller.predictions([f"id-{n:03d}" for n in range(9)])
        told = [r.getMessage() for r in caplog.records if "scored rows" in r.getMessage()]
        assert not told
        caller.predictions(["id-009"])
        caller.predictions([f"id-{n:03d}" for n in range(10, 20)])
    for rank in range(3):
        of = [r.getMessage() for r in caplog.records if r.name.endswith(party_name(rank))]
        first, second = (line for line in of if "scored rows" in line)
        age = "2 have age outside the training rows' range"
        town = "; 3 have town of a category that no training row had" if rank == 2 else ""
        assert first == f"of the last 10 scored rows {age}{town}"
        assert second.endswith("none has a number or category unlike those of training")
    own = (run / "party-1" / "log.txt").read_text()
    assert "age outside" in own
    assert "town" not in own


def test_training_rows_are_in_their_range(run: Path) -> None:
    ranges = input_drift.InputRanges.load(model_of(run / "party-1") / RANGES)
    assert ranges.names == ("age",)
    assert ranges.low < ranges.high


def test_missing_numbers_are_in_every_range() -> None:
    data = PublishedData(RunConfig(dataset="wine", parties=4)).party(1)
    x = data.numbers.clone()
    x[::3, 0], x[:, 1] = torch.nan, torch.nan
    ranges = input_drift.InputRanges.of(replace(data, x=x))
    assert ranges
    assert not ranges.outside(x[data.rows["train"]]).any()
    new = torch.zeros(2, x.shape[1])
    new[0, 0], new[0, 1] = 1e9, torch.nan
    assert ranges.outside(new)[:, :2].tolist() == [[True, False], [False, True]]


def test_a_prediction_of_a_file_counts_nothing(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    monkeypatch.setattr(input_drift, "EVERY", 10)
    assert predict_rows(run, "all", tmp_path / "said.csv").rows == ROWS
    assert "scored rows" not in caplog.text


def test_a_model_of_an_earlier_version_has_no_ranges(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Its categories are counted, and its numbers are not."""
    caplog.set_level("INFO")
    with monkeypatch.context() as patch:
        patch.setattr(input_drift.InputRanges, "of", lambda data: None)
        earlier = trained(tmp_path / "root")
    monkeypatch.setattr(input_drift, "EVERY", 3)
    new = tables_of(tmp_path / "new", [500.0, 1.0, 2.0], ["z"] * 3)
    with calling(service_of(earlier, tmp_path, new)) as caller:
        caller.predictions([f"id-{n:03d}" for n in range(3)])
    assert "of the last 3 scored rows 3 have town of a category" in caplog.text
    assert "outside" not in caplog.text
