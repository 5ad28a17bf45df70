"""Ids of several columns, and ids whose case does not count."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from tests.helpers.own_data.alignment import run
from tests.helpers.own_data.own_tables import Read
from vfl_flower.common.errors import ConfigError, DataError
from vfl_flower.crypto.hashed_ids import normalised
from vfl_flower.data.tables.description import Description, description_of
from vfl_flower.data.tables.prediction_file import id_columns
from vfl_flower.data.tables.reader import OwnTable, read_table
from vfl_flower.data.tables.summary import lines_of

BOTH = ("branch", "account")


def stored(columns: dict[str, Any], folder: Path, **said: Any) -> OwnTable:
    pa.parquet.write_table(pa.table(columns), folder / "own.parquet")
    return read_table(Description(folder / "own.parquet", **said), "party-3")


def test_columns_of_ids_have_a_type_each(table: Read) -> None:
    read = table("branch,account,a\n01,7,1\n02,7,2\n01,8,3\n", id=BOTH)
    assert read.ids.to_pylist()[1] == {"branch": "02", "account": 7}
    assert [each.name for each in read.columns] == ["a"]
    assert lines_of(read)[0] == "3 rows, ids of branch (large_string) and account (int64)"
    text = table("branch,account,a\n1,7,1\n2,7,2\n", id=BOTH, id_type="text")
    assert text.ids.to_pylist()[0] == {"branch": "1", "account": "7"}
    mixed = table("branch,account,a\n1,7.0,1\n2,7.0,2\n", id=BOTH, id_type=("text", "integer"))
    assert mixed.ids.to_pylist()[0] == {"branch": "1", "account": 7}
    (note,) = mixed.notes
    assert note.startswith("ids of column account: written with .0")


def test_parties_with_other_storage_and_order_align(tmp_path: Path, table: Read) -> None:
    """Wherever the columns stand, whatever they are called."""
    first = table("a,branch,account\n1,x,1\n2,x1,1\n3,x,11\n4,y,5\n", id=BOTH)
    columns = {"konto": [11.0, 1.0, 5.0], "filiale": ["x", "x1", "z"], "b": [1, 2, 3]}
    second = stored(columns, tmp_path, id=("filiale", "konto"))
    rows = run([normalised(each.ids) for each in (first, second)])[1]
    pairs = [
        [tuple(each.values()) for each in read.ids.take(pa.array(own)).to_pylist()]
        for read, own in zip((first, second), rows, strict=True)
    ]
    assert pairs[0] == pairs[1]
    assert {*pairs[0]} == {("x", 11), ("x1", 1)}


def test_other_types_or_cases_are_named(table: Read) -> None:
    whole = normalised(table("b,c,a\n1,1,1\n2,2,2\n", id=("b", "c")).ids)
    text = table("b,c,a\nx,1,1\ny,2,2\n", id=("b", "c")).ids
    with pytest.raises(DataError, match=r"numbers and the .*id, id-type and id-case"):
        run([whole, normalised(text)])
    with pytest.raises(DataError, match="text in any case and whole numbers and the active"):
        run([normalised(text), normalised(text, case="fold")])


@pytest.mark.parametrize(
    ("content", "said", "told", "detail"),
    [
        ("b,c,a\n1,1,1\n1,2,2\n1,1,3\n", {}, "ids twice, in 1 of 3 rows", "1 1"),
        ("b,c,a\n1,1,1\n1,,2\n", {}, "no id in 1 of 2 rows, first in row 2 of column c", ""),
        ("b,c,a\n1,1,1\nx,1,2\n", {"id_type": "integer"}, "row 2 of column b that is no", "x"),
        ("b,c,a\n1,1.0,1\n2,1e+20,2\n", {}, "row 2 of column c that is stored as a floating", ""),
        ("b,a\n1,1\n", {}, "has no column 'c'", "it has b, a"),
    ],
)
def test_composite_ids_that_cannot_be_are_refused(
    content: str, said: dict[str, Any], told: str, detail: str, table: Read
) -> None:
    with pytest.raises(DataError, match=told) as refusal:
        table(content, id=("b", "c"), **said)
    assert refusal.value.detail == detail


def test_ids_that_are_the_same_but_for_case_are_found_and_named(table: Read) -> None:
    for content, spelled in (
        ("id,a\nStr,1\nx,2\nSTR,3\nstr,4\n", "Str, STR, str"),
        ("id,a\nstraße,1\nx,2\nSTRASSE,3\nStrasse,4\n", "straße, STRASSE, Strasse"),
    ):
        assert len(table(content).ids) == 4
        told = "ids twice that differ in case at most, in 2 of 4 rows"
        with pytest.raises(DataError, match=told) as refusal:
            table(content, id_case="fold")
        assert refusal.value.detail == spelled
        first = table(content, id_case="fold", duplicates="first")
        assert normalised(first.ids, "first", "fold").rows.tolist() == [0, 1]
        assert first.ids[2].as_py() == content.splitlines()[3].partition(",")[0]


def test_blanks_within_ids_count_and_those_around_do_not(table: Read) -> None:
    ids = [" a b", "a  b ", "a\u00a0b", "ab"]
    read = table("id,a\n" + "".join(f"{each},{n}\n" for n, each in enumerate(ids)))
    assert read.ids.to_pylist() == [each.strip() for each in ids]


def test_what_is_said_of_ids_is_part_of_the_alignment(table: Read) -> None:
    content = "b,c,a\n1,1,1\n2,2,2\n"
    said: list[dict[str, Any]] = [
        *({"id": "b"}, {"id": ("b", "c")}, {"id": ("c", "b")}),
        *({"id": "b", "id_case": "fold"}, {"id": ("b", "c"), "id_type": ("text", "integer")}),
    ]
    assert len({table(content, **each).digest for each in said}) == len(said)


def test_predictions_have_a_column_for_each_part(table: Read) -> None:
    ids = table("branch,account,a\n01,7,1\n02,7,2\n", id=BOTH).ids
    assert {name: each.to_pylist() for name, each in id_columns(ids).items()} == {
        "id_branch": ["01", "02"],
        "id_account": [7, 7],
    }


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ({"id": []}, "id must be one column or a list of up to 4"),
        ({"id": ["a", " a"]}, "id must be one column or a list of up to 4"),
        ({"id": [*"abcde"]}, "id must be one column or a list of up to 4"),
        ({"id": ["a", 1]}, "id must be a text"),
        ({"id": ["a", "b"], "label": "b"}, "id and label are one column"),
        (
            {"id": ["a", "b"], "columns": {"b": "ignored"}},
            "column 'b' is the id, the label or the weight",
        ),
        ({"id": ["a", "b"], "id-type": ["text"]}, "id-type lists 1 types, and id 2 columns"),
        ({"id": ["a", "b"], "id-type": ["text", "whole"]}, "id-type must be integer or text"),
        ({"id": "a", "id-case": "lower"}, "id-case must be keep or fold"),
    ],
)
def test_descriptions_of_ids_that_cannot_be_are_refused(said: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        description_of({"file": "a.csv"} | said, Path())
