"""Encoder of dates: parts of the calendar, and an age."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np
from numpy.typing import NDArray

from vfl_flower.data.columns import Column
from vfl_flower.data.preprocessing.encoder_columns import Matrix, Numeric

_SCALE = {"mean": float, "deviation": float}
DATES = {
    "name": str,
    "order": str,
    "times": bool,
    "median": float,
    "reference": float,
    "year": _SCALE,
    "age": _SCALE,
}

_DAY = 24


@dataclass(frozen=True)
class Scale:
    """Standardisation of a part."""

    mean: float
    deviation: float

    def of(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return (x - mean) / deviation."""
        return (values - self.mean) / self.deviation


@dataclass(frozen=True)
class Dates:
    """Column of dates, in hours since 1970-01-01.

    It becomes the year and the age in days, standardised; sine and cosine of the month, the day of
    the month and the weekday; and of the time of the day, if the training rows have times.

    Attributes
    ----------
    name : str
    order : str
        Of day and month, as `use` has it; empty where the dates tell.
    times : bool
    median : float
        The hour that stands where there is none.
    reference : float
        The hour up to which an age counts.
    year, age : Scale
    """

    name: str
    order: str
    times: bool
    median: float
    reference: float
    year: Scale
    age: Scale

    @classmethod
    def fit(cls, column: Column, sample: Matrix) -> "Dates":
        """Fit to hours, (n,) with NaN for gaps."""
        known = sample[~np.isnan(sample)].astype(np.float64)
        times = bool((known % _DAY).any())
        median = float(np.median(known))
        median = median if times else median // _DAY * _DAY
        latest = float(known.max()) if column.reference is None else column.reference
        filled = np.where(np.isnan(sample), median, sample).astype(np.float64)
        ages = (latest - filled) / _DAY
        order = column.use.partition(":")[2]
        scales = (_scale(_calendar(filled)[0]), _scale(ages))
        return cls(column.name, order, times, median, latest, *scales)

    @property
    def width(self) -> int:
        """How many columns it becomes."""
        return 10 if self.times else 8

    def fill(self, made: Matrix, column: Column, codes: Matrix) -> None:
        """Write the parts, (n, width)."""
        hours = np.where(np.isnan(codes), self.median, codes).astype(np.float64)
        year, month, day, weekday = _calendar(hours)
        reference = self.reference if column.reference is None else column.reference
        made[:, 0] = self.year.of(year)
        made[:, 1] = self.age.of((reference - hours) / _DAY)
        parts = [(month, 12), (day, 31), (weekday, 7)]
        for place, (part, period) in enumerate(parts + [(hours % _DAY, _DAY)] * self.times):
            angle = 2 * np.pi * part / period
            made[:, 2 + 2 * place] = np.sin(angle)
            made[:, 3 + 2 * place] = np.cos(angle)

    def unseen(self, column: Column, codes: Matrix) -> NDArray[np.bool_]:
        """Mark no row: any date has parts and an age."""
        return np.zeros(len(codes), bool)


def _calendar(hours: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
    """Return year, and month, day and weekday from 0."""
    days = np.floor(hours / _DAY).astype(np.int64)
    dates = days.astype("datetime64[D]")
    months = dates.astype("datetime64[M]")
    year = dates.astype("datetime64[Y]").astype(np.int64) + 1970
    month = months.astype(np.int64) % 12
    day = (dates - months.astype("datetime64[D]")).astype(np.int64)
    return tuple(each.astype(np.float64) for each in (year, month, day, (days + 3) % 7))


def _scale(values: NDArray[np.float64]) -> Scale:
    fitted = Numeric.fit("", values.astype(np.float32))
    return Scale(fitted.mean, fitted.deviation)


def hour_of(day: str) -> float:
    """Return the hour at which a day such as 2026-01-31 begins."""
    since = datetime.fromisoformat(day).replace(tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)
    return since / timedelta(hours=1)
