"""Columns for splits: groups, and times as numbers or dates."""

from collections.abc import Sequence
from datetime import date, datetime
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from vfl_flower.common.errors import ConfigError, DataError
from vfl_flower.data.splitting.columns import split_column
from vfl_flower.data.tables.description import Description, described_at
from vfl_flower.data.tables.reader import read_table


def described(path: Path, cells: Sequence[object], suffix: str, **more: str) -> Description:
    frame = pd.DataFrame({"id": range(len(cells)), "by": cells, "a": range(len(cells))})
    file = path / f"table.{suffix}"
    frame.to_csv(file, index=False) if suffix == "csv" else frame.to_parquet(file)
    return Description(file, "id", group="by", time="by", **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize(
    "cells",
    [
        [3, 1, 2, 1],
        [0.5, -1.25, 0.0, -1.25],
        ["2024-03-01", "2019-12-31", "2024-02-29", "2019-12-31"],
        ["2024-03-01T12:00:00.5", "2024-03-01", "2024-03-01 11:59", "2024-03-01T00:00"],
        ["2024-03-01T12:00+02:00", "2024-03-01T09:00Z", "2024-03-01T09:30", "2024-03-01T09:00"],
        ["27.08.2020", "1.9.2019", "31.12.2019", "01.09.2019"],
        ["2020/08/27", "2019/9/1", "2019/12/31", "2019/09/01"],
        ["5-Jun-2020", "30-May-2019", "4 Jul 2019", "30 May 2019"],
        ["05/13/2020", "04/14/2020", "05/01/2020", "04/14/2020"],
        [
            "2024-03-01T12:00:00.5Z",
            "2024-03-01T12:00:00Z",
            "2024-03-01T12:00:00,25Z",
            "2024-03-01T14:00:00+02:00",
        ],
        [date(2024, 3, 1), date(1969, 1, 1), date(1970, 1, 1), date(1969, 1, 1)],
        [
            datetime(2024, 3, 1, 12),
            datetime(2024, 1, 1),
            datetime(2024, 2, 1),
            datetime(2024, 1, 1),
        ],
    ],
)
def test_times_are_in_order(tmp_path: Path, cells: list[object], suffix: str) -> None:
    """Each example is latest, earliest, between, and earliest again."""
    latest, earliest, between, again = split_column(
        described(tmp_path, cells, suffix), "time", "active"
    )
    assert earliest == again < between < latest


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize("cells", [["a", "b", " a", "c"], [7, 8, 7, 9], [0.5, 1.0, 0.5, 2.0]])
def test_groups_are_told_apart(tmp_path: Path, cells: list[object], suffix: str) -> None:
    a, b, again, c = split_column(described(tmp_path, cells, suffix), "group", "active")
    assert a == again
    assert len({a, b, c}) == 3


@pytest.mark.parametrize(
    ("key", "cells", "says"),
    [
        ("time", ["2024-03-01", "yesterday"], "neither a number nor a date"),
        ("time", ["31.02.2024", "1.1.2025"], "neither a number nor a date"),
        ("time", ["01/02/2024", "03/01/2024"], "do not tell whether the day or the month"),
        ("time", ["2024-03-01", "7"], "neither a number nor a date"),
        ("time", ["7", None], "has no time in 1 of 2 rows"),
        ("time", ["2024-03-01", "NA"], "has no time in 1 of 2 rows"),
        ("group", ["a", ""], "has no group in 1 of 2 rows"),
    ],
)
def test_cells_that_tell_nothing_are_refused(
    tmp_path: Path, key: str, cells: list[object], says: str
) -> None:
    with pytest.raises(DataError, match=f"active: table.csv .*{says}"):
        split_column(described(tmp_path, cells, "csv"), key, "active")


@pytest.mark.parametrize("said", ["day-first", "month-first"])
def test_times_have_the_stated_order_of_day_and_month(tmp_path: Path, said: str) -> None:
    columns = {"by": f"date:{said}"}
    told = described(tmp_path, ["01/02/2024", "03/01/2024"], "csv", columns=columns)  # type: ignore[arg-type]
    first, second = split_column(told, "time", "active")
    assert (first > second) == (said == "day-first")


def test_group_and_time_are_no_features_unless_it_is_said(tmp_path: Path) -> None:
    told = described(tmp_path, ["x", "y", "x"], "csv")
    assert [column.name for column in read_table(told, "active").columns] == ["a"]
    used = described(tmp_path, ["x", "y", "x"], "csv", columns={"by": "categorical"})  # type: ignore[arg-type]
    assert [column.name for column in read_table(used, "active").columns] == ["by", "a"]


@pytest.mark.parametrize(
    ("text", "rank", "says"),
    [
        ('group = "id"', 0, "group is the column of ids, labels or weights"),
        ('label = "y"\ntime = "y"', 0, "time is the column of ids, labels or weights"),
        ('group = "by"', 1, "party-1: .*names a group or a time"),
        ("time = 3", 0, "time must be a text"),
    ],
)
def test_descriptions_that_cannot_be_are_refused(
    tmp_path: Path, text: str, rank: int, says: str
) -> None:
    path = tmp_path / "a.toml"
    path.write_text(f'file = "a.csv"\nid = "id"\n{text}\n')
    with pytest.raises(ConfigError, match=says):
        described_at(path, rank)


def test_a_column_that_is_not_there_is_refused(tmp_path: Path) -> None:
    told = described(tmp_path, ["x", "y"], "csv")
    with pytest.raises(DataError, match="has no column 'region'"):
        read_table(Description(told.file, "id", group="region"), "active")
    assert np.array_equal(split_column(told, "group", "active"), [0, 1])
