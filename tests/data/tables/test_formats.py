"""CSV and Parquet files of own tables."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.own_data.own_tables import FEWER
from vfl_flower.common.errors import DataError
from vfl_flower.data.tables.description import Description
from vfl_flower.data.tables.reader import OwnTable, read_table

CELLS = {
    "number": st.floats(-1e6, 1e6, width=32) | st.integers(-99, 99).map(float),
    "name": st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=4).map(
        lambda text: f"x{text}x"
    ),
}


@st.composite
def columns(draw: st.DrawFn) -> pa.Table:
    """Draw a table of ids and up to three columns with gaps."""
    rows = draw(st.integers(2, 30))
    whole = draw(st.booleans())
    ids = range(rows) if whole else [f"é{n}" for n in range(rows)]
    made = {"id": pa.array(ids)}
    for rank, kind in enumerate(draw(st.lists(st.sampled_from(sorted(CELLS)), max_size=3))):
        cells = draw(st.lists(st.none() | CELLS[kind], min_size=rows, max_size=rows))
        of = pa.float64() if kind == "number" else pa.string()
        made[f"{kind} {rank}"] = pa.array(cells, of)
    return pa.table({**made, "last": pa.array(np.arange(rows) % 2)})


def same(a: OwnTable, b: OwnTable) -> bool:
    return (
        a.ids.equals(b.ids)
        and np.array_equal(a.features, b.features, equal_nan=True)
        and (a.columns, a.ignored) == (b.columns, b.ignored)
    )


@pytest.mark.slow
@FEWER
@given(made=columns())
def test_csv_and_parquet_say_the_same(
    made: pa.Table, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("own")
    pa.csv.write_csv(made, folder / "a.csv")
    pa.parquet.write_table(made, folder / "a.parquet", row_group_size=7)
    first, second = (
        read_table(Description(folder / name, "id"), "x") for name in ("a.csv", "a.parquet")
    )
    assert same(first, second)


def test_types_of_parquet_are_its_own(tmp_path: Path) -> None:
    """Text stays text, dictionaries are text, unusable types are ignored."""
    path = tmp_path / "a.parquet"
    made = pa.table(
        {
            "id": pa.array(["1", "2", "3", "4"]),
            "digits": pa.array(["7", "8", "7", "8"]),
            "coded": pa.array(["u", "v", None, "u"]).dictionary_encode(),
            "yes": pa.array([True, False, None, True]),
            "whole": pa.array([1, 2, None, 4], pa.int8()),
            "exact": pa.array([1, 2, 3, 4]).cast(pa.decimal128(21, 2)),
            "day": pa.array([1, 2, 3, 4], pa.date32()),
            "list": pa.array([[1], [2], [3], [4]]),
        }
    )
    pa.parquet.write_table(made, path)
    read = read_table(Description(path, "id"), "x")
    assert read.ids.to_pylist() == ["1", "2", "3", "4"]
    assert read.ignored == ("list",)
    assert [(each.name, each.values, each.type) for each in read.columns] == [
        ("digits", ("7", "8"), "text"),
        ("coded", ("u", "v"), "text"),
        ("yes", ("false", "true"), "boolean"),
        ("whole", None, "text"),
        ("exact", None, "text"),
        ("day", None, "date"),
    ]
    assert read.features[0].tolist() == [0, 0, 1, 1, 1, 24]
    assert np.isnan(read.features[2, 1:4]).all()
    with pytest.raises(DataError, match=r"ids of type date32\[day\]; store whole numbers or text"):
        read_table(Description(path, "day"), "x")


@pytest.mark.slow
def test_large_files_come_in_several_batches(tmp_path: Path) -> None:
    """Of both formats, with a first text in the last row."""
    rows = 150_000
    made = pa.table(
        {"id": pa.array(np.arange(rows)), "a": pa.array([*map(str, range(rows - 1)), "end"])}
    )
    made = made.append_column("b", pa.array(np.arange(rows, dtype=np.float32)))
    pa.csv.write_csv(made, tmp_path / "a.csv")
    pa.parquet.write_table(made, tmp_path / "a.parquet")
    read = [read_table(Description(tmp_path / f"a.{s}", "id"), "x") for s in ("csv", "parquet")]
    assert same(*read)
    assert read[0].ignored == ("a",)
    assert np.array_equal(read[0].features[:, 0], np.arange(rows))
    with pytest.raises(DataError, match=f"column a is no number in row {rows}") as refusal:
        read_table(Description(tmp_path / "a.csv", "id", columns={"a": "numeric"}), "x")
    assert refusal.value.detail == "end"
