"""Runs of tables without a description: their ids and labels are options."""

import gzip
from pathlib import Path
from typing import Any

import pytest

import vfl_flower as vfl
from tests.helpers.outcomes.commands import align, data, predict, sweep, train
from tests.helpers.own_data.own import NAMES, TINY, result_of, weights_of
from tests.helpers.own_data.own_predictions import Finished
from vfl_flower.common.errors import ConfigError
from vfl_flower.config.run_config import read_toml

COLUMNS = ["--id=id", "--label=outcome"]
QUICK = [
    f"--{key.replace('_', '-')}={value}"
    for key, value in TINY.items()
    if key not in ("dataset", "parties")
] + ["--baselines=off"]


def bare(tables: str) -> str:
    """Return the tables of descriptions."""
    return tables.replace(".toml", ".csv")


@pytest.fixture(scope="module")
def run(tables: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a run that nobody may change."""
    out = tmp_path_factory.mktemp("bare") / "run"
    assert train([f"--tables={bare(tables)}", *COLUMNS, *QUICK, f"--out={out}"]) == 0
    return out


def predicted(run: Path, tables: str, out: Path) -> bytes:
    assert predict([str(run), f"--tables={tables}", f"--out={out}"]) == 0
    return out.read_bytes()


@pytest.mark.slow
def test_a_run_is_that_of_tables_with_descriptions(run: Path, finished: Finished) -> None:
    """Named tables imply own tables and how many parties there are."""
    assert weights_of(run) == weights_of(finished())
    kept = read_toml(run / "config.toml")
    assert (kept["id"], kept["label"], kept["parties"], kept["dataset"]) == (
        "id",
        "outcome",
        3,
        "own",
    )
    for rank in (1, 2):  # whose folders do not know the label's name
        for file in (run / f"party-{rank}").rglob("*.*"):
            assert b"outcome" not in file.read_bytes()


@pytest.mark.slow
def test_a_run_of_tables_predicts_tables_and_descriptions(
    run: Path, tables: str, finished: Finished, tmp_path: Path
) -> None:
    """Whichever of them trained; a compressed table is one, too."""
    first, *others = bare(tables).split(",")
    packed = tmp_path / "new.csv.gz"
    packed.write_bytes(gzip.compress(Path(first).read_bytes()))
    said = predicted(run, tables, tmp_path / "0.csv")
    for n, named in enumerate((bare(tables), ",".join([str(packed), *others])), 1):
        assert predicted(run, named, tmp_path / f"{n}.csv") == said
    assert predicted(finished(), tables, tmp_path / "9.csv") == said


@pytest.mark.slow
def test_tables_of_a_described_run_are_described_as_they_were(
    tables: str, finished: Finished, tmp_path: Path
) -> None:
    """Beside descriptions, too."""
    said = predicted(finished(), tables, tmp_path / "0.csv")
    mixed = ",".join([bare(tables).split(",")[0], *tables.split(",")[1:]])
    for n, named in enumerate((bare(tables), mixed), 1):
        assert predicted(finished(), named, tmp_path / f"{n}.csv") == said


def test_what_was_said_of_a_table_counts_for_new_ones(tmp_path: Path) -> None:
    """Ids, marks and separators; labels and weights of rows are not needed."""
    lines = [f"x{n}|{n % 7},5|{n % 2}|1" for n in range(60)]
    (tmp_path / "a.csv").write_text("\n".join(["KEY|n|y|w", *lines]))
    (tmp_path / "b.csv").write_text("\n".join(["id;m", *(f"X{n};{n % 5}" for n in range(60))]))
    said = 'label = "y"\nweight = "w"\nid = "KEY"\ndecimal = ","\nseparator = "|"\n'
    (tmp_path / "a.toml").write_text(f'file = "a.csv"\n{said}id-case = "fold"\n')
    (tmp_path / "b.toml").write_text('file = "b.csv"\nid = "id"\nid-case = "fold"\n')
    trained = f"--tables={tmp_path / 'a.toml'},{tmp_path / 'b.toml'}"
    assert (
        train([trained, *QUICK, "--method=splitnn", "--batch-size=16", f"--out={tmp_path / 'run'}"])
        == 0
    )
    (tmp_path / "new.csv").write_text("\n".join(["KEY|n", *(f"x{n}|{n},5" for n in range(4))]))
    new = f"{tmp_path / 'new.csv'},{tmp_path / 'b.csv'}"
    assert len(predicted(tmp_path / "run", new, tmp_path / "out.csv").splitlines()) == 5


@pytest.mark.slow
def test_a_run_goes_on_and_is_moved_with_its_tables(run: Path, tables: str, tmp_path: Path) -> None:
    """With one table moved, and another one described."""
    (tmp_path / "moved.csv").write_bytes(Path(bare(tables).split(",")[0]).read_bytes())
    moved = ",".join([str(tmp_path / "moved.csv"), *tables.split(",")[1:]])
    out = tmp_path / "run"
    first = [f"--tables={bare(tables)}", *COLUMNS, *QUICK, f"--out={out}"]
    assert train([*first, "--checkpoint-every=1", "--epochs=1"]) == 0
    (out / "result.json").unlink()
    assert train(["--resume", str(out), f"--tables={moved}"]) == 0
    assert result_of(out)["parties"] == 3


def test_seeds_and_an_alignment_take_tables(tables: str, tmp_path: Path) -> None:
    rows = tmp_path / "rows"
    assert align([f"--tables={bare(tables)}", *COLUMNS, f"--out={rows}"]) == 0
    more = [f"--alignment={rows}", "--seeds=2", f"--out={tmp_path / 'two'}"]
    assert train([f"--tables={bare(tables)}", *COLUMNS, *QUICK, "--epochs=1", *more]) == 0
    assert result_of(tmp_path / "two")["seeds"] == [0, 1]


def test_a_sweep_takes_tables(tables: str, tmp_path: Path) -> None:
    pytest.importorskip("optuna")
    more = ["--over=batch-size=32", "--trials=1", "--epochs=1", f"--out={tmp_path / 'sweep'}"]
    quick = [each for each in QUICK if "batch-size" not in each and "epochs" not in each]
    assert sweep([f"--tables={bare(tables)}", *COLUMNS, *quick, *more]) == 0


@pytest.mark.parametrize(
    ("named", "more", "told"),
    [
        ("0.csv,1.csv,2.csv", [], "0.csv is a table; say which column holds its ids with id"),
        ("0.toml,1.csv,2.csv", [], "1.csv is a table; say which column holds its ids with id"),
        ("0.csv,1.csv,2.csv", ["--id=id"], "names no label; say which column it is, with label"),
        ("0.csv,1.csv", ["--id=id", "--label=id"], "id and label are one column"),
        ("0.csv,1.csv", ["--id=id,", "--label=a"], "id must be a text"),
        ("0.csv,1.csv", [*COLUMNS, "--parties=3"], "names 2 tables, and parties is 3"),
        ("0.csv", COLUMNS, "names one table for 4 parties"),
        ("0.csv,", COLUMNS, "tables has an empty entry"),
        ("0.toml,1.toml,2.toml", ["--id=id"], "id is id, which the descriptions of the tables say"),
        ("0.toml,1.csv,2.csv", COLUMNS, "label is outcome, which the descriptions of the tables"),
        ("0.csv,1.csv", [*COLUMNS, "--split=grouped"], '.toml, with the lines file = "'),
        ("0.csv,1.csv", [*COLUMNS, "--split=time"], '"outcome", time = "COLUMN"; name it'),
        ("0.csv,1.toml", [*COLUMNS, "--split=time"], "leave id and label empty"),
        ("0.csv,1.csv", [*COLUMNS, "--dataset=wine"], "tables is set, and dataset is wine"),
        ("", ["--id=id"], "id is set, and dataset is digits"),
    ],
)
def test_tables_and_columns_that_contradict_are_refused(
    named: str,
    more: list[str],
    told: str,
    tables: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = Path(tables.split(",")[0]).parent
    paths = ",".join(str(folder / each) if each else "" for each in named.split(","))
    flags = [f"--tables={paths}"] if named else []
    assert train([*flags, *more, "--blinding=none", f"--out={tmp_path / 'run'}"]) == 2
    assert told in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_tables_and_descriptions_mix(tables: str, run: Path, tmp_path: Path) -> None:
    first, *others = tables.split(",")
    out = tmp_path / "run"
    named = ",".join([first, *(bare(each) for each in others)])
    assert train([f"--tables={named}", "--id=id", *QUICK, f"--out={out}"]) == 0
    assert weights_of(out) == weights_of(run)


def test_a_passive_table_with_the_label_is_refused(
    tables: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second, _ = bare(tables).split(",")
    lines = Path(second).read_text().splitlines()
    copy = tmp_path / "copy.csv"
    copy.write_text("\n".join([f"{lines[0]},outcome", *(f"{line},1" for line in lines[1:])]))
    out = tmp_path / "run"
    assert (
        train([f"--tables={first},{copy}", *COLUMNS, *QUICK, "--blinding=none", f"--out={out}"])
        != 0
    )
    assert "party-1: a column has the name of the labels" in capsys.readouterr().err


def test_columns_of_a_table_are_shown(
    tables: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = bare(tables).split(",")[0]
    assert data(["columns", table, *COLUMNS]) == 0
    assert "label outcome: binary" in capsys.readouterr().out
    assert data(["columns", table]) == 2
    assert "say which column holds its ids" in capsys.readouterr().err
    assert data(["columns", table.replace(".csv", ".toml"), "--id=id"]) == 2
    assert "describes one, and says them" in capsys.readouterr().err


def test_ids_of_several_columns_are_named_with_commas(tmp_path: Path) -> None:
    """Predictions have a column for each."""
    rows = [(n % 7, n // 7) for n in range(70)]
    for rank, more in enumerate((",outcome", "")):
        lines = [f"{a},{b},{a * b % 5}" + (f",{'yn'[b % 2]}" if more else "") for a, b in rows]
        (tmp_path / f"{rank}.csv").write_text("\n".join([f"branch,account,x{more}", *lines]))
    tables, out = f"{tmp_path / '0.csv'},{tmp_path / '1.csv'}", tmp_path / "run"
    columns = ["--id=branch,account", "--label=outcome", "--blinding=none", "--batch-size=16"]
    assert train([f"--tables={tables}", *QUICK, *columns, "--epochs=1", f"--out={out}"]) == 0
    said = predicted(out, tables, tmp_path / "said.csv").decode().splitlines()
    assert said[0].startswith('"id_branch","id_account","prediction"')
    assert [line.split(",")[:2] for line in said[1:]] == [[f"{a}", f"{b}"] for a, b in rows]


def test_tables_are_named_in_python(tables: str, run: Path) -> None:
    options = {key: value for key, value in TINY.items() if key not in ("dataset", "parties")}
    made = vfl.train(bare(tables).split(","), id="id", label="outcome", baselines="off", **options)
    assert weights_of(made.path) == weights_of(run)
    assert [*vfl.load(run).predict(tables.split(",")).columns][:2] == ["id", "prediction"]


@pytest.mark.parametrize(
    ("given", "columns", "told"),
    [
        (["0.csv", "1.csv"], {}, r"0.csv is a table; .*keyword id .*Table\('.*0.csv', id="),
        (["0.csv", "1.csv"], {"id": "id"}, r"names no label; use Table\(\.\.\., label=COLUMN\)"),
        (["0.toml", "1.toml"], {"id": "id"}, "id is the column of a table that is given as a path"),
        (["0.toml", "1.csv"], {"id": "id", "label": NAMES[0]}, "label is the column of a table"),
        ("wine", {"label": "y"}, "label is the column of a table that is given as a path"),
    ],
)
def test_columns_in_python_that_cannot_be_are_refused(
    given: list[str] | str, columns: dict[str, Any], told: str, tables: str
) -> None:
    folder = Path(tables.split(",")[0]).parent
    named = given if isinstance(given, str) else [str(folder / each) for each in given]
    with pytest.raises(ConfigError, match=told):
        vfl.train(named, **columns)
