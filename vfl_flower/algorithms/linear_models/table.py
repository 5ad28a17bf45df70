"""Coefficients of one party as CSV, for its own eyes."""

import csv
import io
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from vfl_flower.common.names import party_name
from vfl_flower.config.run_config import RunConfig
from vfl_flower.data.held_columns import encoder_of
from vfl_flower.data.party_data import PartyData
from vfl_flower.data.preprocessing.encoder import Encoder

COEFFICIENTS = "coefficients.csv"
"""In a party's model folder."""

_GAP = "(none)"
"""Value of a category that is missing, or of one without a coefficient of its own."""

Matrix = NDArray[np.float64]
_Named = tuple[str, str, str, str]


def coefficients_csv(
    cfg: RunConfig, data: PartyData, weight: Matrix, intercept: Matrix | None = None
) -> bytes:
    """Write coefficients with their party and columns.

    One line a coefficient row: party, column, value (of a category), mean and deviation by which a
    number was standardised, and the coefficient of each of M outputs. An intercept has no column.

    Parameters
    ----------
    cfg : RunConfig
        The run's configuration.
    data : PartyData
        The party's, whose columns they are.
    weight : ndarray of float64
        (F, M), of the columns as the encoder makes them.
    intercept : ndarray of float64, optional
        (M,), of the active party.
    """
    party, outputs = party_name(data.rank), weight.shape[1]
    titles = ["coefficient"] if outputs == 1 else [f"coefficient {m + 1}" for m in range(outputs)]
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["party", "column", "value", "mean", "deviation", *titles])
    for named, row in zip(named_columns(cfg, data, len(weight)), weight, strict=True):
        writer.writerow([party, *named, *_written(row)])
    if intercept is not None:
        writer.writerow([party, "(intercept)", "", "", "", *_written(intercept)])
    return file.getvalue().encode()


def _written(row: Matrix) -> Sequence[str]:
    return [repr(float(each)) for each in row]


def named_columns(cfg: RunConfig, data: PartyData, width: int) -> Iterator[_Named]:
    """Name each encoded column: column, value, mean and deviation."""
    if encoder := encoder_of(cfg, data):
        yield from _encoded(encoder)
        return
    numbers = range(width) if isinstance(data.share, tuple) else data.share
    for number in numbers:
        yield f"column {number}", "", "", ""


def _encoded(encoder: Encoder) -> Iterator[_Named]:
    for each in encoder.numeric:
        yield each.name, "", repr(each.mean), repr(each.deviation)
    sources, seen = encoder.sources[len(encoder.numeric) :], dict[str, int]()
    for name in sources:
        place = seen[name] = seen.get(name, -1) + 1
        known = encoder.categories[name].known if name in encoder.categories else None
        if known is None:
            yield name, f"part {place + 1}", "", ""
        else:
            yield name, known[place] if place < len(known) else _GAP, "", ""
