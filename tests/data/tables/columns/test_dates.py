"""Columns of dates and times."""

import datetime as dt
import math
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.own_data.own_tables import FEWER, Read, fitted, lines, uses
from vfl_flower.common.errors import ConfigError, DataError
from vfl_flower.data.preprocessing.encoder import Encoder
from vfl_flower.data.tables.description import Description, description_of
from vfl_flower.data.tables.reader import read_table
from vfl_flower.data.tables.reading.dates import DAY_FIRST, FAR, MONTH_FIRST, as_hours

START = dt.datetime(1970, 1, 1)
FORMATS = {
    "%Y-%m-%d": DAY_FIRST,
    "%Y-%m-%dT%H:%M:%S": DAY_FIRST,
    "%Y-%m-%d %H:%M:%S.%f": DAY_FIRST,
    "%Y/%m/%d": DAY_FIRST,
    "%Y%m%d": DAY_FIRST,
    "%d.%m.%Y": DAY_FIRST,
    "%d.%m.%Y %H:%M": DAY_FIRST,
    "%d/%m/%Y": DAY_FIRST,
    "%m/%d/%Y": MONTH_FIRST,
    "%m-%d-%Y %I:%M %p": MONTH_FIRST,
    "%d %b %Y": DAY_FIRST,
    "%d-%b-%Y": DAY_FIRST,
    "%d%b%Y": DAY_FIRST,
    "%B %d, %Y": MONTH_FIRST,
}


def hours(moment: dt.datetime) -> float:
    """Compute hours since 1970, down to quarters."""
    exact = (moment - START) / dt.timedelta(hours=1)
    return math.floor(exact * 4) / 4 if abs(exact) < FAR else math.floor(exact / 24) * 24.0


@FEWER
@given(
    moments=st.lists(st.datetimes(dt.datetime(1000, 1, 1)), min_size=1, max_size=5),
    written=st.sampled_from(sorted(FORMATS)),
)
def test_what_is_written_is_read(moments: list[dt.datetime], written: str) -> None:
    text = [moment.strftime(written) for moment in moments]
    read = as_hours(pa.array([*text, None, "no date"]), FORMATS[written])
    expected = [hours(dt.datetime.strptime(each, written)) for each in text]
    np.testing.assert_array_equal(read, [*expected, np.nan, np.nan])
    np.testing.assert_array_equal(read, read.astype(np.float32))
    np.testing.assert_array_equal(as_hours(pa.array(text), FORMATS[written]), expected)


@pytest.mark.parametrize(
    "text",
    ["2024-02-30", "2023-02-29", "0000-01-01", "31.4.2024", "2024-13-01", "2024-01-01 24:00",
     "2024-01-01 13:00 PM", "1.2", "Febuary 3, 2024", "2024-01-01x", "20241301"],
)  # fmt: skip
def test_days_that_are_none_are_no_dates(text: str) -> None:
    assert np.isnan(as_hours(pa.array([text]))).all()


@pytest.mark.parametrize("zone", ["+02:00", "+0200", "+02", " +02:00"])
def test_offsets_count(zone: str) -> None:
    read = as_hours(pa.array([f"2024-01-01T01:30:10{zone}", "2024-01-01T01:30Z"]))
    assert (read[1] - read[0]).item() == 2


def day(n: int) -> dt.date:
    return dt.date(2023, 11, 20) + dt.timedelta(days=50 * n)


def test_dates_become_parts_and_an_age(table: Read) -> None:
    """Age counts up to the latest training row."""
    content = lines("id,seen", lambda n: f"{n},{'' if n == 1 else day(n)}")
    read = table(content)
    assert uses(read) == {"seen": "date"}
    encoder = fitted(read, np.arange(8))
    made = encoder.apply(read.features, read.columns)
    assert made.shape == (12, encoder.width) == (12, 8)
    known = sorted(day(n) for n in range(8) if n != 1)
    days = [day(n) if n != 1 else known[3] for n in range(12)]
    ages = np.array([(day(7) - each).days for each in days])
    np.testing.assert_allclose(made[:, 1], (ages - ages[:8].mean()) / ages[:8].std(), rtol=1e-5)
    years = np.array([each.year for each in days])
    np.testing.assert_allclose(made[:, 0], (years - years[:8].mean()) / years[:8].std(), rtol=1e-5)
    for place, part, period in (
        (2, [each.month - 1 for each in days], 12),
        (4, [each.day - 1 for each in days], 31),
        (6, [each.weekday() for each in days], 7),
    ):
        angle = 2 * np.pi * np.array(part) / period
        np.testing.assert_allclose(made[:, place], np.sin(angle), atol=1e-6)
        np.testing.assert_allclose(made[:, place + 1], np.cos(angle), atol=1e-6)
    assert encoder.dates[0].reference == hours(dt.datetime(2024, 11, 4))


