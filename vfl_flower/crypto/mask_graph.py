"""Random graph of parties that mask each other (Bell et al. 2020).

With masks between all pairs a step's work grows with the square of the parties. It is enough that
the parties who do not collude stay connected: masks between them then leave only their common sum.
Parties stand on a ring in an order that is drawn by all, and each masks with the same number before
and behind it. Such a graph falls apart only if two runs of colluding neighbours cut the ring.
"""

from functools import lru_cache
from hashlib import sha256
from itertools import count
from math import comb, floor, perm

FAILURE_BITS = 60
"""A draw leaves the others unconnected with a chance of at most 2**-60."""


def colluders(parties: int, share: float) -> int:
    """Return how many of so many passive parties may collude."""
    most = floor(share * parties + 1e-6)  # 0.57 of 100 are 57, and not 56.99
    return min(most, max(parties - 2, 0))


@lru_cache
def neighbours_of_each(parties: int, share: float) -> int:
    """Return the number of neighbours that each party needs.

    With t of n parties colluding, each with d = 2h neighbours, the others fall apart only if h
    parties in a row collude at two places of the ring. There are fewer than n (n - 1) / 2 pairs of
    places, and each pair has the probability t! (n - d)! / (n! (t - d)!).

    Parameters
    ----------
    parties : int
        Passive parties, n.
    share : float
        Of them that may collude, with the active party too; who they are does not depend on the
        draw. From 0 to 1.

    Returns
    -------
    int
        The least even number with a chance of at most 2**-60; n - 1 where there is none.
    """
    t = colluders(parties, share)
    for d in count(2, 2):
        if d >= parties - 1:
            return parties - 1
        if comb(parties, 2) * perm(t, d) << FAILURE_BITS <= perm(parties, d):
            return d
    raise AssertionError("the numbers of neighbours do not end")


def neighbours(seed: bytes, parties: int, degree: int, rank: int) -> set[int]:
    """Return the ranks that one party masks with.

    Parameters
    ----------
    seed : bytes
        Drawn by all parties.
    parties : int
        Passive parties, ranks 1 to n.
    degree : int
        Of each.
    rank : int
        The party's.
    """
    ranks = range(1, parties + 1)
    ring = sorted(ranks, key=lambda each: sha256(seed + each.to_bytes(4, "little")).digest())
    if degree >= parties - 1:
        return {*ring} - {rank}
    place = ring.index(rank)
    steps = range(1, degree // 2 + 1)
    return {ring[(place + sign * step) % parties] for step in steps for sign in (1, -1)}
