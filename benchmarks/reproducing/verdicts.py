"""Verdicts on papers' numbers by ours."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import t as student
from scipy.stats import ttest_1samp, ttest_ind_from_stats

from benchmarks.reproducing.paper import Cell, Experiment, Paper
from benchmarks.reproducing.readings import guessing, read
from benchmarks.reproducing.runs import Record

REACHED, SAME, MISSED = "reached", "not distinguishable", "missed"
FAILED, MEASURED, NOT_RUN = "failed", "measured", "not run"
VERDICTS = (REACHED, SAME, MISSED, FAILED, MEASURED, NOT_RUN)
"""All verdicts. *Measured* is said where the paper names no number."""

LEVEL = 0.05
"""Of the tests: a 95 % interval of the difference."""

DIVERGED = "training diverged"
"""What happened to numbers that are not finite, or out of a ring's range."""

SAME_BUT_FOR_ROUNDING = 1e-9


@dataclass(frozen=True)
class Judged:
    """A cell with our numbers and the verdict.

    Attributes
    ----------
    cell : Cell
        The paper's.
    values : list of float
        Ours, one a seed.
    verdict : str
        One of `VERDICTS`.
    why : str
        What explains it; may be empty.
    """

    cell: Cell
    values: list[float]
    verdict: str
    why: str

    @property
    def mean(self) -> float | None:
        """Mean of ours, if there are some."""
        return statistics.fmean(self.values) if self.values else None

    @property
    def std(self) -> float | None:
        """Standard deviation of ours, of two seeds or more."""
        return statistics.stdev(self.values) if len(self.values) > 1 else None


def judged(paper: Paper, cell: Cell, record: Record | None) -> Judged:
    """Judge one cell.

    Parameters
    ----------
    paper : Paper
        Where it stands.
    cell : Cell
        The cell.
    record : dict or None
        The results of its experiment, as `benchmarks.reproducing.store` keeps them.
    """
    if cell.experiment is None:
        return Judged(cell, [], NOT_RUN, cell.why)
    seeds = record["seeds"] if record else []
    if not seeds:
        return Judged(cell, [], NOT_RUN, cost(paper.experiments[cell.experiment]))
    if failures := [each["failed"] for each in seeds if each["failed"]]:
        several = f"{len(failures)} of {len(seeds)} seeds" if len(failures) < len(seeds) else ""
        return Judged(cell, [], FAILED, _told(several, _brief(failures[0]), cell.why))
    found = [read(cell.reading, each) for each in seeds]
    values = [value for value in found if value is not None]
    if len(values) < len(found):
        return Judged(cell, [], MISSED, _told("no such value was reached", cell.why))
    verdict, how = _verdict(paper, cell, values)
    if verdict == SAME and (bad := _guessing(cell, seeds)):
        verdict, how = MISSED, f"{bad} of {len(seeds)} seeds no better than guessing"
    return Judged(cell, values, verdict, _told(how, cell.why if verdict == MISSED else ""))


def _guessing(cell: Cell, seeds: Sequence[Record]) -> int:
    """Count the seeds that guess where the claim does not.

    They widen our deviation so much that no claim would be distinguishable.
    """
    pairs = [(guessing(cell.reading, each), read(cell.reading, each)) for each in seeds]
    return sum(
        guess is not None and value <= guess + SAME_BUT_FOR_ROUNDING < (cell.claim or 0)
        for guess, value in pairs
        if value is not None
    )


def _brief(failure: str) -> str:
    """Return the text of a failed run in a few words."""
    return DIVERGED if "not finite" in failure else failure


def _told(*reasons: str) -> str:
    """Join reasons, without empty ones."""
    return "; ".join(filter(None, reasons))


def cost(experiment: Experiment) -> str:
    """Return why an experiment is not run: its time, with its search."""
    runs = 1 + (experiment.search.points if experiment.search else 0)
    minutes = max(round(runs * experiment.minutes), 1)
    time = "a minute" if minutes == 1 else f"{minutes} minutes"
    time = f"{minutes / 60:.0f} hours" if minutes >= 120 else time
    return experiment.lacking or f"about {time} for the first seed on two cores"


def _verdict(paper: Paper, cell: Cell, values: list[float]) -> tuple[str, str]:
    """Return the verdict, and how it was found if not plain."""
    if cell.claim is None:
        return MEASURED, ""
    ahead = statistics.fmean(values) - cell.claim
    if (-ahead if cell.lower else ahead) > -SAME_BUT_FOR_ROUNDING:
        return REACHED, ""
    if len(values) < 2 and (cell.spread is None or paper.repeats < 2):
        return MISSED, "one seed"
    p, how = _difference(paper, cell, values)
    return (SAME if p > LEVEL else MISSED), how


def _difference(paper: Paper, cell: Cell, values: list[float]) -> tuple[float, str]:
    """Test whether means differ, by Welch's test or one side's spread alone."""
    if len(values) < 2:
        wider = (cell.spread or 0) * (1 + 1 / paper.repeats) ** 0.5
        t = abs(values[0] - (cell.claim or 0)) / wider
        return float(2 * student.sf(t, paper.repeats - 1)), "one seed, by the paper's deviation"
    if cell.spread is None or paper.repeats < 2:
        if np.ptp(values) < SAME_BUT_FOR_ROUNDING:
            return 0.0, "by our seeds alone"
        return float(ttest_1samp(values, cell.claim).pvalue), "by our seeds alone"
    return welch(spread_of(values), (cell.claim or 0, cell.spread, paper.repeats)), ""


def spread_of(values: Sequence[float]) -> tuple[float, float, int]:
    """Return mean, standard deviation and number of two values or more."""
    return statistics.fmean(values), statistics.stdev(values), len(values)


def welch(ours: tuple[float, float, int], theirs: tuple[float, float, int]) -> float:
    """Return the p-value of Welch's test, by mean, deviation, number.

    Where both are constant but for rounding, it is 1 if they are the same, and 0 if not.
    """
    if max(ours[1], theirs[1]) < SAME_BUT_FOR_ROUNDING:
        return float(abs(ours[0] - theirs[0]) < SAME_BUT_FOR_ROUNDING)
    return float(ttest_ind_from_stats(*ours, *theirs, equal_var=False).pvalue)
