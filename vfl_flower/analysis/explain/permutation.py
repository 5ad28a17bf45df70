"""Importance by permutation: the loss of a score.

The columns of one group, such as those of a party, are permuted among held-out rows: each row gets
those of another. Whatever the group says of a row is then said of a wrong one, and the score falls
by what it counted,

    d_g = s(f(x)) - 1/R sum_r s(f(x with x_g permuted by r)),        R: `repeats`

with R permutations by the seed (Breiman 2001, 10.1023/A:1010933404324; Fisher et al. 2019,
arXiv:1801.01489). f is the method's own protocol of an evaluation, with all parties here: methods
need no part in it, and masks are computed as always. Between two answers the active party goes
back to the state before, as it would to a checkpoint, so that it keeps no answer of other columns.

The interval holds the middle 95 % of what d_g is on rows and permutations drawn anew, with
replacement, from those that were (a bootstrap). It says nothing of another training.
"""

import math
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import torch
from torch import Tensor

from vfl_flower.analysis.explain.choices import PARTS, How
from vfl_flower.analysis.explain.groups import Group
from vfl_flower.common.codec import Array
from vfl_flower.common.errors import DataError, TrainingError
from vfl_flower.config.evaluation.metrics import loss_of_score
from vfl_flower.data.preprocessing.target import Target
from vfl_flower.learning.losses import Labels, Weighted
from vfl_flower.learning.metrics.judge import score_of
from vfl_flower.parties.active import ActiveParty
from vfl_flower.parties.party import Party
from vfl_flower.parties.passive import PassiveParty
from vfl_flower.privacy.secure_aggregation import agree_keys
from vfl_flower.protocol.exchange import Protocol
from vfl_flower.runs.party_logs import party_logs
from vfl_flower.runs.run_folder import RunFolder
from vfl_flower.training.evaluation import infer
from vfl_flower.transport.local import LocalTransport
from vfl_flower.workflows.trained_parties import parties_of

LEVEL = 0.95
MOST_ROWS = 10_000
"""Rows that are asked at most; of more, the seed draws so many."""

_DRAWS = 200
"""Of the bootstrap."""

_DIGITS = 9
"""Of a drop; a group that counts for nothing has exactly none."""


@dataclass(frozen=True)
class Drop:
    """Loss of the score when one group of columns is permuted.

    Attributes
    ----------
    name : str
        The group's.
    permuted : float
        The score with its columns permuted, the mean over repetitions.
    drop, low, high : float
        By how much that is worse than the score without; and an interval for it.
    """

    name: str
    permuted: float
    drop: float
    low: float
    high: float


@dataclass(frozen=True)
class Drops:
    """Losses of the score for several groups.

    Attributes
    ----------
    metric : str
        Name of the score, one of `METRICS`.
    score : float
        With nothing permuted.
    drops : list of Drop
        In the order of the groups.
    """

    metric: str
    score: float
    drops: list[Drop]


@dataclass(frozen=True, eq=False)
class Panel:
    """Trained parties of a run, and rows to explain them on.

    Attributes
    ----------
    folder : RunFolder
        The run's.
    active : ActiveParty
        With labels; no party noises what it says.
    passive : list of PassiveParty
        By rank.
    how : How
        What was asked for.
    rows : ndarray of int32
        (N,), all rows of the part, or `MOST_ROWS` of them.
    """

    folder: RunFolder
    active: ActiveParty
    passive: list[PassiveParty]
    how: How
    rows: Array

    @property
    def parties(self) -> list[Party]:
        """All parties, the active one first."""
        return [self.active, *self.passive]


