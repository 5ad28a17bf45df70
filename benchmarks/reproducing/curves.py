"""Curves of a paper's figures: accuracy by epoch, step or bytes."""

import statistics

from benchmarks.reproducing.paper import Curve
from benchmarks.reproducing.readings import MIB
from benchmarks.reproducing.runs import Record

Points = list[tuple[float, float]]


def course(curve: Curve, record: Record) -> Points:
    """Return the points of a curve in percent: means over seeds.

    Without those that failed. One that was stopped, as its accuracy fell, ends with that of the
    weights that it kept, and goes on with it to the end of the longest.

    Parameters
    ----------
    curve : Curve
        The curve.
    record : dict
        The results of its experiment.
    """
    drop = float(record["flags"].get("stop-drop", 0)) / 100
    there = [seed["course"] for seed in record["seeds"] if not seed["failed"]]
    runs = [points for points in (_points(curve, each, drop) for each in there) if points]
    return [_mean(runs, place) for place in range(max(map(len, runs), default=0))]


def _points(curve: Curve, evaluations: list[Record], drop: float) -> Points:
    """Return the points of one run; a drop may have stopped it."""
    kind, party = curve.reading.split(":")
    told = [each for each in evaluations if each[kind]]
    points = [(_place(each, curve.across), 100 * each[kind][party]) for each in told]
    scores = [statistics.fmean((each["validation"] or {"": 0.0}).values()) for each in told]
    if drop and scores and scores[-1] < max(scores) - drop:
        points[-1] = points[-1][0], points[scores.index(max(scores))][1]
    return points


def _mean(runs: list[Points], place: int) -> tuple[float, float]:
    """Return the mean at an evaluation, after a run's last with that."""
    going = [points[place] for points in runs if place < len(points)]
    ended = [points[-1][1] for points in runs if place >= len(points)]
    return statistics.fmean(x for x, _ in going), statistics.fmean([*ended, *(y for _, y in going)])


def _place(evaluation: Record, across: str) -> float:
    return evaluation["bytes"] / MIB if across == "mib" else float(evaluation[across])
