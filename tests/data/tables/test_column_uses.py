"""Inferred and stated uses of columns."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from tests.helpers.own_data.own_tables import ROWS, Read, lines, uses
from vfl_flower.common.errors import DataError
from vfl_flower.data.columns import Column
from vfl_flower.data.tables.column_profile import MOST_CATEGORIES, Profile
from vfl_flower.data.tables.description import Description
from vfl_flower.data.tables.reader import read_table, refuse_label
from vfl_flower.reporting.console.own_table import print_columns


def test_columns_are_what_they_look_like(table: Read, capsys: pytest.CaptureFixture[str]) -> None:
    def row(n: int) -> str:
        return f"k{n},{'NA' if n == 4 else n / 2},{'ab'[n % 2]},{n % 3 == 0},n{n},0{n % 2}1,"

    read = table(lines("id,age,town,party,name,post code,empty", row))
    assert uses(read) == {
        "age": "numeric",
        "town": "categorical",
        "party": "categorical",
        "name": "ignored",
        "post code": "categorical",
        "empty": "ignored",
    }
    assert read.columns == (
        Column("age", None, True),
        Column("town", ("a", "b"), False, "text"),
        Column("party", ("False", "True"), False, "text"),
        Column("post code", ("001", "011"), False, "text"),
    )
    assert read.ignored == ("name", "empty")
    expected = np.array([[n / 2, n % 2, n % 3 == 0, n % 2] for n in range(ROWS)], np.float32)
    expected[4, 0] = np.nan
    np.testing.assert_array_equal(read.features, expected)
    assert read.features.dtype == np.float32
    assert read.labels is None
    print_columns(read)
    printed = capsys.readouterr().out
    told = ("post code", "12 values in 12 rows", "no value in any row")
    assert all(each in printed for each in told)


def test_what_is_said_counts(table: Read) -> None:
    content = lines("id,a,b,c", lambda n: f"{n},{n % 2},{n},x")
    read = table(content, columns={"a": "categorical", "b": "ignored"})
    assert uses(read) == {"a": "categorical", "b": "ignored", "c": "categorical"}
    assert read.columns[0] == Column("a", ("0", "1"), False, "number")


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_separators_are_inferred_and_byte_order_marks_and_unicode_read(
    separator: str, table: Read
) -> None:
    """Differently composed names are equal; a comma may stand in quotes."""
    rows = [["id", "gro\u0308ße"], ["e\u0301", "1"], ["日", "2"], ['"a,;\tb"', "3"]]
    text = "\ufeff" + "\r\n".join(separator.join(row) for row in rows)
    read = table(text.encode())
    assert read.ids.to_pylist() == ["\u00e9", "日", "a,;\tb"]
    assert read.columns == (Column("gr\u00f6ße"),)
    assert read.features[:, 0].tolist() == [1, 2, 3]


def test_decimal_commas_are_read_when_said_and_noticed_when_not(table: Read) -> None:
    content = "id;a\n1;0,5\n2;1\n3;-2,25\n"
    assert table(content, decimal=",").features[:, 0].tolist() == [0.5, 1, -2.25]
    with pytest.raises(DataError, match=r'column a looks like .* commas; set decimal = ","'):
        table(content)
    with pytest.raises(DataError, match="column a is no number in row 2"):
        table("id;a\n1;0,5\n2;1.50\n", decimal=",", columns={"a": "numeric"})


def test_gaps_are_what_is_empty_or_said_to_be(table: Read) -> None:
    content = 'id,a,b\n1,?,x\n2,,""\n3,nan,?\n4,2,x\n5,3, \n'
    read = table(content, missing=("?",))
    np.testing.assert_array_equal(read.features[:, 0], np.array([np.nan] * 3 + [2, 3], np.float32))
    np.testing.assert_array_equal(read.features[:, 1], np.array([0, *[np.nan] * 2, 0, np.nan]))


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_number_may_stand_for_a_gap(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"own.{suffix}"
    made = pa.table({"id": [1, 2, 3, 4], "a": [1.5, -1.0, 999.0, 2.0]})
    if suffix == "csv":
        pa.csv.write_csv(made, path)
    else:
        pa.parquet.write_table(made, path)
    read = read_table(Description(path, "id", missing=("-1", "999", "?")), "x")
    expected = np.array([1.5, np.nan, np.nan, 2], np.float32)
    np.testing.assert_array_equal(read.features[:, 0], expected)


def test_too_many_categories_are_refused_when_said_and_ignored_when_not(table: Read) -> None:
    content = lines("id,a,b", lambda n: f"{n},x{n // 2},1", 2200)
    read = table(content)
    assert read.looked[0].why == "over 1,000 values in 2,200 rows"
    with pytest.raises(DataError, match="column a has over 1,000 categories"):
        table(content, columns={"a": "categorical"})


def test_a_passive_party_may_not_use_the_labels(table: Read) -> None:
    content = lines("id,Paid,label,a", lambda n: f"{n},{n % 2},{n},{n}")
    for said, told in (({}, "Paid"), ({"Paid": "ignored"}, "label")):
        with pytest.raises(DataError, match="party-3: a column has the name of the") as error:
            refuse_label(table(content, columns=said), "paid", "party-3")
        assert error.value.detail == told
    refuse_label(table(content, columns={"Paid": "ignored", "label": "ignored"}), "paid", "x")


def test_of_many_values_the_same_are_kept_everywhere() -> None:
    texts = pa.array([f"{n},5" for n in range(MOST_CATEGORIES + 500)])
    profile = Profile("a", "active", None, Description(Path("a.csv"), "id"))
    profile.see(texts)
    assert profile.values == {*sorted(texts.to_pylist())[:MOST_CATEGORIES]}
