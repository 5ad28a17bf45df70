"""The wire's codec: the bytes of `numpy.save`, and nothing else is read."""

import io
import string
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from vfl_flower.common.codec import (
    DTYPES,
    MAGIC,
    Array,
    decode,
    encode,
    from_parameters,
    to_array,
    to_parameters,
    to_tensor,
)
from vfl_flower.common.errors import ProtocolError

ALLOWED = ("<f2", "<f4", "<f8", "<i2", "<i4", "<i8", "<u2", "<u4", "|i1", "|u1", "|b1")
OTHERS = (">f2", ">f4", ">i8", ">i2", "<u8", "<c8", "<U3", "|S3", "<M8[s]", "<m8[s]")
SHAPES = hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=5)
ARRAYS = st.sampled_from(ALLOWED).flatmap(lambda dtype: hnp.arrays(np.dtype(dtype), SHAPES))
SAMPLE = np.arange(6, dtype=np.float32).reshape(2, 3)


def saved(array: Array, *, pickled: bool = False) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=pickled)
    return buffer.getvalue()


def crafted(descr: str, shape: str, body: bytes = b"", order: str = "False") -> bytes:
    """Write npy bytes whose header says whatever one likes."""
    header = f"{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}\n".encode()
    return MAGIC + len(header).to_bytes(2, "little") + header + body


def assert_same(a: Array, b: Array) -> None:
    """Equal in dtype, shape and bits, NaN included."""
    assert (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes())


def test_exactly_eleven_dtypes_travel() -> None:
    assert set(DTYPES) == set(ALLOWED)


@given(ARRAYS)
def test_bytes_are_those_of_numpy(array: Array) -> None:
    assert encode(array) == saved(array)


@given(ARRAYS)
def test_numpy_reads_what_is_encoded(array: Array) -> None:
    assert_same(np.load(io.BytesIO(encode(array)), allow_pickle=False), array)


@given(ARRAYS)
def test_round_trip(array: Array) -> None:
    decoded = decode(encode(array))
    assert_same(decoded, array)
    assert not decoded.flags.writeable  # two readers of one message cannot disturb each other


@pytest.mark.parametrize("dtype", ALLOWED)
@pytest.mark.parametrize("shape", [(), (0,), (1,), (3, 0, 2), (2, 3)])
def test_every_dtype_in_the_odd_shapes(dtype: str, shape: tuple[int, ...]) -> None:
    array = np.ones(shape, dtype)
    assert encode(array) == saved(array)
    assert_same(decode(saved(array)), array)


@given(hnp.arrays(np.int32, hnp.array_shapes(min_dims=1, max_dims=3, max_side=5)), st.data())
def test_views_travel_in_c_order(array: Array, data: st.DataObject) -> None:
    """Transposed, strided and reversed views arrive with their visible values."""
    view = array.transpose(data.draw(st.permutations(range(array.ndim))))
    view = view[:: data.draw(st.sampled_from((1, 2, -1, -2)))]
    straight = np.array(view, order="C")
    assert encode(view) == saved(straight)
    assert_same(decode(encode(view)), straight)


@pytest.mark.parametrize("dtype", OTHERS)
def test_other_dtypes_do_not_travel(dtype: str) -> None:
    with pytest.raises(ProtocolError):
        encode(np.zeros(2, dtype))
    with pytest.raises(ProtocolError):
        decode(saved(np.zeros(2, dtype)))


def test_pickle_is_neither_written_nor_read() -> None:
    objects: Any = np.array([print, None], dtype=object)
    with pytest.raises(ProtocolError):
        encode(objects)
    with pytest.raises(ProtocolError):
        decode(saved(objects, pickled=True))
    with pytest.raises(ProtocolError):
        decode(crafted("|O", "(1,)", bytes(8)))


def test_structured_arrays_do_not_travel() -> None:
    table = np.zeros(2, dtype=[("a", "<f4"), ("b", "<i4")])
    with pytest.raises(ProtocolError):
        encode(table)
    with pytest.raises(ProtocolError):
        decode(saved(table))


@given(ARRAYS, st.data())
def test_every_truncation_and_every_tail_is_refused(array: Array, data: st.DataObject) -> None:
    whole = encode(array)
    cut = data.draw(st.integers(0, len(whole) - 1))
    with pytest.raises(ProtocolError):
        decode(whole[:cut])
    with pytest.raises(ProtocolError):
        decode(whole + data.draw(st.binary(min_size=1, max_size=9)))


