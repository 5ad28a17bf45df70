"""Coefficients and scorecard of a party, as its own files.

That is its coefficients and, where bins stand for values, its part of a scorecard. The score of a
row is linear in its log-odds against the positive class,

    score = offset + factor ln(odds against),   factor = double / ln 2,
    offset = points - factor ln(odds),

so that `odds` have `points`, and twice the odds `double` more. It is a sum: each party's points of
its columns' bins, and the active party's for the intercept.
"""

import csv
import io
import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from vfl_flower.algorithms.linear_models.block import Coefficients
from vfl_flower.algorithms.linear_models.errors import OwnErrors
from vfl_flower.algorithms.linear_models.evidence import Evidence
from vfl_flower.algorithms.linear_models.table import (
    COEFFICIENTS,
    coefficients_csv,
    named_columns,
)
from vfl_flower.common.names import party_name
from vfl_flower.config.run_config import RunConfig
from vfl_flower.data.party_data import PartyData

Scale = tuple[float, float, float]
"""Points, the odds against the positive class that have them, and points to double the odds."""

SCORECARD = "scorecard.csv"
"""In a party's model folder."""

Matrix = NDArray[np.float64]
_TITLES = ("party", "column", "value", "above", "up to", "evidence", "coefficient", "points")


def own_files(
    cfg: RunConfig,
    data: PartyData,
    model: Coefficients,
    scale: Scale,
    intercept: Matrix | None = None,
    errors: OwnErrors | None = None,
) -> dict[str, bytes]:
    """Write a party's coefficients and scorecard, by name.

    Parameters
    ----------
    cfg : RunConfig
        The run's configuration.
    data : PartyData
        Its data, whose columns these are.
    model : Coefficients
        Its part of the model.
    scale : Scale
        Of the scorecard.
    intercept : ndarray of float64, optional
        (M,), of the active party.
    errors : OwnErrors, optional
        Of its coefficients, where the run has some.
    """
    weight = model.weight.detach().cpu().numpy()
    files = {COEFFICIENTS: coefficients_csv(cfg, data, weight, intercept, errors)}
    if model.evidence is not None:
        lines = [*_of_bins(cfg, data, model.evidence, weight[:, 0], scale)]
        if intercept is not None:
            lines.append(_of_intercept(float(intercept[0]), scale))
        files[SCORECARD] = _table(party_name(data.rank), lines)
    return files


def _table(party: str, lines: Sequence[Sequence[str]]) -> bytes:
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(_TITLES)
    writer.writerows([party, *line] for line in lines)
    return file.getvalue().encode()


def _of_intercept(intercept: float, scale: Scale) -> Sequence[str]:
    points, odds, double = scale
    base = points - double / math.log(2) * (math.log(odds) + intercept)
    return "(intercept)", "", "", "", "", repr(intercept), repr(base)


def _of_bins(
    cfg: RunConfig, data: PartyData, evidence: Evidence, weight: Matrix, scale: Scale
) -> Iterator[Sequence[str]]:
    """Return a line for each bin, without the party.

    Numbers of a table have the table's own unit, others are as they are standardised.
    """
    factor = scale[2] / math.log(2)
    edges, weights = evidence.edges.cpu().numpy(), evidence.weights.cpu().numpy()
    named = named_columns(cfg, data, len(weight))
    for number, (column, value, mean, deviation) in enumerate(named):
        known = edges[number][np.isfinite(edges[number])]
        known = known * float(deviation or 1) + float(mean or 0)
        ends, coefficient = ["", *(repr(float(each)) for each in known), ""], float(weight[number])
        for place, of_bin in enumerate(weights[number][: len(known) + 1]):
            numbers = float(of_bin), coefficient, -factor * coefficient * float(of_bin)
            yield column, value, ends[place], ends[place + 1], *map(repr, numbers)