def panel_of(folder: RunFolder, how: How) -> Panel:
    """Build the parties of a complete run to explain them.

    Raises
    ------
    ConfigError
        If the metric is not one of these labels.
    DataError
        If the run held no such rows out.
    RunError
        See `parties_of`.
    """
    active, passive = parties_of(folder)
    for party in (active, *passive):  # whose columns are changed in their places
        party.data = replace(party.data, x=party.data.numbers)
    for party in passive:
        party.only_predict()
    how.metric_of(active.target.task, active.cfg.metric)
    rows = active.rows[how.rows]
    if not len(rows):
        other = PARTS[1 - PARTS.index(how.rows)]
        raise DataError(f"the run held out no {how.rows} rows; explain it on {other} rows")
    if len(rows) > MOST_ROWS:
        random = np.random.default_rng(active.cfg.seed)
        rows = np.sort(random.choice(rows, MOST_ROWS, replace=False))
    return Panel(folder, active, passive, how, rows)


def drops_of(panel: Panel, groups: Sequence[Group]) -> Drops:
    """Measure the loss of the score for each group.

    Parameters
    ----------
    panel : Panel
        The parties, and the rows.
    groups : sequence of Group
        Of columns of these parties.

    Raises
    ------
    PartyError
        If a party fails.
    """
    found: list[Drops] = []
    panel.active.task = partial(_task, panel, groups, found)
    try:
        with party_logs(panel.folder, len(panel.passive)):
            LocalTransport(panel.passive).run(panel.active)
    finally:
        panel.active.close()
    return found[0]


def _task(panel: Panel, groups: Sequence[Group], found: list[Drops]) -> Protocol:
    """Ask for the rows as they are, then permuted group by group."""
    active, rows = panel.active, panel.rows
    metric = panel.how.metric_of(active.target.task, active.cfg.metric)
    judge = Judge(metric, active.target, active.truth(rows))
    yield from agree_keys(active.cfg)
    begun = deepcopy(active.durable())
    clean = (yield from infer(active, rows))[0]
    drops = []
    for number, group in enumerate(groups):
        said = []
        for repetition in range(panel.how.repeats):
            random = np.random.default_rng([active.cfg.seed, number, repetition])
            active.recall(deepcopy(begun))
            with group.permuted(rows, random.permutation(len(rows))):
                said.append((yield from infer(active, rows))[0])
        random = np.random.default_rng([active.cfg.seed, number])
        drops.append(judge.drop(group.name, clean, said, random))
    found.append(Drops(judge.metric, judge.score(clean), drops))


@dataclass(frozen=True)
class Judge:
    """Scores of predictions of some rows.

    Attributes
    ----------
    metric : str
        One of `METRICS`.
    target : Target
        What the labels are.
    y : Tensor or Weighted
        Labels, (N,), with the rows' weights where they have some.
    """

    metric: str
    target: Target
    y: Labels

    def score(self, said: Tensor) -> float:
        """Judge predictions, (N, C); see `score_of`."""
        return score_of(self.metric, said, self.y, self.target)

    def drop(
        self, name: str, clean: Tensor, said: Sequence[Tensor], random: np.random.Generator
    ) -> Drop:
        """Compare predictions, (N, C), with R of permuted columns."""
        drawn = []
        for _ in range(_DRAWS):
            rows = torch.from_numpy(random.integers(len(clean), size=len(clean)))
            times, counts = np.unique(
                random.integers(len(said), size=len(said)), return_counts=True
            )
            drawn.append(self._drawn(rows, clean, [said[time] for time in times], counts))
        low, high = np.nanquantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
        permuted = float(np.mean([self.score(each) for each in said]))
        found = (permuted, loss_of_score(self.metric, permuted, self.score(clean)), low, high)
        return Drop(name, *(round(float(each), _DIGITS) + 0.0 for each in found))  # and no -0.0

    def _drawn(self, rows: Tensor, clean: Tensor, said: Sequence[Tensor], counts: Array) -> float:
        """Return the drop on drawn rows; NaN where it is undefined."""
        judge = replace(self, y=_taken(self.y, rows))
        try:
            permuted = np.average([judge.score(each[rows]) for each in said], weights=counts)
            return loss_of_score(self.metric, float(permuted), judge.score(clean[rows]))
        except TrainingError:  # they lack a class
            return math.nan


def _taken(y: Labels, rows: Tensor) -> Labels:
    """Return the labels of some rows, with their weights."""
    return y[rows] if isinstance(y, Tensor) else Weighted(y.y[rows], y.weight[rows])