def test_a_reference_date_counts_and_a_later_one_makes_all_older(
    table: Read, tmp_path: Path
) -> None:
    content = lines("id,seen", lambda n: f"{n},{day(n)} {n}:15")
    read = table(content, reference_date="2024-03-01")
    encoder = fitted(read)
    assert encoder.width == 10
    assert encoder.dates[0].reference == hours(dt.datetime(2024, 3, 1))
    path = tmp_path / "encoder.json"
    path.write_bytes(encoder.to_json())
    loaded = Encoder.load(path)
    assert loaded == encoder
    now = encoder.apply(read.features, read.columns)
    same = table(content, loaded)
    np.testing.assert_array_equal(loaded.apply(same.features, same.columns), now)
    later = table(content, loaded, reference_date="2024-03-31")
    older = loaded.apply(later.features, later.columns)
    np.testing.assert_allclose(
        older[:, 1] - now[:, 1], 30 / encoder.dates[0].age.deviation, rtol=1e-4
    )
    np.testing.assert_array_equal(np.delete(older, 1, 1), np.delete(now, 1, 1))


def test_an_order_that_dates_do_not_tell_is_to_be_said(table: Read) -> None:
    vague = lines("id,d", lambda n: f"{n},{n + 1:02}/{12 - n:02}/2024")
    with pytest.raises(DataError, match="no column that can be used") as error:
        table(vague)
    assert "day or the month comes first" in error.value.detail
    with pytest.raises(DataError, match="column d has dates that do not tell whether"):
        table(vague, columns={"d": "date"})
    days = table(vague, columns={"d": "date:month-first"})
    assert days.features[1, 0] == hours(dt.datetime(2024, 2, 11))
    told = table(vague + "x,28/2/2024\n")
    assert (uses(told), told.columns[0].use) == ({"d": "date"}, "date:day-first")
    new = table("id,d\n1,1/2/2024\n", fitted(told))
    assert new.features[0, 0] == hours(dt.datetime(2024, 2, 1))
    with pytest.raises(DataError, match="d was of type date at training, and is of type text now"):
        table("id,d\n1,12/31/2024\n", fitted(told))


def test_few_dates_stay_categories_and_the_line_says_how_to_change_it(table: Read) -> None:
    content = lines("id,d", lambda n: f"{n},2024-01-0{n % 3 + 1}")
    read = table(content)
    assert uses(read) == {"d": "categorical"}
    assert '"date" would make parts' in read.looked[0].advice.text
    assert uses(table(content, columns={"d": "date"})) == {"d": "date"}
    with pytest.raises(DataError, match="column d is no date in row 13") as error:
        table(content + "x,2024-02-30\n", columns={"d": "date"})
    assert error.value.detail == "2024-02-30"


def test_numbers_before_dates_are_no_dates(table: Read) -> None:
    """And none is found where a file's first megabyte is of numbers."""
    last = 150_000
    content = lines("id,k,d", lambda n: f"{n},1,{n if n < last else day(n - last)}", last + 12)
    assert uses(table(content)) == {"k": "numeric", "d": "ignored"}


def test_parquet_says_what_a_date_is(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    moments = [dt.datetime(2024, 1, 1, 6, 40), None, dt.datetime(9999, 12, 31)]
    made = {
        "day": pa.array(moments, pa.date32()),
        "long": pa.array(moments, pa.date64()),
        "ms": pa.array(moments, pa.timestamp("ms")),
        "zoned": pa.array(moments, pa.timestamp("us", "UTC")),
        "none": pa.nulls(3, pa.date32()),
        "length": pa.array([1, 2, 3], pa.duration("s")),
    }
    pa.parquet.write_table(pa.table({"id": [1, 2, 3], **made}), path)
    read = read_table(Description(path, "id", missing=("9999-12-31",)), "x")
    assert read.ignored == ("none", "length")
    first = hours(dt.datetime(2024, 1, 1))
    np.testing.assert_array_equal(read.features[0], [first, first, first + 6.5, first + 6.5])
    assert np.isnan(read.features[1:, 0]).all()
    assert read.looked[-1].advice.text == "write it as numbers or text"
    with pytest.raises(DataError, match="x: column day is of type date, and cannot be numeric"):
        read_table(Description(path, "id", columns={"day": "numeric"}), "x")


@pytest.mark.parametrize("said", ["31.1.2026", "2026-02-30", 2026, "today"])
def test_a_reference_date_is_a_day(said: object) -> None:
    with pytest.raises(ConfigError, match="reference-date must be a day such as"):
        description_of({"file": "a", "id": "b", "reference-date": said}, Path())
