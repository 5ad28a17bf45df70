"""Compressed embeddings: restored values, error and bytes."""

from math import ceil

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from vfl_flower.common.codec import Array
from vfl_flower.common.errors import ConfigError, ProtocolError
from vfl_flower.config.run_config import RunConfig
from vfl_flower.learning.compression import (
    Mean,
    TopK,
    compression_of,
    pack_bits,
    relative_error,
    unpack_bits,
)

BITS = [1, 2, 3, 4, 5, 6, 7, 8, 16]


@st.composite
def embeddings(draw: st.DrawFn) -> Tensor:
    """Return (B, D) of any size and scale.

    With constant and zero rows.
    """
    rows, width = draw(st.integers(0, 7)), draw(st.integers(1, 40))
    values = st.floats(-1e6, 1e6, width=32) | st.sampled_from((0.0, 1.0))
    numbers = draw(st.lists(values, min_size=rows * width, max_size=rows * width))
    return torch.tensor(numbers, dtype=torch.float32).reshape(rows, width)


def bytes_of(message: tuple[Array, ...]) -> int:
    return sum(array.nbytes for array in message)


@given(st.integers(0, 16), st.data())
def test_bits_round_trip(bits: int, data: st.DataObject) -> None:
    codes = np.array(data.draw(st.lists(st.integers(0, 2**bits - 1), max_size=50)), np.uint32)
    packed = pack_bits(codes, bits)
    assert packed.dtype == np.uint8
    assert packed.size == ceil(codes.size * bits / 8)
    assert np.array_equal(unpack_bits(packed, bits, codes.size), codes)


@pytest.mark.slow
@given(embeddings(), st.sampled_from(BITS))
def test_quantised_numbers_are_within_half_a_level(E: Tensor, bits: int) -> None:
    compression = compression_of(f"quantize:{bits}", E.shape[1])
    message = compression.compress(E)
    assert bytes_of(message) == 8 + ceil(E.numel() * bits / 8)
    restored = compression.restore(message, len(E))
    assert restored.dtype == torch.float32
    if not E.numel():
        return
    bound = (E.max() - E.min()).double() / (2**bits - 1) / 2
    rounding = E.abs().max().double() * 2**-23
    assert (restored.double() - E.double()).abs().max() <= bound + rounding
    again = compression.restore(compression.compress(restored), len(E))
    assert torch.allclose(again, restored, rtol=1e-5, atol=float(rounding))


@given(embeddings(), st.sampled_from(["0.01", ".1", "0.25", "0.5", "0.999", "1", "1.0"]))
def test_top_k_keeps_the_largest_of_each_row(E: Tensor, share: str) -> None:
    compression = compression_of(f"topk:{share}", E.shape[1])
    assert isinstance(compression, TopK)
    kept, width = compression.kept, E.shape[1]
    assert kept == max(ceil(round(float(share) * 1000) * width / 1000), 1)
    message = compression.compress(E)
    places = (width - 1).bit_length()
    assert bytes_of(message) == 4 * len(E) * kept + ceil(len(E) * kept * places / 8)
    restored = compression.restore(message, len(E))
    assert torch.equal(restored[restored != 0], E[restored != 0])
    assert ((restored != 0).sum(1) <= kept).all()
    off, whole = ((restored - E).double() ** 2).sum(1), (E.double() ** 2).sum(1)
    assert (off <= whole * (1 - kept / width) + 1e-9 * whole).all()
    if kept == width:
        assert torch.equal(restored, E)


@pytest.mark.slow
@given(embeddings())
def test_none_is_exact(E: Tensor) -> None:
    compression = compression_of("none", E.shape[1])
    message = compression.compress(E)
    assert bytes_of(message) == 4 * E.numel()
    assert torch.equal(compression.restore(message, len(E)), E)
    assert relative_error(E, E) == 0


@pytest.mark.parametrize("text", ["none", "topk:0.4", "quantize:3", "quantize:16"])
@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_what_is_not_finite_does_not_come_back_finite(text: str, bad: float) -> None:
    E = torch.ones(2, 5)
    E[1, 3] = bad
    compression = compression_of(text, 5)
    assert not compression.restore(compression.compress(E), 2).isfinite().all()


@pytest.mark.parametrize("text", ["topk:0.5", "quantize:3"])
def test_messages_of_another_form_are_refused(text: str) -> None:
    compression = compression_of(text, 5)
    message = compression.compress(torch.randn(4, 5))
    for wrong in (message[:1], (*message, message[0]), (message[0][1:], message[1])):
        with pytest.raises(ProtocolError, match="compressed embeddings of 4 rows"):
            compression.restore(wrong, 4)
    with pytest.raises(ProtocolError, match="compressed embeddings of 3 rows"):
        compression.restore(message, 3)


def test_places_beyond_the_row_are_refused() -> None:
    compression = compression_of("topk:0.4", 5)
    values, _ = compression.compress(torch.randn(1, 5))
    with pytest.raises(ProtocolError, match="no place 7"):
        compression.restore((values, pack_bits(np.array([1, 7]), 3)), 1)


def test_error_is_relative() -> None:
    E = torch.tensor([[3.0, 4.0]])
    assert relative_error(E, torch.zeros(1, 2)) == 1
    assert relative_error(E, torch.tensor([[3.0, 0.0]])) == 16 / 25
    assert relative_error(torch.zeros(1, 2), torch.zeros(1, 2)) == 0


def test_a_mean_is_kept() -> None:
    mean, later = Mean(), Mean()
    assert mean.value == 0
    for value in (1.0, 2.0, 6.0):
        mean.add(value)
    later.load_state_dict(mean.state_dict())
    assert later.value == mean.value == 3


@pytest.mark.parametrize(
    "text", ["", "topk", "topk:0", "topk:.00", "topk:1.5", "quantize:9", "quantize:0"]
)
def test_compression_that_cannot_be_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="compression must be"):
        RunConfig(method="c_vfl", compression=text)


def test_labels_are_shared_only_where_a_method_does() -> None:
    assert RunConfig(method="c_vfl", share_labels=True).labels_shared
    assert not RunConfig(method="c_vfl").labels_shared
    with pytest.raises(ConfigError, match="share-labels is c_vfl's; splitnn has no such option"):
        RunConfig(method="splitnn", share_labels=True)
