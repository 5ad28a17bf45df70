"""Boosted trees on all parties' columns in one table, node by node.

No histograms, no layers, no messages: every threshold between two values is tried on the rows of
a node, and either way for missing values. Gradients are of closed form, and rounded as those that
travel.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import frexp
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from vfl_flower.common.codec import Array
from vfl_flower.config.run_config import RunConfig
from vfl_flower.learning.randomness import Randomness, public_origin

Place = tuple[int, int, int]
Split = tuple[int, int, float, bool]


@dataclass
class Pooled:
    """The trees of a run.

    Attributes
    ----------
    splits : dict
        By round, tree and node: rank, column, threshold, whether missing values go left.
    scores : ndarray
        (N, T), of the training rows after the last round.
    """

    splits: dict[Place, Split]
    scores: NDArray[np.float64]


def boosted(
    cfg: RunConfig,
    x: Sequence[Array],
    y: Array,
    classes: int,
    weight: Array | None = None,
    signs: Mapping[tuple[int, int], int] | None = None,
) -> Pooled:
    """Boost trees for all rounds: columns (N, F_k), labels, weights (N,).

    Signs of monotone constraints are by rank and column.
    """
    weight = np.ones(len(y)) if weight is None else weight
    options: Any = cfg.options
    generators = [Randomness(public_origin(cfg.seed, rank)).generator for rank in range(len(x))]
    made = Pooled({}, np.tile(_base(y, classes, weight), (len(y), 1)))
    for number in range(cfg.epochs):
        g, h = (each * weight[:, None] for each in _derivatives(made.scores, y, classes))
        drawn = np.random.default_rng([cfg.seed, number, 5]).permutation(len(y))
        out = drawn[max(round(options.row_share * len(y)), 1) :]
        g[out], h[out] = 0, 0
        offered = []
        for rank, (own, generator) in enumerate(zip(x, generators, strict=True)):
            columns, share = list(range(own.shape[1])), options.column_share
            if share < 1:
                permuted = torch.randperm(len(columns), generator=generator).tolist()
                columns = permuted[: max(round(share * len(columns)), 1)]
            offered += [(rank, column) for column in columns]
        G, H = _rounded(g), np.maximum(_rounded(h), 0)
        for tree in range(g.shape[1]):
            unit = _unit(h)
            hessian = H[:, tree].copy()
            hessian[(hessian == 0) & ~np.isin(np.arange(len(y)), out)] = unit
            grown = _Tree(cfg, x, offered, G[:, tree], hessian, signs or {})
            grown.grow(np.arange(len(y)), 0, -np.inf, np.inf)
            made.splits |= {(number, tree, node): each for node, each in grown.splits.items()}
            made.scores[:, tree] += grown.values
    return made


class _Tree:
    def __init__(
        self, cfg: RunConfig, x: Any, offered: Any, g: Array, h: Array, signs: Any
    ) -> None:
        self.options: Any = cfg.options
        self.signs, self.low, self.high = signs, -np.inf, np.inf
        self.rate, self.x, self.offered, self.g, self.h = cfg.rate_of(0), x, offered, g, h
        self.splits: dict[int, Split] = {}
        self.values = np.zeros(len(g))

    def grow(self, rows: Array, node: int, low: float, high: float) -> None:
        self.low, self.high = low, high
        found = self.best(rows) if node < 2**self.options.tree_depth - 1 else None
        if found is None:
            self.values[rows] = np.float32(self.rate * self.value(rows))
            return
        self.splits[node] = found
        left = _left(self.x[found[0]][rows, found[1]], *found[2:])
        sign, middle = self.signs.get(found[:2], 0), self.value(rows[left]) / 2
        middle += self.value(rows[~left]) / 2
        self.grow(rows[left], 2 * node + 1, *((low, middle), (low, high), (middle, high))[1 - sign])
        self.grow(
            rows[~left], 2 * node + 2, *((middle, high), (low, high), (low, middle))[1 - sign]
        )

    def best(self, rows: Array) -> Split | None:
        """Return the best split of some rows.

        Of equal gains that of the first party, the smallest sums, the first column.
        """
        made = []
        for rank, column in self.offered:
            values = self.x[rank][:, column]
            for missing_left, threshold in _offers(values):
                to_left = _left(values[rows], threshold, missing_left)
                left, right = rows[to_left], rows[~to_left]
                gain = self.gain(left, right, rows)
                sign = self.signs.get((rank, column), 0)
                wrong = sign * (self.value(right) - self.value(left)) < 0 if sign else False
                if not wrong and gain is not None and gain > 1e-10 * abs(self.term(rows)):
                    known = not np.isnan(values[rows]).any()
                    way = len(left) > len(right) if known else missing_left
                    sums = self.g[left].sum(), self.h[left].sum()
                    made.append((-gain, rank, *sums, sign, column, missing_left, threshold, way))
        if not made:
            return None
        _, rank, _, _, _, column, _, threshold, way = min(made)
        return rank, column, threshold, way

    def value(self, rows: Array) -> float:
        best = -self.g[rows].sum() / (self.h[rows].sum() + self.options.leaf_l2)
        return float(min(max(best, self.low), self.high))

    def term(self, rows: Array) -> float:
        G, weight = self.g[rows].sum(), self.h[rows].sum() + self.options.leaf_l2
        if self.low <= -G / weight <= self.high:
            return float(G**2 / weight)
        value = self.value(rows)
        return float(-(2 * G + weight * value) * value)

    def gain(self, left: Array, right: Array, rows: Array) -> float | None:
        if min(self.h[left].sum(), self.h[right].sum()) < max(self.options.least_child, 1e-300):
            return None
        return self.term(left) + self.term(right) - self.term(rows)


def _offers(values: Array) -> list[tuple[bool, float]]:
    """List ways of missing values, and thresholds."""
    known = np.unique(values[~np.isnan(values)])  # of all rows
    between = (known[:-1] / 2 + known[1:] / 2).tolist()
    if not np.isnan(values).any():
        return [(False, each) for each in between]
    right = [(False, each) for each in (*between, float("inf"))]
    return right + [(True, each) for each in between]


def _left(values: Array, threshold: float, missing_left: bool) -> NDArray[np.bool_]:
    """Tell which values go left."""
    return np.where(np.isnan(values), missing_left, values <= threshold)


def _base(y: Array, classes: int, weight: Array) -> Array:
    if classes == 1:
        return np.array([np.average(y.astype(np.float64), weights=weight)])
    logs: Array = np.log(np.bincount(y, weight, classes) / weight.sum())
    return logs[1:] - logs[:1] if classes == 2 else logs


def _derivatives(scores: Array, y: Array, classes: int) -> tuple[Array, Array]:
    if classes == 1:
        return 2 * (scores - y[:, None]), np.full_like(scores, 2.0)
    if classes == 2:
        p = 1 / (1 + np.exp(-scores))
        return p - y[:, None], p * (1 - p)
    p = np.exp(scores - scores.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    return p - np.eye(classes)[y], p * (1 - p)


def _unit(values: Array) -> float:
    return float(2.0 ** (frexp(np.abs(values).max())[1] - 30))


def _rounded(values: Array) -> Array:
    rounded: Array = np.rint(values / _unit(values)) * _unit(values)
    return rounded
