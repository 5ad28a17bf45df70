"""Predictions that are refused, and their privacy budget."""

import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from tests.helpers.outcomes.commands import predict as run
from tests.helpers.outcomes.commands import train
from tests.helpers.own_data.own import NAMES, SHARE, flags, header, held, write
from tests.helpers.own_data.own_predictions import Finished, Rows, new_tables, some
from vfl_flower.common.errors import PrivacyError
from vfl_flower.common.layout import ENCODER, TARGET
from vfl_flower.common.names import party_name
from vfl_flower.workflows.local.predict import predict_rows, predict_tables
from vfl_flower.workflows.local.watch import Watch


def stopped(
    folder: Path, tables: str, out: Path, capsys: pytest.CaptureFixture[str], *more: str
) -> str:
    """Check that a prediction fails and leaves nothing; return its error."""
    capsys.readouterr()
    assert run([str(folder), f"--tables={tables}", f"--out={out / 'said.csv'}", *more]) == 2
    assert not out.exists()
    err = capsys.readouterr().err
    assert err.startswith("error: ") and err.count("\n") == 1
    return err


Change = Callable[[Path, Rows], object]


def with_words(folder: Path, rows: Rows) -> None:
    lines = held(2, rows)
    for line in lines:
        line[1] = "many"
    write(folder, 2, lines, header(2))


BAD: dict[str, tuple[Change, str]] = {
    "a column that is missing": (
        lambda f, r: write(f, 1, [row[:-1] for row in held(1, r)], header(1)[:-1]),
        f"party-1: column {NAMES[2 * SHARE - 1]} was of type number at training, and is missing",
    ),
    "a column that was not there": (
        lambda f, r: write(f, 1, [[*row, 1] for row in held(1, r)], header(1, "more")),
        "party-1: column more, of type number, was not there at training",
    ),
    "a column of another type": (with_words, f"party-2: column {NAMES[2 * SHARE]} was of type"),
    "no id in common": (
        lambda f, r: write(f, 1, [[f"x{row[0]}", *row[1:]] for row in held(1, r)], header(1)),
        "the active party has 60 ids; party-1 has 60 and shares 0",
    ),
    "ids of another type": (
        lambda f, r: write(f, 1, [[n, *row[1:]] for n, row in enumerate(held(1, r))], header(1)),
        "party-1's ids are whole numbers and the active party's are text",
    ),
    "an id twice": (
        lambda f, r: write(f, 1, held(1, np.append(r, r[:1])), header(1)),
        "has ids twice, in 1 of 61 rows",
    ),
    "no id column": (
        lambda f, r: write(f, 1, held(1, r), ["name", *header(1)[1:]]),
        "has no column 'id'",
    ),
    "no file": (lambda f, r: (f / "1.csv").unlink(), "party-1: 1.csv cannot be read"),
    "a label at a passive party": (
        lambda f, r: write(f, 1, held(1, r), header(1), label=NAMES[SHARE]),
        "party-1: 1.toml names a label",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_tables_are_told_of_and_leave_nothing(
    case: str, finished: Finished, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    change, told = BAD[case]
    rows = some(9)
    new = new_tables(tmp_path / "new", rows, rows, rows)
    change(tmp_path / "new", rows)
    folder = finished("--method=splitnn")
    assert told in stopped(folder, new, tmp_path / "out", capsys)


def test_what_cannot_be_asked_for_is_refused(
    finished: Finished, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, rows = finished("--method=splitnn"), some(10)
    new = new_tables(tmp_path / "new", rows, rows, rows)
    assert "which of the run's own rows" in stopped(
        folder, new, tmp_path / "out", capsys, "--rows=test"
    )
    few = ",".join(new.split(",")[:2])
    assert "tables names 2 tables, and parties is 3" in stopped(
        folder, few, tmp_path / "out", capsys
    )
    for rank in (0, 2):
        table = tmp_path / "new" / f"{rank}.csv"
        content = table.read_bytes()
        assert run([str(folder), f"--tables={new}", f"--out={table}"]) == 2
        assert "is an input of this prediction" in " ".join(capsys.readouterr().err.split())
        assert table.read_bytes() == content
    (tmp_path / "said.missing.csv").mkdir()
    assert run([str(folder), f"--tables={new}", f"--out={tmp_path / 'said.csv'}"]) == 2
    assert "said.missing.csv is a folder" in " ".join(capsys.readouterr().err.split())


def test_a_model_s_files_are_checked(
    finished: Finished, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = Path(shutil.copytree(finished("--method=splitnn"), tmp_path / "run"))
    rows = some(11)
    new = new_tables(tmp_path / "new", rows, rows, rows)
    for rank, name in ((1, ENCODER), (0, TARGET)):
        path = copy / party_name(rank) / "model" / name
        content = path.read_bytes()
        path.write_bytes(content.replace(b'"', b'"x', 1))
        told = stopped(copy, new, tmp_path / "out", capsys)
        assert f"{name} is missing or damaged" in told
        path.write_bytes(content)


@pytest.mark.slow
def test_new_rows_cost_budget_under_the_noise_of_training(
    finished: Finished, tmp_path: Path
) -> None:
    """However many rows there are; an insufficient budget spends nothing."""
    private = ("--method=splitnn", "--target-epsilon=4", "--dp-sigma=4", "--epochs=1")
    folder, rows = finished(*private), some(12)
    new = new_tables(tmp_path, rows, rows, rows)
    before = predict_rows(folder, "test", tmp_path / "test.csv").epsilon
    made = predict_tables(folder, new, tmp_path / "said.csv", Watch())
    assert before is not None and made.epsilon is not None
    assert before < made.epsilon < before + 1
    spend: Callable[[], object] = partial(
        predict_tables, folder, new, tmp_path / "more.csv", Watch()
    )
    with pytest.raises(PrivacyError, match="these rows take 1 more"):
        for _ in range(20):
            spend()


def test_parts_of_two_runs_do_not_predict_together(
    tables: str, finished: Finished, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = Path(shutil.copytree(finished("--method=splitnn"), tmp_path / "run"))
    assert train(flags(tables, tmp_path / "other", "--method=splitnn")) == 0
    shutil.rmtree(copy / "party-2" / "model")
    shutil.copytree(tmp_path / "other" / "party-2" / "model", copy / "party-2" / "model")
    rows = some(8)
    told = stopped(copy, new_tables(tmp_path / "new", rows, rows, rows), tmp_path / "out", capsys)
    assert "party-2/model is of run" in told
