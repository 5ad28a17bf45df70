"""Random graphs of neighbours: few, and connected whoever colludes."""

from collections.abc import Set
from fractions import Fraction
from itertools import combinations
from math import comb, perm

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vfl_flower.crypto.mask_graph import colluders, neighbours, neighbours_of_each

SEED = bytes(range(32))


def connected(parties: int, degree: int, without: Set[int] = frozenset()) -> bool:
    """Tell whether those who do not collude hang together."""
    left = {*range(1, parties + 1)} - without
    reached, new = set[int](), {min(left)}
    while new:
        reached |= new
        new = {n for r in new for n in neighbours(SEED, parties, degree, r)} & left - reached
    return reached == left


@given(
    parties=st.integers(2, 60), half=st.integers(1, 30), seed=st.binary(min_size=32, max_size=32)
)
def test_neighbours_are_mutual_and_each_has_as_many(parties: int, half: int, seed: bytes) -> None:
    degree = min(2 * half, parties - 1)
    graph = {r: neighbours(seed, parties, degree, r) for r in range(1, parties + 1)}
    assert {len(others) for others in graph.values()} == {degree}
    assert all(r not in others for r, others in graph.items())
    assert all(r in graph[other] for r, others in graph.items() for other in others)


@given(data=st.data(), parties=st.integers(4, 30), half=st.integers(1, 10))
def test_fewer_colluders_than_neighbours_cut_nobody_off(
    data: st.DataObject, parties: int, half: int
) -> None:
    degree = min(2 * half, parties - 1)
    ranks = st.sets(st.integers(1, parties), max_size=min(degree - 1, parties - 1))
    assert connected(parties, degree, data.draw(ranks))


@pytest.mark.parametrize(("parties", "degree"), [(10, 4), (14, 6)])
def test_the_bound_on_the_chance_holds(parties: int, degree: int) -> None:
    """Choices of colluders are as likely as draws of the ring."""
    for t in range(degree, parties - 1):
        bound = Fraction(comb(parties, 2) * perm(t, degree), perm(parties, degree))
        if bound >= 1:
            break
        choices = [*combinations(range(1, parties + 1), t)]
        cut = sum(not connected(parties, degree, {*chosen}) for chosen in choices)
        assert 0 < Fraction(cut, len(choices)) <= bound
    assert t > degree or parties < 14  # several bounds of the larger graph


@pytest.mark.parametrize("seed", [SEED, bytes(32)])
def test_another_seed_is_another_graph(seed: bytes) -> None:
    same = [neighbours(seed, 50, 6, rank) == neighbours(SEED, 50, 6, rank) for rank in range(1, 51)]
    assert all(same) == (seed == SEED)


@pytest.mark.parametrize(
    ("parties", "share", "expected"),
    [(2, 0.5, 1), (5, 0.5, 4), (10, 0.5, 6), (100, 0.5, 46), (1000, 0.5, 76), (1000, 0.0, 2)],
)
def test_few_neighbours_are_enough(parties: int, share: float, expected: int) -> None:
    assert neighbours_of_each(parties, share) == expected


@pytest.mark.parametrize(
    ("parties", "share", "most"),
    [(100, 0.57, 57), (90, 0.7, 63), (49, 2 / 49, 2), (15, 0.34, 5), (3, 1.0, 1), (2, 1.0, 0)],
)
def test_a_share_is_of_whole_parties(parties: int, share: float, most: int) -> None:
    assert colluders(parties, share) == most


@given(parties=st.integers(2, 300), share=st.floats(0, 1))
def test_the_chance_is_as_small_as_it_is_said(parties: int, share: float) -> None:
    t, degree = colluders(parties, share), neighbours_of_each(parties, share)
    assert t <= share * parties + 1e-6
    if degree < parties - 1:
        chance = Fraction(comb(parties, 2) * perm(t, degree), perm(parties, degree))
        assert chance <= Fraction(1, 2**60)


@pytest.mark.parametrize("parties", [2, 3, 10, 500])
def test_where_all_may_collude_all_mask_each_other(parties: int) -> None:
    assert neighbours_of_each(parties, 1.0) == parties - 1
    assert neighbours(SEED, parties, parties - 1, 1) == {*range(2, parties + 1)}
