"""One party's share in growing the trees of a round."""

import secrets
from collections.abc import Callable
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from vfl_flower.algorithms.boosting.bins import Bins, Candidates
from vfl_flower.algorithms.boosting.forest import Splits
from vfl_flower.algorithms.boosting.gains import Regularizer
from vfl_flower.algorithms.boosting.layers import Layer
from vfl_flower.algorithms.boosting.sums import check_side, directions
from vfl_flower.common.codec import Array
from vfl_flower.common.state import State

_NOTHING = np.empty(0, np.int64)


class Growth:
    """A party's columns, and the trees that grow on them.

    Active and passive parties have one each, and tell it the same.

    Parameters
    ----------
    bins : callable
        Makes the party's columns of the training rows, when they are needed first.
    splits : Splits
        Where it keeps its own splits.
    generator : torch.Generator
        Draws the columns of each round.
    share : float
        Share of the columns that a round may split on, at least one of them.
    limits : Regularizer
        Of splits, which says how much they gain.
    signs : ndarray
        (F,) int8, of the columns' monotone constraints; see `Within`.
    hidden : bool
        Whether the operating system draws an order of the columns, anew each round, which is this
        party's secret. Trees do not depend on it.

    Attributes
    ----------
    round : int
        From 0; -1 before the first.
    order : ndarray
        (F',) int64, the round's columns in the order in which their splits are numbered.
    values : ndarray
        (2 T, B) int32, gradients of every tree and then hessians.
    units : ndarray
        (2,) float64, of gradients and hessians.
    layer : Layer
        In hand.
    chosen : dict of int to ndarray
        Its own splits of this layer: who goes left, by the index of the node.
    """

    def __init__(
        self,
        bins: Callable[[], Bins],
        splits: Splits,
        generator: torch.Generator,
        share: float,
        limits: Regularizer,
        *,
        signs: Array,
        hidden: bool,
    ) -> None:
        self._make, self.splits, self._generator, self.share = bins, splits, generator, share
        self.limits, self.signs, self.hidden = limits, signs, hidden
        self.round, self.order, self.values = -1, _NOTHING, np.empty((0, 0), np.int32)
        self.units = np.ones(2)
        self.layer = Layer(_NOTHING, _NOTHING, np.empty((0, 0), np.int32))
        self.chosen: dict[int, NDArray[np.bool_]] = {}

    @cached_property
    def bins(self) -> Bins:
        """Return the party's columns of the training rows."""
        return self._make()

    def begin(self, number: int, g: Array, h: Array, units: Array) -> None:
        """Begin a round with g and h, (B, T) int32, and units."""
        self.values, self.units = np.concatenate([g.T, h.T]), units.astype(np.float64)
        self.enter(number, g.shape[1], len(g))

    def enter(self, number: int, trees: int, rows: int) -> None:
        """Begin a round at the roots of its trees."""
        self.round, self.chosen = number, {}
        self.layer, self.order = Layer.of_roots(trees, rows), self._drawn()
        vars(self).pop("offered", None)

    def _drawn(self) -> Array:
        """Draw the columns of a round, and their order."""
        drawn = np.arange(len(self.bins))
        if self.share < 1:
            permuted = torch.randperm(len(drawn), generator=self._generator).numpy()
            drawn = np.sort(permuted[: max(round(self.share * len(drawn)), 1)])
        return shuffled(drawn) if self.hidden else drawn

    @cached_property
    def offered(self) -> Candidates:
        """Splits that the round may use."""
        return self.bins.candidates(self.order)

    def sums(self) -> Array:
        """Sum up who would go left, in nodes of `Layer.smaller`.

        (P, M, 2) int64.
        """
        return self._left_sums(self.layer.smaller())

    def _left_sums(self, asked: Array) -> Array:
        """Sum up who would go left, in nodes by ascending index.

        (P,) -> (P, M, 2) int64.
        """
        layer, trees = self.layer, len(self.values) // 2
        index = np.full(len(layer) + 1, -1)
        index[asked] = np.arange(len(asked))
        made = np.empty((len(asked), len(self.offered.column), 2), np.int64)
        for tree in range(trees):
            at = np.flatnonzero(layer.tree[asked] == tree)
            if len(at):
                group = index[layer.place[tree]] - at[0]  # a tree's nodes are side by side
                sums = self.bins.left_sums(self.offered, group, len(at), self.values[tree::trees])
                made[at] = sums
        return made

    def split(self, nodes: Array, numbers: Array) -> None:
        """Split nodes at candidates, or at their first equals, and keep these.

        Parameters
        ----------
        nodes : ndarray
            (Q,) int64, ascending indices in the layer.
        numbers : ndarray
            (Q,) int64, of the candidates.
        """
        if not len(nodes):
            return
        sums, totals = self._left_sums(nodes), self.totals()
        first = self._first(sums, numbers)
        for index, number, left_sums in zip(nodes.tolist(), first, sums, strict=True):
            gains = self.limits.gains(left_sums[[number]] * self.units, totals[index] * self.units)
            self.splits.gain[self.keep(index, number)] = float(gains[0])

    def keep(self, index: int, number: int) -> tuple[int, int, int]:
        """Split a node at a candidate; return its round, tree and number."""
        place = self.round, int(self.layer.tree[index]), int(self.layer.node[index])
        rows, offered = self.layer.rows(index), self.offered
        left = self.bins.goes_left(offered, number, rows)
        column, last = int(offered.column[number]), int(offered.bin[number])
        missing_left = bool(offered.missing_left[number])
        if not self.bins.missing(column, rows).any():
            missing_left = int(left.sum()) > len(left) / 2
        self.splits.put(place, column, self.bins.threshold(column, last), missing_left)
        self.chosen[index] = left
        return place

    def _first(self, sums: Array, numbers: Array) -> list[int]:
        """Return the first candidates with the sums and signs of given ones.

        (Q, M, 2), (Q,) -> Q of them.
        """
        rank, signs = self.ranks(), self.signs[self.offered.column]
        equal = (sums == sums[np.arange(len(sums)), numbers][:, None]).all(2)
        equal &= signs == signs[numbers][:, None]
        first: list[int] = np.where(equal, rank, len(rank)).argmin(1).tolist()
        return first

    def ranks(self) -> Array:
        """Rank candidates: trees do not depend on the order of the round.

        First are the columns of the party's table, then missing values that go right, then low
        thresholds: (M,).
        """
        offered = self.offered
        return np.lexsort((offered.bin, offered.missing_left, offered.column)).argsort()

    def advance(self, split: Array, left: NDArray[np.bool_]) -> None:
        """Go on to the next layer; see `Layer.children`."""
        self.layer, self.chosen = self.layer.children(split, left), {}

    def place(self, left: Array, name: str, nodes: Array, bits: Array, sums: Array) -> None:
        """Note who goes left at another party's splits, and check it.

        Parameters
        ----------
        left : ndarray
            (T, B) bool, which is filled.
        name : str
            The party's.
        nodes : ndarray
            (Q,) int64, its nodes.
        bits : ndarray
            (L,) uint8, as it sent them.
        sums : ndarray
            (Q, 2) int64, which it said before.

        Raises
        ------
        PartyError
            Names the party if they do not fit.
        """
        layer, counts = self.layer, self.layer.counts()[nodes]
        said = np.split(directions(name, bits, int(counts.sum())), np.cumsum(counts)[:-1])
        for index, goes, expected in zip(nodes, said, sums, strict=True):
            tree, rows = layer.tree[index], layer.rows(index)
            check_side(name, self.values[tree :: len(left)][:, rows[goes]], expected)
            left[tree, rows] = goes

    def totals(self) -> Array:
        """Sum up gradients and hessians of each node: (S, 2) int64."""
        return self._sums_of(self.values)

    def bounds(self) -> tuple[Array, Array]:
        """Return the least and the largest of `sums`: (P, 1, 2) each."""
        asked = self.layer.smaller()
        ends = (clip(self.values, 0) for clip in (np.minimum, np.maximum))
        least, most = (self._sums_of(each)[asked, None] for each in ends)
        return least, most

    def _sums_of(self, values: Array) -> Array:
        """Sum up numbers in each node: (2 T, B) -> (S, 2)."""
        place = self.layer.place
        inside = place >= 0
        of_kinds = values.reshape(2, *place.shape)
        sums = [np.bincount(place[inside], each[inside], len(self.layer)) for each in of_kinds]
        return np.stack(sums, 1).astype(np.int64)

    def descend(self, leaf: Array, split: Array, left: NDArray[np.bool_]) -> None:
        """Move rows of split nodes to their children, in `leaf`, (T, B)."""
        moves = np.append(split, False)[self.layer.place]  # the last one is that of leaves
        leaf[moves] = 2 * leaf[moves] + 2 - left[moves]

    def state_dict(self) -> State:
        """Return the state that must survive until the next message."""
        layer = self.layer
        return {
            "round": self.round,
            "order": self.order,
            "values": self.values,
            "units": self.units,
            "layer": [layer.tree, layer.node, layer.place],
            "chosen": [[index, left] for index, left in self.chosen.items()],
        }

    def load_state_dict(self, state: State) -> None:
        """Restore the state of `state_dict`."""
        self.round = state["round"]
        names = ("order", "values", "units")
        self.order, self.values, self.units = (_array(state[name]) for name in names)
        self.layer = Layer(*map(_array, state["layer"]))
        self.chosen = {index: _array(left) for index, left in state["chosen"]}
        vars(self).pop("offered", None)


def shuffled(columns: Array) -> Array:
    """Draw an order of columns from the operating system."""
    order = columns.tolist()
    secrets.SystemRandom().shuffle(order)
    return np.array(order, np.int64)


def _array(value: Tensor | Array) -> Array:
    return value.numpy() if isinstance(value, Tensor) else value
