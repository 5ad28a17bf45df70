"""Labels beside predictions, and rows that some party lacks."""

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from tests.helpers.outcomes.commands import predict as run
from tests.helpers.outcomes.commands import train
from tests.helpers.own_data.own import BUNCH, X, Y, flags, header, held, make, result_of, write
from tests.helpers.own_data.own_predictions import Finished, new_tables, read, some

LABELS = [str(BUNCH.target_names[each]) for each in Y]


def labelled(folder: Path, *rows: np.ndarray, y: list[object]) -> str:
    """Write new tables, the active party's with labels."""
    tables = new_tables(folder, *rows)
    write(folder, 0, held(0, rows[0], y), header(0, "outcome"), label="outcome")
    return tables


def test_the_truth_and_missing_rows_stand_beside_predictions(
    finished: Finished, tmp_path: Path
) -> None:
    """Classes that no training row had are a truth, too."""
    folder, rows = finished("--method=splitnn"), [some(1), some(2, 200), some(3, 200)]
    y = [*LABELS]
    y[rows[0][0]] = "unknown"
    new = labelled(tmp_path, *rows, y=[*y])
    flags = [str(folder), f"--tables={new}", "--truth"]
    assert run([*flags, f"--out={tmp_path / 'said.csv'}"]) == 0
    assert run([*flags, "--keep-missing", f"--out={tmp_path / 'all.csv'}"]) == 0
    head, said = read(tmp_path / "said.csv")
    assert head == ["id", "prediction", "probability_benign", "probability_malignant", "truth"]
    every = read(tmp_path / "all.csv")[1]
    assert [[each[0], each[-1]] for each in every] == [[f"id-{n:03d}", y[n]] for n in rows[0]]
    missing = {each for each, _ in read(tmp_path / "all.missing.csv")[1]}
    assert 0 < len(missing) < 40
    assert [each for each in every if each[0] not in missing] == said
    assert all(each[1:-1] == ["", "", ""] for each in every if each[0] in missing)


@pytest.mark.parametrize("rows", ["test", "all"])
def test_the_truth_of_a_runs_own_rows_gives_its_accuracy(
    rows: str, finished: Finished, tmp_path: Path
) -> None:
    folder, out = finished("--method=splitnn"), tmp_path / "said.csv"
    assert run([str(folder), f"--rows={rows}", "--truth", f"--out={out}"]) == 0
    lines = read(out)[1]
    assert all(line[-1] == LABELS[int(line[0][3:])] for line in lines)
    if rows == "test":
        accuracy = np.mean([line[1] == line[-1] for line in lines])
        assert (
            accuracy == json.loads((folder / "result.json").read_text())["test_accuracy"]["active"]
        )


def test_numbers_of_a_data_set_have_a_truth(tmp_path: Path) -> None:
    tiny = ["--method=splitnn", "--dataset=wine", "--parties=2", "--epochs=1", "--baselines=off"]
    assert train([*tiny, "--batch-size=32", f"--out={tmp_path / 'run'}"]) == 0
    out = tmp_path / "said.csv"
    assert run([str(tmp_path / "run"), "--rows=test", "--truth", f"--out={out}"]) == 0
    lines = read(out)[1]
    accuracy = np.mean([line[1] == line[-1] for line in lines])
    assert accuracy == result_of(tmp_path / "run")["test_accuracy"]["active"]


def test_numbers_are_the_files(tmp_path: Path) -> None:
    """They are not standardised and restored."""
    y = (1e6 + X[:, 3] / 3).tolist()
    tables = make(tmp_path / "numbers", y)
    assert train(flags(tables, tmp_path / "run", "--method=splitnn", "--epochs=1")) == 0
    rows, out = some(5), tmp_path / "said.parquet"
    new = labelled(tmp_path / "new", rows, rows, rows, y=y)
    assert run([str(tmp_path / "run"), f"--tables={new}", "--truth", f"--out={out}"]) == 0
    assert pq.read_table(out)["truth"].to_pylist() == [y[row] for row in rows]


def test_a_truth_that_is_not_there_is_refused(
    finished: Finished, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, rows, out = finished("--method=splitnn"), some(9), tmp_path / "out" / "said.csv"
    new = new_tables(tmp_path, rows, rows, rows)
    asked = [str(folder), f"--out={out}", "--truth"]
    for label, told in (("", "names no label, and truth"), ("outcome", "no labels in 'outcome'")):
        write(tmp_path, 0, held(0, rows), header(0), label=label)
        assert run([*asked, f"--tables={new}"]) == 2
        assert told in " ".join(capsys.readouterr().err.split())
    assert run([str(folder), f"--out={out}", "--keep-missing"]) == 2
    assert "--keep-missing is of new rows" in capsys.readouterr().err
    assert not out.parent.exists()
