"""Curves of a paper's figures: accuracy by epoch, step or bytes."""

import statistics

from benchmarks.reproducing.paper import Curve
from benchmarks.reproducing.readings import MIB
from benchmarks.reproducing.runs import Record

Points = list[tuple[float, float]]


def course(curve: Curve, record: Record) -> Points:
    """Return the points of a curve: means over seeds, in percent.

    Parameters
    ----------
    curve : Curve
        The curve.
    record : dict
        The results of its experiment.
    """
    kind, party = curve.reading.split(":")
    runs = [
        [
            (_place(each, curve.across), 100 * each[kind][party])
            for each in seed["course"]
            if each[kind]
        ]
        for seed in record["seeds"]
        if not seed["failed"]
    ]
    return [
        (statistics.fmean(x for x, _ in points), statistics.fmean(y for _, y in points))
        for points in zip(*runs, strict=False)
    ]


def _place(evaluation: Record, across: str) -> float:
    return evaluation["bytes"] / MIB if across == "mib" else float(evaluation[across])
