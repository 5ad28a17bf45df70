"""Compression on the hexagonal lattice: points, error and bytes."""

from math import ceil, sqrt

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from tests.learning.test_compression import bytes_of, embeddings
from vfl_flower.common.codec import Array
from vfl_flower.common.errors import ConfigError, ProtocolError
from vfl_flower.config.run_config import RunConfig
from vfl_flower.learning.compression import compression_of, pack_bits
from vfl_flower.learning.lattice import Lattice, lattice_of

BITS = range(1, 9)


def lattice(bits: int, width: int = 6) -> Lattice:
    compression = compression_of(f"lattice:{bits}", width)
    assert isinstance(compression, Lattice)
    return compression


def points_of(bits: int) -> Array:
    """Return all lattice points over the unit square."""
    across, down, side = lattice_of(bits)
    first = (side - (down - 1) * sqrt(3) / 2) / 2
    lines = [(i + (j % 2) / 2, first + j * sqrt(3) / 2) for j in range(down) for i in range(across)]
    return np.array(lines) / side


def bound(E: Tensor, bits: int) -> float:
    """Return s / sqrt(3)."""
    return float((E.max().double() - E.min().double()) / lattice_of(bits)[2] / sqrt(3))


@pytest.mark.parametrize("bits", BITS)
def test_points_fit_their_bits_and_are_one_distance_apart(bits: int) -> None:
    across, down, side = lattice_of(bits)
    assert across * down <= 4**bits
    assert across * down > 4**bits * 0.7  # few codes are left over
    if bits <= 4:
        points = points_of(bits)
        between = np.linalg.norm(points[:, None] - points, axis=2) + 9 * np.eye(len(points))
        assert np.allclose(between.min(1), 1 / side)


@pytest.mark.parametrize("bits", [1, 2, 3, 4])
def test_every_point_of_the_square_is_near_one(bits: int) -> None:
    """The covering radius, s / sqrt(3), holds along the border too."""
    edge = np.linspace(0, 1, 101)
    square = np.stack(np.meshgrid(edge, edge), 2).reshape(-1, 2)
    nearest = np.linalg.norm(square[:, None] - points_of(bits), axis=2).min(1).max()
    radius = 1 / lattice_of(bits)[2] / sqrt(3)
    assert 0.95 * radius < nearest <= radius + 1e-12


@pytest.mark.slow
@given(embeddings(), st.sampled_from(BITS))
def test_pairs_are_within_the_covering_radius(E: Tensor, bits: int) -> None:
    compression = lattice(bits, E.shape[1])
    message = compression.compress(E)
    assert bytes_of(message) == 8 + ceil(bits * ceil(E.numel() / 2) / 4)
    restored = compression.restore(message, len(E))
    assert restored.dtype == torch.float32
    if not E.numel():
        return
    assert E.min() <= restored.min()
    assert restored.max() <= E.max()
    off = torch.nn.functional.pad((restored.double() - E.double()).ravel(), (0, E.numel() % 2))
    rounding = 2 * E.abs().max().double() * 2**-23
    assert off.reshape(-1, 2).norm(dim=1).max() <= bound(E, bits) * (1 + 1e-9) + rounding


@given(st.integers(1, 4), st.integers(0, 2**32))
def test_the_nearest_of_all_points_is_taken(bits: int, seed: int) -> None:
    pairs = np.random.default_rng(seed).random((20, 2)).astype(np.float32)
    pairs[0], pairs[1] = 0, 1  # the range
    restored = lattice(bits, 2).restore(lattice(bits, 2).compress(torch.tensor(pairs)), 20).numpy()
    points = points_of(bits)
    nearest = np.linalg.norm(pairs[:, None] - points, axis=2).min(1)
    off = np.linalg.norm(pairs - restored, axis=1)
    assert (off <= nearest + 1e-6).all()  # nearer where a point lies beyond the range


@pytest.mark.slow
@given(embeddings(), st.sampled_from(BITS))
def test_compression_is_a_function_of_the_numbers(E: Tensor, bits: int) -> None:
    first, second = (lattice(bits, E.shape[1]).compress(E.clone()) for _ in range(2))
    assert all(map(np.array_equal, first, second))


@given(st.floats(-1e6, 1e6, width=32), st.sampled_from(BITS))
def test_equal_numbers_are_exact(number: float, bits: int) -> None:
    E = torch.full((3, 5), number)
    assert lattice(bits, 5).restore(lattice(bits, 5).compress(E), 3).equal(E)


def test_the_mean_squared_error_is_that_of_hexagons() -> None:
    """5 s**2 / 72, less than that of scalar levels."""
    E = torch.rand(400, 256, generator=torch.Generator().manual_seed(0))
    for bits in (3, 4, 6, 8):
        errors = []
        for kind in ("lattice", "quantize"):
            compression = compression_of(f"{kind}:{bits}", 256)
            restored = compression.restore(compression.compress(E), 400)
            errors.append(((restored - E).double() ** 2).mean().item())
        s = float(E.max() - E.min()) / lattice_of(bits)[2]
        assert errors[0] == pytest.approx(5 * s**2 / 72, rel=0.05)
        assert errors[0] < errors[1]


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), float("-inf")])
def test_what_is_not_finite_does_not_come_back_finite(bad: float) -> None:
    E = torch.ones(2, 5)
    E[1, 3] = bad
    assert not lattice(3, 5).restore(lattice(3, 5).compress(E), 2).isfinite().all()


def test_messages_of_another_form_are_refused() -> None:
    message = lattice(3).compress(torch.randn(4, 6))
    for wrong in (message[:1], (*message, message[0]), (message[0][1:], message[1])):
        with pytest.raises(ProtocolError, match="compressed embeddings of 4 rows"):
            lattice(3).restore(wrong, 4)
    with pytest.raises(ProtocolError, match="compressed embeddings of 3 rows"):
        lattice(3).restore(message, 3)


@given(st.data())
def test_any_bytes_are_read_within_the_range_or_refused(data: st.DataObject) -> None:
    bits = data.draw(st.sampled_from(BITS))
    size = ceil(bits * 3 / 4)
    packed = np.frombuffer(data.draw(st.binary(min_size=size, max_size=size)), np.uint8)
    ends = np.array(data.draw(st.lists(st.floats(-9, 9), min_size=2, max_size=2)), np.float32)
    try:
        restored = lattice(bits).restore((ends, packed), 1)
    except ProtocolError as error:
        assert "no lattice point" in str(error) or "above its largest" in str(error)
        return
    assert ends[0] <= restored.min() <= restored.max() <= ends[1]


def test_points_that_are_none_are_refused() -> None:
    ends = np.array([0, 1], np.float32)
    across, down, _ = lattice_of(3)
    last = across * down - 1
    assert lattice(3, 2).restore((ends, pack_bits(np.array([last]), 6)), 1).shape == (1, 2)
    bits = next(b for b in BITS if lattice_of(b)[0] * lattice_of(b)[1] < 4**b)
    count = lattice_of(bits)[0] * lattice_of(bits)[1]
    with pytest.raises(ProtocolError, match=f"no lattice point {count}"):
        lattice(bits, 2).restore((ends, pack_bits(np.array([count]), 2 * bits)), 1)
    with pytest.raises(ProtocolError, match="least number is above its largest"):
        lattice(3, 2).restore((ends[::-1], pack_bits(np.array([0]), 6)), 1)


@pytest.mark.parametrize("text", ["lattice", "lattice:0", "lattice:9", "lattice:16", "lattice:x"])
def test_a_lattice_that_cannot_be_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="lattice:BITS with 1 to 8 bits"):
        RunConfig(method="c_vfl", compression=text)
