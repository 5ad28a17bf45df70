"""Wire encoding of arrays: npy format 1.0 in Flower parameters, never pickle.

The bytes are those of `numpy.save`. Writing and reading them here costs a few microseconds
instead of about a hundred, because a run sends the same few headers over and over.
"""

import io
import math
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import torch
from flwr.common import Parameters
from numpy.typing import NDArray
from torch import Tensor

from vfl_flower.common.errors import ProtocolError

Array = NDArray[Any]

HEADER = re.compile(
    rb"\{'descr': '([<|][a-z]\d)', 'fortran_order': (True|False), "
    rb"'shape': \(((?:\d{1,12}, ?){0,8}(?:\d{1,12})?)\), \} *\n"
)
MAGIC = b"\x93NUMPY\x01\x00"
_KINDS = ("<f2", "<f4", "<f8", "<i2", "<i4", "<i8", "<u2", "<u4", "|i1", "|u1", "|b1")
DTYPES = {kind: np.dtype(kind) for kind in _KINDS}
"""Dtypes that may travel, by npy description; no others do."""


@lru_cache(maxsize=256)
def _header(dtype: str, shape: tuple[int, ...]) -> bytes:
    """Return the npy header of a C-ordered array, magic included."""
    buffer = io.BytesIO()
    header = {"descr": dtype, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(buffer, header)
    return buffer.getvalue()


class _Header(NamedTuple):
    """Dtype and shape, and the bytes of header and numbers."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    start: int
    payload: int


def _header_of(tensor: bytes | memoryview) -> _Header:
    """Read an npy tensor's header; see `decode` for the errors."""
    return _parse(bytes(tensor[: _start_of(tensor)]))


def _start_of(tensor: bytes | memoryview) -> int:
    """Return where the numbers of an npy tensor begin."""
    return 10 + int.from_bytes(tensor[8:10], "little")


@lru_cache(maxsize=256)
def _parse(header: bytes) -> _Header:
    """Read a whole header, magic included.

    NumPy evaluates its text as a Python literal. A fixed pattern is stricter, and safe in
    threads, where CPython 3.11's parser now and then is not.
    """
    if not header.startswith(MAGIC) or len(header) < 10:
        raise ProtocolError("an array arrived that is not in npy format 1.0")
    match = HEADER.fullmatch(header, 10)
    if match is None:
        raise ProtocolError("an array arrived whose npy header cannot be read")
    descr, order, numbers = (part.decode() for part in match.groups())
    if order != "False" or descr not in DTYPES:
        raise ProtocolError(f"an array arrived with dtype {descr}, which no protocol uses")
    dtype = DTYPES[descr]
    shape = tuple(int(number) for number in numbers.split(",") if number.strip())
    return _Header(dtype, shape, len(header), math.prod(shape) * dtype.itemsize)


def encode(array: Array) -> bytes:
    """Write one array as npy bytes.

    Parameters
    ----------
    array : ndarray
        Up to nine axes; dtype one of `DTYPES`.

    Returns
    -------
    bytes
        What ``numpy.save`` writes for the array in C order.

    Raises
    ------
    ProtocolError
        If the dtype is not one that travels.
    """
    dtype = array.dtype.str
    if dtype not in DTYPES:
        raise ProtocolError(f"arrays of dtype {array.dtype} do not travel")
    whole = np.asarray(array, order="C")  # whatever the strides
    return b"".join((_header(dtype, array.shape), whole.data))


def decode(tensor: bytes | memoryview) -> Array:
    """Read npy bytes into a read-only view of them.

    Parameters
    ----------
    tensor : bytes or memoryview
        What `encode` or ``numpy.save`` wrote.

    Returns
    -------
    ndarray
        Shape and dtype as sent.

    Raises
    ------
    ProtocolError
        If the bytes are not a whole npy 1.0 array of an allowed dtype.
    """
    dtype, shape, start, payload = _header_of(tensor)
    if len(tensor) - start != payload:
        raise ProtocolError(f"an array of shape {shape} arrived with {len(tensor) - start} bytes")
    try:
        array = np.ndarray(shape, dtype, tensor, start)
    except (ValueError, OverflowError) as error:  # no bytes, but axes that NumPy cannot count
        raise ProtocolError(f"an array of shape {shape} cannot be") from error
    if dtype.kind == "b" and (array.view(np.uint8) > 1).any():
        raise ProtocolError("an array arrived whose truth values are neither true nor false")
    return array


def payload_of(tensor: bytes | memoryview) -> int:
    """Return how many of an npy tensor's bytes are numbers, not header."""
    return len(tensor) - _start_of(tensor)


def shape_of(tensor: bytes | memoryview) -> tuple[int, ...]:
    """Return the shape of an npy tensor; see `decode` for the errors."""
    return _header_of(tensor).shape


def to_parameters(arrays: Sequence[Array]) -> Parameters:
    """Pack arrays as Flower parameters."""
    return Parameters(tensors=[encode(a) for a in arrays], tensor_type="numpy.ndarray")


def from_parameters(parameters: Parameters) -> list[Array]:
    """Unpack Flower parameters; see `decode` for the errors."""
    return [decode(tensor) for tensor in parameters.tensors]


def to_array(value: Array | Tensor) -> Array:
    """Convert to a C-ordered NumPy array, detached from graph and device."""
    array = value.detach().cpu().numpy() if isinstance(value, Tensor) else value
    return np.asarray(array, order="C")


def to_tensor(array: Array) -> Tensor:
    """Copy an array into a tensor of its own.

    The copy is aligned as torch aligns its memory, whatever the offset of the array in a message:
    kernels choose their code by alignment, and results must not depend on the transport.
    """
    return torch.tensor(array)


def identical(a: Array, b: Array) -> bool:
    """Tell whether two arrays have equal dtypes, shapes and bytes."""
    return (a.dtype, a.shape) == (b.dtype, b.shape) and a.tobytes() == b.tobytes()
