"""Checks of other parties' sums and directions, by the active party."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vfl_flower.common.codec import Array
from vfl_flower.common.errors import PartyError
from vfl_flower.common.names import party_name


def check_sums(
    name: str, sums: Array, least: Array, most: Array, offered: int | None = None
) -> None:
    """Refuse sums that no rows of their nodes come to.

    Parameters
    ----------
    name : str
        The party's.
    sums : ndarray
        (P, M, 2) int64.
    least, most : ndarray
        (P, 1, 2) int64, of negative and of positive numbers alone.
    offered : int, optional
        Candidates of the party in the layer before.

    Raises
    ------
    PartyError
        Names the party.
    """
    if len(sums) != len(least):
        raise PartyError(f"{name} summed {len(sums)} nodes, where {len(least)} were asked for")
    if offered is not None and sums.shape[1] != offered:
        raise PartyError(
            f"{name} summed {sums.shape[1]} candidates, where {offered} were offered before"
        )
    if (sums < least).any() or (sums > most).any():
        raise PartyError(
            f"the histogram of {name} does not add up: it has a sum that no rows of its node come "
            "to"
        )


def check_side(name: str, values: Array, expected: Array) -> None:
    """Refuse rows that do not add up to their party's own sums.

    Parameters
    ----------
    name : str
        The party's.
    values : ndarray
        (2, R) int32, of the rows that it sends left.
    expected : ndarray
        (2,) int64, their sums as it said them before.

    Raises
    ------
    PartyError
        Names the party.
    """
    if not np.array_equal(values.sum(1, dtype=np.int64), expected):
        raise PartyError(
            f"the histogram of {name} does not add up: the rows that it sends left have other sums "
            "than it said"
        )


def side_by_side(
    said: Sequence[Array], bounds: tuple[Array, Array], offered: Array | None
) -> tuple[Array, Array]:
    """Check the parties' sums, (P, M_k, 2) each, and join them.

    Parameters
    ----------
    said : sequence of ndarray
        By rank.
    bounds : ndarray
        Two, (P, 1, 2) int64; see `check_sums`.
    offered : ndarray or None
        Each party's first candidate, and their number, in the layer before.

    Returns
    -------
    sums : ndarray
        (P, M, 2) int64.
    first : ndarray
        (K + 2,) int64, the number of each party's first candidate, and M.

    Raises
    ------
    PartyError
        Names a party whose sums cannot be.
    """
    counts = [None] * len(said) if offered is None else np.diff(offered).tolist()
    for rank, (each, count) in enumerate(zip(said, counts, strict=True)):
        check_sums(party_name(rank), each, *bounds, count)
    return np.concatenate(said, axis=1), np.cumsum([0, *(each.shape[1] for each in said)])


def directions(name: str, bits: Array, count: int) -> NDArray[np.bool_]:
    """Read who goes left: packed, (..., count / 8) -> (..., count).

    Raises
    ------
    PartyError
        If a party, which the text names, sent another number of bits.
    """
    if bits.shape[-1] != (count + 7) // 8:
        raise PartyError(f"{name} sent {bits.shape[-1]} bytes of directions for {count} bits")
    return np.unpackbits(bits, axis=-1, count=count).astype(bool)
