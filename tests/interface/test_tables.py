"""Tables in memory: copies, types, columns that are not used."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

import vfl_flower as vfl
from vfl_flower.common.errors import ConfigError, DataError


def written(table: vfl.Table, folder: Path) -> dict[str, list[Any]]:
    """Return the cells that a run would read."""
    (folder / "table").mkdir(exist_ok=True)
    table.write(folder)
    cells: dict[str, list[Any]] = pq.read_table(folder / "table" / "table.parquet").to_pydict()
    return cells


def test_later_changes_of_a_frame_do_not_reach_its_table(tmp_path: Path) -> None:
    columns = {"id": np.arange(5), "a": np.zeros(5)}
    frame = pd.DataFrame(columns)
    tables = [vfl.Table(columns, id="id"), vfl.Table(frame, id="id")]
    columns["a"][0] = columns["id"][0] = 77
    frame.loc[0, "a"] = 77.0
    frame["a"].array._ndarray[1] = 77.0  # as one that writes to its memory does
    for table in tables:
        assert written(table, tmp_path) == {"id": [0, 1, 2, 3, 4], "a": [0] * 5}


def test_a_named_range_index_is_a_column(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": [1.0, 2.0]}, index=pd.RangeIndex(2, name="id"))
    assert written(vfl.Table(frame, id="id"), tmp_path)["id"] == [0, 1]


def test_names_of_columns_need_not_be_text() -> None:
    frame = pd.DataFrame(np.zeros((3, 2)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "2 columns" in repr(vfl.Table(frame, id="0"))


def test_categories_of_intervals_are_refused_with_a_remedy() -> None:
    frame = pd.DataFrame({"id": range(6), "age": pd.cut(np.arange(6.0), 3)})
    with pytest.raises(DataError, match=r"column age .* astype\(str\)"):
        vfl.Table(frame, id="id")


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ({"id": None}, "id must be the name of one column"),
        ({"id": 0}, "id must be"),
        ({"id": ["id"]}, "id must be"),
        ({"label": 0}, "label must be the name of one column"),
        ({"label": pd.Series([1, 2])}, "label must be"),
        ({"columns": ["a"]}, "columns must be uses by name"),
        ({"columns": {0: "numeric"}}, "columns must be uses by name"),
        ({"missing": "NA"}, "missing must be a list of texts"),
        ({"id": "nobody"}, "no column 'nobody'; it has id, a"),
    ],
)
def test_what_is_said_of_a_table_is_checked(said: dict[str, Any], text: str) -> None:
    with pytest.raises((ConfigError, DataError), match=text):
        vfl.Table({"id": [1, 2], "a": [1, 2]}, **{"id": "id"} | said)


def test_no_label_may_be_said() -> None:
    assert "label" not in repr(vfl.Table({"id": [1], "a": [1]}, id="id", label=None))
