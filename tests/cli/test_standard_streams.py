"""Tables from standard input, and predictions to standard output."""

import io
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.helpers.outcomes.commands import predict, train
from tests.helpers.own_data.own import flags, make
from tests.helpers.own_data.own_predictions import new_tables, some

Pipe = Callable[[bytes], None]


class Terminal(io.TextIOWrapper):
    """Standard input that somebody types."""

    def isatty(self) -> bool:
        return True


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("piped")
    more = ("--method=splitnn", "--epochs=1")
    assert train(flags(make(root / "tables"), root / "run", *more)) == 0
    return root / "run"


@pytest.fixture
def pipe(monkeypatch: pytest.MonkeyPatch) -> Pipe:
    return lambda content: monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))


def test_rows_go_through_a_pipe(
    folder: Path, pipe: Pipe, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same bytes as through files; the rest is on standard error."""
    new = new_tables(tmp_path, some(1), some(2, 200), some(3, 200))
    assert predict([str(folder), f"--tables={new}", f"--out={tmp_path / 'said.csv'}"]) == 0
    capsys.readouterr()
    pipe((tmp_path / "0.csv").read_bytes())
    piped = ",".join(["-", *new.split(",")[1:]])
    assert predict([str(folder), f"--tables={piped}", "--out=-"]) == 0
    told = capsys.readouterr()
    assert told.out == (tmp_path / "said.csv").read_text()
    assert "rows predicted" in told.err and "no file lists them" in told.err


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "standard input is empty"),
        (b"id,a\nx\0,1\n", "standard-input.csv is no text"),
        (b"id,a\n\xff,1\n", "standard-input.csv"),
        (b"PAR1\0\0", "standard-input.csv is no text"),
        (b"name,a\nx,1\n", "standard-input.csv has no column 'id'"),
        (b"id,a\nx,1\n", "was of type number at training, and is missing"),
    ],
)
def test_what_is_no_table_is_refused(
    content: bytes,
    told: str,
    folder: Path,
    pipe: Pipe,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    new = new_tables(tmp_path, some(1), some(1), some(1)).split(",")
    pipe(content)
    assert predict([str(folder), f"--tables={','.join(['-', *new[1:]])}", "--out=-"]) == 2
    text = capsys.readouterr()
    assert told in " ".join(text.err.split()) and text.out == ""


def test_what_cannot_be_piped_is_refused(
    folder: Path, pipe: Pipe, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pipe(b"id\nx\n")
    for more, told in (
        (["--tables=a.toml,-", "--out=-"], "- stands for the active party's table"),
        (["--rows=test", "--out=-", "--json"], "both print to standard output"),
    ):
        assert predict([str(folder), *more]) == 2
        assert told in " ".join(capsys.readouterr().err.split())
    monkeypatch.setattr("sys.stdin", Terminal(io.BytesIO()))
    assert predict([str(folder), "--tables=-,a.toml,b.toml", "--out=-"]) == 2
    assert "standard input is a terminal" in capsys.readouterr().err


def test_the_run_s_own_rows_go_to_standard_output(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert predict([str(folder), "--out=-"]) == 0
    assert capsys.readouterr().out.startswith('"id","prediction","probability_benign"')


def test_a_description_that_is_gone_is_told_of(
    folder: Path, pipe: Pipe, capsys: pytest.CaptureFixture[str]
) -> None:
    toml = folder.parent / "tables" / "0.toml"
    toml.rename(toml.with_suffix(".away"))
    pipe(b"id\nx\n")
    assert predict([str(folder), "--tables=-,a.toml,b.toml", "--out=-"]) == 2
    toml.with_suffix(".away").rename(toml)
    told = " ".join(capsys.readouterr().err.split())
    assert "standard-input.csv has no description, so that of the run's table counts" in told
    assert "put it back, or describe the new table" in told


def test_a_reader_that_goes_away_is_told_of(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise BrokenPipeError(32, "Broken pipe")

    monkeypatch.setattr("vfl_flower.cli.standard_streams.copyfileobj", broken)
    monkeypatch.setattr("vfl_flower.cli.standard_streams.os.dup2", lambda *_: None)
    assert predict([str(folder), "--out=-"]) == 2
    assert "standard output cannot be written: Broken pipe" in capsys.readouterr().err
