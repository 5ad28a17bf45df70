"""Coefficients of one party as CSV, for its own eyes."""

import csv
import io
import math
from collections.abc import Iterator, Sequence

import numpy as np

from vfl_flower.algorithms.linear_models.errors import OwnErrors
from vfl_flower.algorithms.linear_models.wald import Matrix, wald, wald_titles
from vfl_flower.common.names import party_name
from vfl_flower.config.run_config import RunConfig
from vfl_flower.data.held_columns import encoder_of
from vfl_flower.data.party_data import PartyData
from vfl_flower.data.preprocessing.encoder import Encoder

COEFFICIENTS = "coefficients.csv"
"""In a party's model folder."""

_GAP = "(none)"
"""Value of a category that is missing, or of one without a coefficient of its own."""

_Named = tuple[str, str, str, str]


def coefficients_csv(
    cfg: RunConfig,
    data: PartyData,
    weight: Matrix,
    intercept: Matrix | None = None,
    errors: OwnErrors | None = None,
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
    errors : OwnErrors, optional
        Of the coefficients, where the run has some: standard error, statistic, p-value and
        interval follow each, or nothing where it has none.
    """
    party, outputs = party_name(data.rank), weight.shape[1]
    titles = ["coefficient"] if outputs == 1 else [f"coefficient {m + 1}" for m in range(outputs)]
    if errors is not None:
        titles += [*wald_titles(errors.freedom)]
        weight = np.hstack([weight, wald(weight[:, 0], errors.found.numpy(), errors.freedom)])
    if errors is not None and intercept is not None:
        of_intercept = wald(intercept, np.array([errors.intercept]), errors.freedom)
        intercept = np.concatenate([intercept, of_intercept[0]])
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["party", "column", "value", "mean", "deviation", *titles])
    for named, row in zip(named_columns(cfg, data, len(weight)), weight, strict=True):
        writer.writerow([party, *named, *_written(row)])
    if intercept is not None:
        writer.writerow([party, "(intercept)", "", "", "", *_written(intercept)])
    return file.getvalue().encode()


def _written(row: Matrix) -> Sequence[str]:
    """Write numbers in full, and NaN as nothing."""
    return ["" if math.isnan(each) else repr(float(each)) for each in row]


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
