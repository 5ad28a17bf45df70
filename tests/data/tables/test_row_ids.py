"""Ids of the rows of own tables."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.helpers.own_data.own_tables import FEWER, Read, lines
from vfl_flower.common.errors import DataError
from vfl_flower.data.tables.description import Description
from vfl_flower.data.tables.reader import OwnTable, read_table
from vfl_flower.data.tables.summary import lines_of

LARGEST = 2**63 - 1


@pytest.mark.parametrize(
    ("written", "said", "expected"),
    [
        (["1", "-2", "30"], "", [1, -2, 30]),
        (["1", "-2", "30"], "text", ["1", "-2", "30"]),
        (["1", "02"], "", ["1", "02"]),
        (["1", "a"], "", ["1", "a"]),
        (["NA", " b "], "", ["NA", "b"]),
        ([f"{LARGEST}", f"-{LARGEST}", "1000000000000000000"], "", [LARGEST, -LARGEST, 10**18]),
        (["1234055.0", "7", "-8.00"], "", [1234055, 7, -8]),
        (["1234055.0", "7.5"], "", ["1234055.0", "7.5"]),
        (["07.0", "8.0"], "", ["07.0", "8.0"]),
        (["1.0", "2.0"], "text", ["1.0", "2.0"]),
        ([f"{LARGEST + 1}", "1"], "", [f"{LARGEST + 1}", "1"]),
    ],
)
def test_ids_are_integers_or_text(
    written: list[str], said: str, expected: list[Any], table: Read
) -> None:
    read = table(lines("id,a", lambda n: f"{written[n]},{n}", len(written)), id_type=said)
    assert read.ids.to_pylist() == expected
    whole = isinstance(expected[0], int)
    assert read.ids.type == (pa.int64() if whole else pa.large_string())


@pytest.mark.parametrize(
    ("ids", "said", "told", "detail"),
    [
        (["1", "", "3", ""], "", "no id in 2 of 4 rows, first in row 2", ""),
        (["a", "b", "a"], "", "ids twice, in 1 of 3 rows", "a"),
        (["e\u0301", "\u00e9"], "", "ids twice", "\u00e9"),
        ([f"{LARGEST + 1}"], "integer", "an id of more than 63 bits; set id-type", ""),
        (["1.0", f"{2**53}.0"], "", "an id in row 2 that is stored as a floating-point", ""),
        (["1.0", "1.2345678901234567e+18"], "", "row 2 .*its last digits are lost", ""),
        (["1", "1.23457E+12"], "integer", "export the column again as text or as integers", ""),
        (["7", "7.0"], "", "ids twice, in 1 of 2 rows", "7"),
        (["1", "secret"], "integer", "an id in row 2 that is no whole number", "secret"),
    ],
)
def test_ids_that_cannot_be_are_refused(
    ids: list[str], said: str, told: str, detail: str, table: Read
) -> None:
    """Text for other parties quotes no id."""
    with pytest.raises(DataError, match=f"^party-3: own.csv has .*{told}") as refusal:
        table(lines("id,a", lambda n: f"{ids[n]},{n}", len(ids)), id_type=said)
    assert refusal.value.detail == detail
    assert not detail or len(detail) == 1 or detail not in str(refusal.value)


def stored(cells: pa.Array, folder: Path, **said: Any) -> OwnTable:
    """Read ids from a Parquet file."""
    path = folder / "own.parquet"
    pa.parquet.write_table(pa.table({"id": cells, "a": range(len(cells))}), path)
    return read_table(Description(path, "id", **said), "party-3")


def as_stored(numbers: list[int], kind: pa.DataType) -> pa.Array:
    if pa.types.is_decimal(kind):
        return pa.array(map(Decimal, numbers), kind)
    assume(max(map(abs, numbers)) < 2 ** {pa.float16(): 11, pa.float32(): 24}.get(kind, 53))
    cells = pa.array(numbers, pa.int64())
    return cells.dictionary_encode() if pa.types.is_dictionary(kind) else cells.cast(kind)


@FEWER
@given(
    numbers=st.lists(st.integers(-(2**53) + 1, 2**53 - 1), min_size=1, unique=True),
    kind=st.sampled_from(
        [
            *(pa.int8(), pa.uint64(), pa.float16(), pa.float32(), pa.float64()),
            *(pa.decimal128(19, 0), pa.decimal128(22, 2), pa.decimal256(40, 4)),
            *(pa.string(), pa.string_view(), pa.dictionary(pa.int32(), pa.int64())),
            *("{}", "{}.0", " {} ", '"{}"'),
        ]
    ),
)
def test_whole_numbers_are_the_same_ids_whatever_their_storage(
    numbers: list[int], kind: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("ids")
    if isinstance(kind, str):
        path = folder / "own.csv"
        path.write_text(lines("id,a", lambda n: f"{kind.format(numbers[n])},{n}", len(numbers)))
        read = read_table(Description(path, "id"), "party-3")
    else:
        try:
            cells = as_stored(numbers, kind)
        except pa.ArrowInvalid:
            assume(False)  # too large for the type
        text = pa.types.is_string(kind) or pa.types.is_string_view(kind)
        read = stored(cells, folder, id_type="integer" if text else "")
    assert read.ids.equals(pa.array(numbers, pa.int64()))
    floats = kind == "{}.0" or (not isinstance(kind, str) and pa.types.is_floating(kind))
    assert bool(read.notes) == floats
    assert set(read.notes) <= set(lines_of(read))


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        (pa.array([1, 2**64 - 1], pa.uint64()), ""),
        (pa.array([Decimal(1), Decimal(2**64 - 1)], pa.decimal128(38, 4)), ""),
        (pa.array(["1", str(2**64 - 1)]), ""),
        (pa.array([1.0, 7.0]), "text"),
    ],
)
def test_numbers_that_are_to_be_text_are_their_digits(
    cells: Any, said: str, tmp_path: Path
) -> None:
    read = stored(cells, tmp_path, id_type=said)
    assert read.ids.to_pylist() == [f"{int(each)}" for each in cells.to_pylist()]
    assert bool(read.notes) == (not pa.types.is_string(cells.type))


@pytest.mark.parametrize(
    ("cells", "told"),
    [
        (pa.array([1.0, 2.0**53]), "row 2 .*its last digits are lost; export the column again"),
        (pa.array([1.0, 2.0**24], pa.float32()), "row 2 .*its last digits are lost"),
        (pa.array([1.0, float("inf")]), "row 2 .*its last digits are lost"),
        (pa.array([1.0, 2.5]), "row 2 that is a number with a fraction"),
        (pa.array([Decimal("1.00"), Decimal("2.50")]), "row 2 that is a number with a fraction"),
        (pa.array([1.0, float("nan"), None]), "no id in 2 of 3 rows, first in row 2"),
        (pa.array([True, False]), "ids of type bool; store whole numbers or text"),
    ],
)
def test_stored_ids_that_cannot_be_are_refused(cells: Any, told: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=f"^party-3: own.parquet has .*{told}"):
        stored(cells, tmp_path)


def test_a_decimal_comma_of_ids_is_read(table: Read) -> None:
    read = table("id;a\n7,0;1\n8,00;2\n", decimal=",")
    assert read.ids.to_pylist() == [7, 8]
