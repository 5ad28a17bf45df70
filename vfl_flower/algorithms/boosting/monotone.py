"""Monotone constraints: columns with which scores may only rise, or only fall.

As in LightGBM and scikit-learn: a split of such a column is allowed if the side of larger numbers
has the larger value, or the smaller; and all values below either side are bounded by the mean of
both. Rows without a value are in no order.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from vfl_flower.algorithms.boosting.forest import trees_a_round
from vfl_flower.algorithms.boosting.gains import Regularizer
from vfl_flower.algorithms.boosting.growth import Growth
from vfl_flower.algorithms.boosting.layers import Layer
from vfl_flower.algorithms.boosting.within import Within
from vfl_flower.common.codec import Array
from vfl_flower.common.errors import ConfigError, PartyError
from vfl_flower.common.names import party_name
from vfl_flower.data.held_columns import encoder_of, sources_of
from vfl_flower.parties.active import ActiveParty
from vfl_flower.parties.party import Party
from vfl_flower.protocol.exchange import Protocol, ask


class Bounds:
    """Bounds of all nodes of a round's trees.

    Parameters
    ----------
    trees : int
        T.
    width : int
        Nodes of a tree at most, numbered as in `Layer`.
    signs : ndarray
        (M,) int8, see `Within`.
    """

    def __init__(self, trees: int, width: int, signs: Array) -> None:
        self.signs = signs
        self.low, self.high = np.full((trees, width), -np.inf), np.full((trees, width), np.inf)

    def of(self, layer: Layer) -> list[Within]:
        """List those of a layer's nodes."""
        ends = self.low[layer.tree, layer.node], self.high[layer.tree, layer.node]
        return [Within(low, high, self.signs) for low, high in zip(*ends, strict=True)]

    def leaves(self, tree: int) -> Within:
        """Return those of a tree's nodes, by their numbers."""
        return Within(self.low[tree], self.high[tree], self.signs)

    def divide(self, growth: Growth, picked: Array, sums: Array, limits: Regularizer) -> None:
        """Bound the children of a layer's nodes.

        Parameters
        ----------
        growth : Growth
            Of the active party, at the layer.
        picked : ndarray
            (S,) int64, the candidate that splits each node; -1 for none.
        sums : ndarray
            (S, M, 2) int64, of all candidates.
        limits : Regularizer
            Of values.
        """
        layer, totals = growth.layer, growth.totals()
        for index, within in enumerate(self.of(layer)):
            if picked[index] < 0:
                continue
            left = sums[index, picked[index]]
            G, H = (np.stack([left, totals[index] - left]) * growth.units).T
            tree, node = int(layer.tree[index]), int(layer.node[index])
            sign, middle = self.signs[picked[index]], limits.value(G, H, within).mean()
            children = [2 * node + 1, 2 * node + 2]
            self.low[tree, children] = within.low
            self.high[tree, children] = within.high
            if sign:
                lower, upper = children[::sign]
                self.high[tree, lower] = self.low[tree, upper] = middle


def begun(party: ActiveParty, growth: Growth, offered: Array) -> Protocol:
    """Ask for constraints, if the run has any; return a round's limits.

    Parameters
    ----------
    party : ActiveParty
        Whose options say `signs`.
    growth : Growth
        Its own, whose round has begun.
    offered : ndarray
        (K + 2,) int64, each party's first candidate, and M.

    Returns
    -------
    Bounds
    """
    options: Any = party.options
    named, signs = options.signs, np.zeros(offered[-1], np.int8)
    if named:
        replies = yield ask("constrain")
        said, found = zip(*replies.arrays, strict=True)
        check_found(named, [found_in(party, named), *found])
        signs = joined_signs(
            [growth.signs[growth.offered.column], *said], np.diff(offered).tolist()
        )
    return Bounds(len(growth.values) // 2, 2 ** (options.tree_depth + 1) - 1, signs)


def own_signs(party: Party) -> Array:
    """Return the sign of each of a party's columns, (F,) int8.

    Parameters
    ----------
    party : Party
        Whose options say `signs`, of columns of all parties.

    Raises
    ------
    ConfigError
        If a column that is named has no numbers, where the text names the party, or if labels
        have more than two classes.
    """
    options: Any = party.options
    cfg, data, named = party.cfg, party.data, options.signs
    signs = np.zeros(data.x[:1].numel(), np.int8)
    if not named:
        return signs
    if trees_a_round(data) > 1:
        raise ConfigError(
            "monotone is for two classes and for numbers, and these labels are neither"
        )
    sources, encoder = sources_of(cfg, data), encoder_of(cfg, data)
    numbers = sources if encoder is None else [each.name for each in encoder.numeric]
    for place, name in enumerate(numbers):
        signs[place] = named.get(name, 0)
    if others := sorted({*named} & ({*sources} - {*numbers})):
        raise ConfigError(
            f"{party_name(data.rank)}: monotone names {others[0]}, which has no numbers that rise"
        )
    return signs


def found_in(party: Party, named: Iterable[str]) -> Array:
    """Tell which of the named columns a party has: (Q,) uint8."""
    sources = {*sources_of(party.cfg, party.data)}
    return np.array([name in sources for name in named], np.uint8)


def check_found(named: Mapping[str, int], found: Sequence[Array]) -> None:
    """Refuse names of columns that no party has.

    Parameters
    ----------
    named : mapping of str to int
        Signs of columns by name.
    found : sequence of ndarray
        (Q,) each, of every party; see `found_in`.

    Raises
    ------
    ConfigError
        Names the first such column.
    """
    for name, there in zip(named, zip(*found, strict=True), strict=True):
        if not any(there):
            raise ConfigError(f"monotone names {name}, a column that no party has")


def joined_signs(said: Sequence[Array], counts: Sequence[int]) -> Array:
    """Put the parties' signs side by side, (M,) int8.

    Parameters
    ----------
    said : sequence of ndarray
        Of the candidates of each party, by rank; shorter where its last candidates are none.
    counts : sequence of int
        Candidates of each party.

    Raises
    ------
    PartyError
        If a party, which the text names, has more signs than candidates.
    """
    for rank, (signs, count) in enumerate(zip(said, counts, strict=True)):
        if len(signs) > count:
            raise PartyError(f"{party_name(rank)} sent {len(signs)} signs of {count} candidates")
    filled = [np.pad(signs, (0, n - len(signs))) for signs, n in zip(said, counts, strict=True)]
    return np.concatenate(filled)
