"""Tables and files that cannot be read."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from tests.helpers.own_data.own_tables import Read
from vfl_flower.common.errors import DataError
from vfl_flower.data.tables import reader as reading_module
from vfl_flower.data.tables.description import Description
from vfl_flower.data.tables.reader import read_table


@pytest.mark.parametrize(
    ("content", "said", "told"),
    [
        (b"", {}, "is empty"),
        (b"\n\n", {}, "is empty"),
        (b"id,a\n", {}, "holds no rows"),
        (b"key,a\n1,2\n", {}, "has no column 'id'; add or rename it"),
        (b"id~a\n1~2\n", {}, "none 'id': separators of columns are comma, semicolon, tab, bar"),
        (b"id,a\n1,2\n", {"columns": {"b": "numeric"}}, "has no column 'b'"),
        (b"id,a\n1,2\n", {"label": "y"}, "has no column 'y'"),
        (b"id,a,a \n1,2,3\n", {}, "two columns of the name 'a'"),
        (b"id,,b\n1,2,3\n", {}, "has no name for column 2"),
        (b"id,a\n1,2\n3\n", {}, "has 1 fields in row 2, and 2 names"),
        (b"id,a\n1,2\n3,4,5\n", {}, "has 3 fields in row 2, and 2 names"),
        (b'id,a\n1,2\n3,"4\n', {}, "ends within quotes"),
        (b"id,a\n1,\xff\n", {}, "is not in UTF-8, first in line 2; save it as CSV in UTF-8"),
        (b"id,a\n1,2\n1,\xc3", {}, "is not in UTF-8, first in line 3"),
        (b"id,a\n" + b"1,2\n" * 5000 + b"2,\xfc,3\n", {}, "is not in UTF-8, first in line 5,002"),
        (b"PK\x03\x04\0\0", {}, "is no text; export"),
        ("id,a\n1,2\n".encode("utf-16"), {}, "is no text"),
        (b"id,a\n1,x\n2,y\n3,z\n", {}, "no column that can be used"),
        (b"id\n1\n2\n", {}, "no column that can be used"),
        (b"id,a\n1,2\n2,inf\n", {}, "column a holds infinity, or .*, in row 2"),
        (b"id,a\n1,2\n2,1e39\n", {}, "column a holds infinity, or .*, in row 2"),
        (b"id,a\n1,2\n2,x\n", {"columns": {"a": "numeric"}}, "column a is no number in row 2"),
        (b"id,a\n1,\n2,NA\n", {"columns": {"a": "numeric"}}, "column a has no value in any"),
    ],
)
def test_tables_that_cannot_be_are_refused(
    content: bytes, said: Mapping[str, Any], told: str, table: Read
) -> None:
    with pytest.raises(DataError, match=told) as refusal:
        table(content, **said)
    assert str(refusal.value).startswith("party-3: ")


def test_files_that_are_no_tables_are_refused(tmp_path: Path) -> None:
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "a.xlsx").write_bytes(b"PK")
    (tmp_path / "a.parquet").write_bytes(b"id,a\n1,2\n")
    for name, told in (
        ("none.csv", "cannot be read"),
        ("folder.csv", "cannot be read"),
        ("a.xlsx", "must end in .csv"),
        ("a.parquet", "no whole Parquet file"),
    ):
        with pytest.raises(DataError, match=f"^party-3: .*{told}"):
            read_table(Description(tmp_path / name, "id"), "party-3")


def test_a_truncated_parquet_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pa.parquet.write_table(pa.table({"id": range(999), "a": range(999)}), path)
    whole = path.read_bytes()
    for length in (len(whole) - 1, len(whole) // 2, 3, 0):
        path.write_bytes(whole[:length])
        with pytest.raises(DataError, match=r"a\.parquet is no whole Parquet file"):
            read_table(Description(path, "id"), "party-3")


def test_a_parquet_file_with_checksums_and_other_bytes_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    made = pa.table({"id": np.arange(999), "a": np.random.default_rng(0).random(999)})
    pa.parquet.write_table(made, path, write_page_checksum=True)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"a\.parquet is no whole Parquet file"):
        read_table(Description(path, "id"), "party-3")


@pytest.mark.parametrize("late", ["4,5\n", "4", "x,y,z\n"])
def test_a_file_that_grows_while_it_is_read_is_refused(
    late: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever else is wrong, the growth is reported."""
    path = tmp_path / "a.csv"
    path.write_text("id,a\n1,2\n2,3\n")
    kept = reading_module._kept

    def growing(*given: Any) -> Any:
        with path.open("a") as file:
            file.write(late)
        return kept(*given)

    monkeypatch.setattr(reading_module, "_kept", growing)
    with pytest.raises(DataError, match=r"party-3: a\.csv was changed while it was read"):
        read_table(Description(path, "id"), "party-3")
