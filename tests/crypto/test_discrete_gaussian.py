"""Exact discrete Gaussian samples, by 32 bits or more."""

import math
from collections.abc import Iterable

import numpy as np
import pytest
from scipy.stats import chisquare, kstest

from tests.crypto.test_discrete_sampling import MANY, entropy
from vfl_flower.crypto.discrete_gaussian import discrete_gaussian
from vfl_flower.crypto.discrete_sampling import Entropy

CUMULATIVE = 2**32 / sum(math.exp(-(k**2) / 2) for k in range(40))


@pytest.mark.parametrize("sigma", [1, 2, 3, 7])
def test_discrete_gaussian_has_its_distribution(sigma: int) -> None:
    drawn = discrete_gaussian(sigma, MANY, entropy().randbytes)
    everything = np.arange(-20 * sigma, 20 * sigma + 1)
    weights = np.exp(-(everything**2) / (2 * sigma**2))
    likely = np.abs(everything) <= 3 * sigma  # the others are rare, and counted together
    expected = weights[likely] / weights.sum() * MANY
    counts = np.array([(drawn == value).sum() for value in everything[likely]])
    rest = MANY - counts.sum(), MANY - expected.sum()
    assert chisquare([*counts, rest[0]], [*expected, rest[1]]).pvalue > 0.001


@pytest.mark.parametrize("sigma", [1000, (1 << 20) + 1, 1 << 24])
def test_discrete_gaussian_is_normal_where_it_is_wide(sigma: int) -> None:
    drawn = discrete_gaussian(sigma, MANY, entropy(1).randbytes)
    assert kstest(drawn / sigma, "norm").pvalue > 0.001
    assert drawn.std() == pytest.approx(sigma, rel=0.01)
    assert 4 * sigma < np.abs(drawn).max() < 7 * sigma


def test_the_systems_entropy_is_the_default() -> None:
    assert not np.array_equal(discrete_gaussian(1000, 50), discrete_gaussian(1000, 50))


@pytest.mark.parametrize("count", [0, 1, 7, 100_000])
def test_as_many_are_drawn_as_asked_for(count: int) -> None:
    assert discrete_gaussian(5, count).shape == (count,)


# Where more bits are needed -----------------------------------------------------------------------


def scripted(whole: int, sign_and_rest: int, kept: int, more: Iterable[int]) -> Entropy:
    """Return three words for each sample, then eight bytes."""
    further = iter(more)

    def read(count: int) -> bytes:
        if count == 8:
            return next(further).to_bytes(8, "little")
        words = np.array([whole, sign_and_rest, kept], np.uint32)
        return words.repeat(count // 12).tobytes()

    return read


@pytest.mark.parametrize(("more", "k"), [(0, 0), (2**64 - 1, 1)])
def test_a_word_on_an_edge_takes_more_bits(more: int, k: int) -> None:
    """Its bits are those of the probability of k = 0."""
    read = scripted(int(CUMULATIVE), 0, 0, [more] * 17)
    assert discrete_gaussian(1, 1, read).tolist() == [k]


@pytest.mark.parametrize(("more", "least", "most"), [([0], 6, 6), ([2**64 - 1, 0], 10, 13)])
def test_a_word_on_the_last_edge_ends(more: list[int], least: int, most: int) -> None:
    (drawn,) = discrete_gaussian(1, 1, scripted(2**32 - 1, 0, 0, more * 17)).tolist()
    assert least <= drawn <= most


def test_a_proposal_at_its_probability_takes_more_bits() -> None:
    """That is exp(-1/8), as k = 0 and j = sigma/2."""
    at = int(math.exp(-1 / 8) * 2**32)
    sign_and_rest = 1 << 1  # positive, j = 1
    read = scripted(0, sign_and_rest, at, [0] * 17)
    assert discrete_gaussian(2, 1, read).tolist() == [1]
    refused = scripted(0, sign_and_rest, at, [2**64 - 1] * 17)
    with pytest.raises(StopIteration):
        discrete_gaussian(2, 1, refused)


@pytest.mark.parametrize("kept", [0, 2**32 - 1])
def test_what_is_certain_happens(kept: int) -> None:
    """With j = 0 the probability is one, whatever the word."""
    assert discrete_gaussian(3, 1, scripted(0, 0, kept, [2**64 - 1] * 17)).tolist() == [0]
