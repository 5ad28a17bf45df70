"""Separators, gzip, and long rows of own tables that are text."""

import gzip
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pytest

from tests.helpers.own_data.own_tables import Read, lines
from vfl_flower.common.errors import ConfigError, DataError
from vfl_flower.data.tables.description import Description, description_of
from vfl_flower.data.tables.formats import compressed
from vfl_flower.data.tables.reader import OwnTable, read_table
from vfl_flower.interface.data.table import Table

zipped = partial(gzip.compress, mtime=0)
PLAIN = lines("id,a,b", lambda n: f'{n},{n * n},"x,{n % 2}"', 40)


def packed(content: bytes, folder: Path, name: str = "own.csv.gz", **said: Any) -> OwnTable:
    path = folder / name
    path.write_bytes(content)
    return read_table(Description(path, "id", **said), "party-3")


@pytest.mark.parametrize(
    ("separator", "said"), [("|", ""), ("|", "|"), ("~", "~"), ("\t", "\t"), (":", ":")]
)
def test_separators_are_found_out_or_said(separator: str, said: str, table: Read) -> None:
    content = lines(f"id{separator}a", lambda n: f"{n}{separator}{n},5", 20)
    read = table(content, separator=said, decimal=",")
    assert [each.name for each in read.columns] == ["a"]
    assert read.features[:, 0].tolist() == [n + 0.5 for n in range(20)]


def test_a_separator_that_is_said_beats_a_better_fit(table: Read) -> None:
    read = table("id;a,b,c\n1;2,3,4\n2;3,4,5\n", separator=";", columns={"a,b,c": "categorical"})
    assert [each.name for each in read.columns] == ["a,b,c"]
    with pytest.raises(DataError, match="one column, and none 'id', if '~' is the separator"):
        table("id;a\n1;2\n", separator="~")


@pytest.mark.parametrize("separator", ["", "||", " ", "\n", "a", "7", '"', ".", "-", "§", 1])
def test_separators_that_cannot_be_are_refused(separator: object) -> None:
    with pytest.raises(ConfigError, match="separator must be one character"):
        description_of({"file": "a.csv", "id": "id", "separator": separator}, Path())


def test_a_table_of_python_says_its_separator(tmp_path: Path) -> None:
    Table("a.csv", id="id", separator="~").write(tmp_path)
    (tmp_path / "table").rename(tmp_path / "kept")
    assert Table.described_in(tmp_path / "kept" / "table.toml")._stated["separator"] == "~"


@pytest.mark.parametrize("name", ["own.csv.gz", "own.TSV.GZ", "own.txt.gz"])
def test_compressed_tables_are_those_that_they_were(name: str, tmp_path: Path, table: Read) -> None:
    """Of one piece, and of two as `cat a.gz b.gz` makes them."""
    plain, content = table(PLAIN), PLAIN.encode()
    for bytes_ in (
        zipped(content),
        zipped(content[:99]) + zipped(content[99:]),
    ):
        read = packed(bytes_, tmp_path, name)
        assert read.ids.equals(plain.ids)
        assert (read.features == plain.features).all()


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (zipped(PLAIN.encode())[:-5], "is no whole gzip file; compress it again"),
        (zipped(PLAIN.encode())[:40], "is no whole gzip file"),
        (zipped(PLAIN.encode())[:-8] + bytes(8), "is no whole gzip file"),
        (PLAIN.encode(), "is no whole gzip file"),
        (b"", "is empty"),
        (zipped(b""), "is empty"),
        (zipped(b"id,a\n1,\0\n"), "is no text"),
        (zipped(bytes(10**7)), "is no text"),
        (zipped(b'id,a\n1,2\n3,"4\n'), "ends within quotes"),
        (zipped(b"id,a\n1,2\n3\n"), "has 1 fields in row 2, and 2 names"),
        (zipped(b"id,a\n1,\xff\n"), "is not in UTF-8, first in line 2"),
    ],
)
def test_compressed_files_are_checked_as_others(content: bytes, told: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=f"^party-3: own.csv.gz .*({told})"):
        packed(content, tmp_path)


@pytest.mark.slow
def test_bombs_are_refused_before_they_are_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compressed, "_LARGE", 1 << 21)
    bomb = zipped(b"id,a\n" + b"1,2\n" * 10**6, 9)
    with pytest.raises(DataError, match="more than 200 times as large once it is unpacked"):
        packed(bomb, tmp_path)
    with pytest.raises(DataError, match="ids twice"):  # the same, not compressed
        packed(gzip.decompress(bomb), tmp_path, "own.csv")


def test_lines_without_end_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vfl_flower.data.tables.formats.csv_file.LONGEST", 1 << 20)
    with pytest.raises(DataError, match="has a line of more than 1 MiB; is it a table"):
        packed(zipped(b"id,a\n" + b"x" * (1 << 22)), tmp_path)


@pytest.mark.slow
def test_long_headers_and_fields_are_read(table: Read) -> None:
    """Longer than the csv module takes, and than a batch."""
    names = [f"a_long_name_of_column_{n}" for n in range(6500)]
    read = table(f"id,{','.join(names)}\n1{',7' * 6500}\n2{',8' * 6500}\n")
    assert [each.name for each in read.columns] == names
    for size in (200_000, 3_000_000):
        read = table(lines("id,text,a", lambda n: f"{n},{'x' * size},{n}", 3))  # noqa: B023
        assert read.features.tolist() == [[0, 0], [0, 1], [0, 2]]


def test_a_name_that_is_too_long_is_called_so(table: Read) -> None:
    with pytest.raises(DataError, match="a name of more than 131,072 characters in its first line"):
        table(f"id,{'x' * 200_000}\n1,2\n")


def test_a_row_that_is_too_long_is_called_so(table: Read) -> None:
    """Of many short lines, as after a quote that is missing."""
    content = 'id,a\n1,"' + "x\n" * 2**21 + '"\n2,3\n'
    with pytest.raises(DataError, match="has a row of more than 1 MiB; is a quote missing"):
        table(content)


def test_a_row_far_down_is_named(table: Read) -> None:
    content = lines("id,text", lambda n: f"{n},{'x' * 1000}", 3000) + '"3000","1","two\nlines"\n'
    with pytest.raises(DataError, match="has 3 fields in row 3001, and 2 names"):
        table(content)


def test_arrow_is_handed_no_function(table: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its threads would free it while Python ends, and abort the process."""
    handed = []

    def noting(stream: Any, read: Any, parse: Any, convert: Any) -> Any:
        handed.append(parse.invalid_row_handler)
        return opened(stream, read, parse, convert)

    opened = pa.csv.open_csv
    monkeypatch.setattr(pa.csv, "open_csv", noting)
    table("id,a\n1,2\n2,3\n")
    assert set(handed) == {None}
