"""Fixed point in Z/2**32: exact sums, or a refusal."""

from collections.abc import Sequence

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from vfl_flower.common.errors import BlindingError
from vfl_flower.crypto.fixed_point import Ring, Words, decode_ring, encode_ring

SUMMANDS = (1, 2, 3, 5, 6)


def limit(summands: int) -> float:
    return 2**15 / summands


def below(summands: int) -> float:
    """Return a float32 right below the limit."""
    return float(np.nextafter(np.float32(limit(summands)), np.float32(0)))


def at(summands: int) -> float:
    """Return the least float32 that is not below the limit."""
    near = np.float32(limit(summands))
    return float(near if near >= limit(summands) else np.nextafter(near, np.float32(np.inf)))


def values(summands: int) -> st.SearchStrategy[float]:
    """Return every float32 that may be one of so many summands."""
    edge = below(summands)
    return st.floats(-edge, edge, width=32)


def added(arrays: Sequence[Words]) -> Words:
    total: Words = np.add.reduce(arrays, dtype=np.uint32)
    return total


@given(st.lists(values(2), min_size=1, max_size=20))
def test_round_trip_is_within_half_a_grid_step(numbers: list[float]) -> None:
    x = torch.tensor(numbers)
    back = decode_ring(encode_ring(x, 2))
    assert back.dtype == torch.float32
    assert back.shape == x.shape
    assert (back.double() - x.double()).abs().max().item() <= 2**-17


@given(st.data())
def test_sums_modulo_2_32_are_the_integer_sums(data: st.DataObject) -> None:
    """The expected value is computed with Python's integers, which never wrap."""
    summands = data.draw(st.sampled_from(SUMMANDS))
    width = data.draw(st.integers(1, 6))
    row = st.lists(values(summands), min_size=width, max_size=width)
    rows = data.draw(st.lists(row, min_size=summands, max_size=summands))
    decoded = decode_ring(added([encode_ring(torch.tensor(r), summands) for r in rows]))
    exact = [sum(round(value * 2**16) for value in column) for column in zip(*rows, strict=True)]
    expected = np.array(exact, np.int64).astype(np.float32) / np.float32(2**16)
    assert decoded.tolist() == expected.tolist()


@given(st.lists(values(2), min_size=1, max_size=8), st.integers(0, 2**32 - 1))
def test_a_mask_that_comes_and_goes_changes_nothing(numbers: list[float], mask: int) -> None:
    words = encode_ring(torch.tensor(numbers), 2)
    hidden = words + np.uint32(mask)  # wraps
    assert torch.equal(decode_ring(hidden - np.uint32(mask)), decode_ring(words))


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("summands", SUMMANDS)
def test_the_limit(summands: int, sign: int) -> None:
    """Summands below the limit add up without a wrap; others are refused."""
    edge = sign * below(summands)
    words = encode_ring(torch.full((3,), edge), summands)
    total = decode_ring(added([words] * summands))
    assert total.tolist() == pytest.approx([summands * edge] * 3, rel=1e-6)
    for too_much in (at(summands), 1.5 * limit(summands), 2.0**40, 3e38):
        with pytest.raises(BlindingError):
            encode_ring(torch.tensor([0.0, sign * too_much, 0.0]), summands)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("summands", [255, 256, 1000, 4096])
def test_rounding_up_does_not_reach_past_the_limit(summands: int, sign: int) -> None:
    """A grid coarser than float32: refused, or added correctly."""
    edge = np.float32(limit(summands)) + np.float32(2**-15)
    accepted = 0
    while accepted < 5:
        edge = np.nextafter(edge, np.float32(0))
        try:
            words = encode_ring(torch.tensor([sign * float(edge)]), summands)
        except BlindingError:
            assert edge > limit(summands) - 2**-15
            continue
        accepted += 1
        assert sign * decode_ring(added([words] * summands)).item() > 0


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("position", [0, 4, 8])
def test_what_is_not_finite_is_refused(bad: float, position: int) -> None:
    x = torch.zeros(9)
    x[position] = bad
    with pytest.raises(BlindingError):
        encode_ring(x.reshape(3, 3), 2)


@pytest.mark.parametrize("summands", [2, 3, 5])
def test_the_refusal_names_the_limit_and_not_the_value(summands: int) -> None:
    with pytest.raises(BlindingError) as refusal:
        encode_ring(torch.tensor([1.0, 31415.9265]), summands)
    text = str(refusal.value)
    assert f"{limit(summands):g}" in text
    assert "3141" not in text


def test_shapes_and_strides_are_kept() -> None:
    x = torch.arange(12.0).reshape(3, 4).T.requires_grad_()
    words = encode_ring(x, 2)
    assert words.dtype == np.uint32
    assert words.shape == (4, 3)
    assert torch.equal(decode_ring(words), x.detach())


@given(st.data())
def test_the_halved_ring_holds_every_sum_within_the_bound(data: st.DataObject) -> None:
    """Each adds half a step of error; steps are nearly the finest."""
    summands = data.draw(st.sampled_from(SUMMANDS))
    bound = data.draw(st.sampled_from((2.0**-10, 0.3, 1.0, 16.0, 100.0, 1e6)))
    ring = Ring.halved(bound, summands)
    assert ring.dtype.itemsize == 2
    numbers = st.lists(st.floats(-1, 1, width=32), min_size=summands, max_size=summands)
    row = [bound * share for share in data.draw(numbers)]
    words = [encode_ring(torch.tensor([each]), summands, ring) for each in row]
    assert {each.dtype for each in words} == {np.dtype(np.uint16)}
    decoded = decode_ring(np.add.reduce(words, dtype=np.uint16), ring).item()
    assert abs(decoded - sum(row)) <= summands * 0.5001 / ring.scale
    assert 4 * ring.scale * bound * summands > 2**15 - 4 * summands


@pytest.mark.parametrize("bound", [0.001, 16.0, 1e6])
def test_each_of_a_halved_rings_summands_has_64_steps(bound: float) -> None:
    ring = Ring.halved(bound, 504)
    assert 32 <= bound * ring.scale < 64
    assert encode_ring(torch.tensor([bound]), 504, ring).item() > 31
    for summands in (505, 2**15, 2**20):
        with pytest.raises(BlindingError, match=f"{summands} numbers in 16 bits leaves fewer"):
            Ring.halved(bound, summands)


def test_words_are_twos_complement_with_16_fractional_bits() -> None:
    words = encode_ring(torch.tensor([1.0, -1.0, 0.5, -(2.0**-16), 0.0]), 2)
    assert words.tolist() == [0x10000, 0xFFFF0000, 0x8000, 0xFFFFFFFF, 0]