@pytest.mark.parametrize("version", [(2, 0), (3, 0)])
def test_other_npy_versions_are_refused(version: tuple[int, int]) -> None:
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, SAMPLE, version=version)
    with pytest.raises(ProtocolError, match=r"npy format 1\.0"):
        decode(buffer.getvalue())


@pytest.mark.parametrize("position", range(8))
def test_a_wrong_magic_is_refused(position: int) -> None:
    damaged = bytearray(encode(SAMPLE))
    damaged[position] ^= 1
    with pytest.raises(ProtocolError, match=r"npy format 1\.0"):
        decode(bytes(damaged))


def test_fortran_order_is_refused() -> None:
    """NumPy would read these bytes transposed."""
    fortran = saved(np.asfortranarray(SAMPLE))
    assert b"'fortran_order': True" in fortran
    with pytest.raises(ProtocolError):
        decode(fortran)


@given(st.binary(max_size=200))
def test_noise_is_refused(noise: bytes) -> None:
    with pytest.raises(ProtocolError):
        decode(noise)
    with pytest.raises(ProtocolError):
        decode(MAGIC + noise)


@pytest.mark.parametrize(
    "hostile",
    [
        crafted("<f4", "(1000000000000,)", b"1234"),
        crafted("<f4", "(1000000000000, 1000000000000, 1000000000000)", b"1234"),
        crafted("<f4", "(" + "9" * 4000 + ",)", b"1234"),
        crafted("<f4", "(-1,)", b"1234"),
        crafted("<f4", "(1.0,)", b"1234"),
        crafted("<f4", "(True,)", b"1234"),
        crafted("<f4", "__import__('os')", b"1234"),
        crafted("<f4", "(1,)", b"1234", order="None"),
        crafted("O", "(1,)", bytes(8)),
        crafted("<q9", "(1,)", b"1234"),
        crafted("<f3", "(1,)", b"123"),
        crafted("<f4'+'", "(1,)", b"1234"),
        MAGIC + b"\xff\xff" + b"{" * 100,
        MAGIC + b"\x00\x00",
    ],
    ids=lambda raw: repr(raw[10:70]),
)
def test_hostile_headers_are_refused(hostile: bytes) -> None:
    with pytest.raises(ProtocolError):
        decode(hostile)


@pytest.mark.parametrize(
    "hostile",
    [
        crafted("<f4", "(1 2)", b"12345678"),
        crafted("<f4", "(" + "1" * 5000 + ",)", b"1234"),
        crafted("<f4", "(" + "1, " * 65 + ")", b"1234"),  # more axes than NumPy has
        crafted("<f4", "(0, 1000000000000000000000000000000,)"),  # no bytes, yet too large
        crafted("<f4", "(0, 9000000000000000000, 9000000000000000000)"),
    ],
    ids=lambda raw: repr(raw[10:70]),
)
def test_hostile_shapes_are_refused(hostile: bytes) -> None:
    with pytest.raises(ProtocolError):
        decode(hostile)


def test_one_damaged_header_byte_is_read_or_refused_but_raises_nothing_else() -> None:
    whole = encode(SAMPLE)
    for position in range(10, len(whole) - SAMPLE.nbytes):
        for letter in string.printable.encode():
            damaged = bytearray(whole)
            damaged[position] = letter
            try:
                decode(bytes(damaged))
            except ProtocolError:
                continue


def test_parameters_carry_arrays_in_order() -> None:
    arrays: list[Array] = [SAMPLE, np.array(7), np.zeros((0, 2), np.uint32)]
    parameters = to_parameters(arrays)
    assert parameters.tensor_type == "numpy.ndarray"
    for sent, received in zip(arrays, from_parameters(parameters), strict=True):
        assert_same(received, sent)


def test_one_bad_tensor_spoils_the_parameters() -> None:
    parameters = to_parameters([SAMPLE, SAMPLE])
    parameters.tensors[1] = parameters.tensors[1][:-1]
    with pytest.raises(ProtocolError):
        from_parameters(parameters)


def test_to_tensor_copies() -> None:
    """Writing into a received tensor changes neither the message nor other copies."""
    message = encode(SAMPLE)
    first, second = to_tensor(decode(message)), to_tensor(decode(message))
    first.zero_()
    assert torch.equal(second, torch.from_numpy(SAMPLE))
    assert message == encode(SAMPLE)


def test_to_array_detaches_and_straightens() -> None:
    tensor = torch.from_numpy(SAMPLE).clone().requires_grad_()
    array = to_array((tensor * 2).T)
    assert array.flags.c_contiguous
    assert_same(array, np.array((SAMPLE * 2).T, order="C"))
