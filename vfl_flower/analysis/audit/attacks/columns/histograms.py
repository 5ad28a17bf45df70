"""Order of rows in a party's columns, from histograms of gradients.

A node's cumulative histogram has for each threshold t of a column the sum of g over the node's rows
below t. Summed over t, that is sum_i g_i c_i, where c_i counts the thresholds that row i is below:
one linear equation in the orders c of all rows, with coefficients that the active party knows; of h
there is another, and both of every node of every tree. The least-squares solution nearest to the
middle is the guess. Columns change places each round: those of a new round are assigned to the
known ones by how well these foretell their equations. Encrypted histograms are those that the
active party decrypts.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from vfl_flower.algorithms.boosting.channels.channel import Channel
from vfl_flower.algorithms.boosting.growth import Growth
from vfl_flower.analysis.audit.attack import Adversary, Attack, Score, Target
from vfl_flower.analysis.audit.transcripts.stage import Stage
from vfl_flower.common.codec import Array
from vfl_flower.common.names import party_name
from vfl_flower.parties.active import ActiveParty
from vfl_flower.parties.party import Party
from vfl_flower.parties.passive import PassiveParty

Matrix = NDArray[np.float64]

_RIDGE = 1e-6
"""Of equations scaled to a mean square of one."""


@dataclass(eq=False)
class View:
    """Equations that the active party has of one party's columns.

    Attributes
    ----------
    known : list of ndarray
        By round, (E, N): coefficients, scaled.
    sums : list of ndarray
        By round, (E, M): of each candidate.
    starts : list of ndarray
        By round, the first candidate of each column, as it looks: (F,).
    truth : ndarray
        (N, F) of the first round, for its judgement alone: how often each row is below.
    """

    known: list[Matrix] = field(default_factory=list)
    sums: list[Matrix] = field(default_factory=list)
    starts: list[Array] = field(default_factory=list)
    truth: Matrix = field(default_factory=lambda: np.empty((0, 0)))

    def note(self, growth: Growth, theirs: Growth, sent: Array) -> None:
        """Add the equations of one reply, (P, M, 2)."""
        if not growth.layer.node.any():
            self.begin(growth, theirs, sent[0, :, 1])
        trees = len(growth.layer.place)
        known, sums = [self.known[-1]], [self.sums[-1]]
        for place, index in enumerate(growth.layer.smaller().tolist()):
            tree = growth.layer.tree[index]
            inside = growth.layer.place[tree] == index
            made = growth.values[tree::trees] * inside
            scale = np.sqrt((made.astype(np.float64) ** 2).mean(1, keepdims=True)) + 1e-30
            known.append(made / scale)
            sums.append(sent[place].T / scale)
        self.known[-1], self.sums[-1] = np.concatenate(known), np.concatenate(sums)

    def begin(self, growth: Growth, theirs: Growth, H: Array) -> None:
        """Begin a round; columns begin where sums of h do not grow."""
        starts = np.flatnonzero(np.diff(H, prepend=H[:1]) <= 0)
        self.starts.append(starts)
        self.known.append(np.empty((0, growth.values.shape[1])))
        self.sums.append(np.empty((0, len(H))))
        if len(self.starts) == 1:
            offered, every = theirs.offered, np.arange(growth.values.shape[1])
            below = [theirs.bins.goes_left(offered, number, every) for number in range(len(H))]
            self.truth = np.add.reduceat(np.array(below, float), starts, axis=0).T

    def guess(self) -> Matrix:
        """Return the orders of all rows in each column, (N, F)."""
        known, sums = self.known[0], _by_column(self.sums[0], self.starts[0])
        counts, found = _counts(self, 0), _solved(known, sums, _counts(self, 0) / 2)
        for number in range(1, len(self.known)):
            theirs = _by_column(self.sums[number], self.starts[number])
            if theirs.shape[1] != len(counts):
                continue  # other columns are offered
            foretold = self.known[number] @ found
            cost = ((foretold[:, :, None] - theirs[:, None]) ** 2).mean(0)
            cost += 1e9 * (counts[:, None] != _counts(self, number))
            known = np.concatenate([known, self.known[number]])
            sums = np.concatenate([sums, theirs[:, _assigned(cost)]])
            found = _solved(known, sums, counts / 2)
        return found


class HistogramOrder(Attack):
    """Least squares over all nodes' histograms."""

    target, adversary = Target.COLUMNS, Adversary.ACTIVE
    anchor = "Cheng et al. 2021, arXiv:1901.08755; the equations are ours"
    idea = "nodes' histograms are linear equations in the order of a party's rows"

    def applies(self, stage: Stage) -> str:
        """Refuse runs without histograms."""
        growing = [isinstance(_growth(each), Growth) for each in stage.run.passive]
        return "" if any(growing) else "no histograms of gradients are sent"

    def run(self, stage: Stage) -> Score:
        """Return the mean rank correlation of a party's columns, of the worst."""
        views = dict[int, View]()

        def watch(active: ActiveParty, passive: Sequence[PassiveParty]) -> None:
            views.update({each.rank: View() for each in passive})
            _watch(active, passive, views)

        stage.again(watch)
        found = [(_judged(view), rank) for rank, view in views.items() if view.truth.size]
        value, rank = max(found, default=(0.0, 1))
        return Score("rank correlation", value, 0.0, "guess", party_name(rank))


def _growth(party: Party) -> object:
    return getattr(party, "growth", None)


def _watch(active: ActiveParty, passive: Sequence[PassiveParty], views: dict[int, View]) -> None:
    """Keep the equations of all that the active party reads."""
    channel: Channel = active.channel  # type: ignore[attr-defined]  # of whoever grows trees
    read = channel.sums

    def noted(name: str, reply: Array) -> Array:
        sums = read(name, reply)
        [party] = [each for each in passive if party_name(each.rank) == name]
        own, theirs = _growth(active), _growth(party)
        assert isinstance(own, Growth)  # noqa: S101  see `applies`
        assert isinstance(theirs, Growth)  # noqa: S101
        if count := len(theirs.offered.column):
            views[party.rank].note(own, theirs, sums[:, :count])
        return sums

    vars(channel)["sums"] = noted


def _judged(view: View) -> float:
    """Return the mean rank correlation of columns with their guesses."""
    # scipy.stats is slow to import
    from scipy.stats import spearmanr

    pairs = zip(view.truth.T, view.guess().T, strict=True)
    return float(np.mean([spearmanr(true, guess).statistic for true, guess in pairs]))


def _by_column(sums: Matrix, starts: Array) -> Matrix:
    """Add up sums by column: (E, M) -> (E, F)."""
    made: Matrix = np.add.reduceat(sums, starts, axis=1)
    return made


def _counts(view: View, number: int) -> Matrix:
    """Return how many candidates each column has."""
    made: Matrix = np.diff(view.starts[number], append=view.sums[number].shape[1]).astype(float)
    return made


def _solved(known: Matrix, sums: Matrix, middle: Matrix) -> Matrix:
    """Return the solution nearest to the middle.

    (E, N), (E, F), (F,) -> (N, F).
    """
    rest = sums - known.sum(1)[:, None] * middle
    square = known @ known.T + _RIDGE * known.shape[1] * np.eye(len(known))
    found: Matrix = middle + known.T @ np.linalg.solve(square, rest)
    return found


def _assigned(cost: Matrix) -> Array:
    """Return for each known column the new one that fits."""
    # scipy.optimize is slow to import
    from scipy.optimize import linear_sum_assignment

    _, found = linear_sum_assignment(cost)
    columns: Array = found
    return columns
