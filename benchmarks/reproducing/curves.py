"""Curves of a paper's figures: accuracy by epoch, step or bytes."""

import statistics

from benchmarks.reproducing.paper import Curve
from benchmarks.reproducing.readings import MIB
from benchmarks.reproducing.runs import Record

Points = list[tuple[float, float]]


def course(curve: Curve, record: Record) -> Points:
    """Return the points of a curve in percent: means over seeds.

    Without those that failed. It is as long as the longest run; one that has stopped goes on with
    the accuracy of the weights that it kept.

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
    runs = [points for points in runs if points]
    best = record["flags"].get("keep") == "best"
    kept = [max(y for _, y in points) if best else points[-1][1] for points in runs]
    return [_mean(runs, kept, place) for place in range(max(map(len, runs), default=0))]


def _mean(runs: list[Points], kept: list[float], place: int) -> tuple[float, float]:
    """Return the mean at an evaluation; runs that have ended keep theirs."""
    going = [points[place] for points in runs if place < len(points)]
    ended = [y for y, points in zip(kept, runs, strict=True) if place >= len(points)]
    return statistics.fmean(x for x, _ in going), statistics.fmean([*ended, *(y for _, y in going)])


def _place(evaluation: Record, across: str) -> float:
    return evaluation["bytes"] / MIB if across == "mib" else float(evaluation[across])
