"""Wire format of a session: frames of a record and npy arrays.

A frame is, in network order: magic ``VFS`` and a version byte, the kind (1 byte), the sequence
number (8 bytes), the length of the record (4 bytes) and the number of arrays (4 bytes); the record,
JSON in UTF-8; then each array with its length (8 bytes) before it.
"""

import json
import math
import re
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import cast

from flwr.common import Parameters, Scalar

from vfl_flower.common.errors import ProtocolError

VERSION = 1
HEAD = struct.Struct("!3sBBQII")
_LENGTH = struct.Struct("!Q")
MAGIC = b"VFS"
LARGEST = 1 << 28  # bytes of a frame; a larger one is refused before it is read
_JSON = json.JSONEncoder(allow_nan=False)
_SURROGATE = re.compile("[\ud800-\udfff]")  # half a character, which no encoding can write
LONGEST_RECORD, MOST_TENSORS = 1 << 20, 4096  # bytes and arrays: both are read in Python


class Kind(IntEnum):
    """Kinds of frames."""

    ROLL_CALL = 1
    EXCHANGE = 2
    REPLY = 3
    END = 4
    WELCOME = 5


@dataclass(frozen=True)
class Frame:
    """One request or reply.

    Attributes
    ----------
    kind : Kind
    sequence : int
        Of the request, counted from 1 in each session; a reply has its request's.
    record : dict of str to scalar
        Flower's config or metrics.
    tensors : list of bytes or memoryview
        Npy arrays, as Flower's parameters carry them.
    """

    kind: Kind
    sequence: int
    record: Mapping[str, Scalar]
    tensors: Sequence[bytes | memoryview]

    def same(self, other: "Frame") -> bool:
        """Tell whether another frame holds the same objects."""
        numbers = (self.kind, self.sequence) == (other.kind, other.sequence)
        return numbers and self.record is other.record and self.tensors is other.tensors

    def encode(self) -> bytes:
        """Return the frame's bytes.

        Raises
        ------
        ProtocolError
            If they are more than `LARGEST`, or a number is not finite.
        """
        return self._join(self._start())

    def _start(self) -> bytes:
        """Return head and record."""
        try:
            record = _JSON.encode(dict(self.record)).encode()
        except ValueError as error:
            raise ProtocolError("a message has a number that is not finite") from error
        if len(record) > LONGEST_RECORD or len(self.tensors) > MOST_TENSORS:
            raise ProtocolError(
                f"a message has {len(self.tensors)} arrays and a record of {len(record)} bytes; a "
                f"session carries {MOST_TENSORS} and {LONGEST_RECORD}"
            )
        counts = len(record), len(self.tensors)
        return HEAD.pack(MAGIC, VERSION, self.kind, self.sequence, *counts) + record

    def _join(self, start: bytes) -> bytes:
        """Append the arrays to head and record."""
        parts: list[bytes | memoryview] = [start]
        for tensor in self.tensors:
            parts += (_LENGTH.pack(len(tensor)), tensor)
        size = sum(map(len, parts))
        if size > LARGEST:
            raise ProtocolError(
                f"a message of {size / 2**20:.0f} MiB is more than the {LARGEST >> 20} MiB that a "
                "session carries; lower batch-size, eval-batch-size or embedding-dim"
            )
        return b"".join(parts)


class FrameEncoder:
    """Encodes frames; those in a row of the same objects, once.

    Parties are often sent the same arrays, which may be large.
    """

    def __init__(self) -> None:
        self._last: tuple[Frame, bytes] | None = None

    def encode(self, frame: Frame) -> bytes:
        """Return a frame's bytes; see `Frame.encode`."""
        last = self._last  # read once: a roll call has a thread for each party
        if last is None or not frame.same(last[0]):
            last = self._last = frame, frame.encode()
        return last[1]


def decode_frame(content: bytes) -> Frame:
    """Read a frame.

    Raises
    ------
    ProtocolError
        If it is not whole and well-formed.
    """
    try:
        magic, version, kind, sequence, length, count = HEAD.unpack_from(content)
        if (magic, version) != (MAGIC, VERSION):
            raise ValueError("not a frame of this version")
        if length > LONGEST_RECORD or count > MOST_TENSORS:
            raise ValueError("too much")
        at = HEAD.size + length
        record = json.loads(content[HEAD.size : at].decode())
        if not isinstance(record, dict) or not all(map(_scalar, (*record, *record.values()))):
            raise ValueError("not a record of scalars")
        tensors, view = [], memoryview(content)
        for _ in range(count):
            (size,) = _LENGTH.unpack_from(content, at)
            at += _LENGTH.size
            if size > len(content) - at:
                raise ValueError("cut short")
            tensors.append(view[at : at + size])  # no copy: arrays may be large
            at += size
        if at != len(content):
            raise ValueError("cut short or too long")
        return Frame(Kind(kind), sequence, record, tensors)
    except (struct.error, ValueError, RecursionError) as error:
        raise ProtocolError("a frame arrived that cannot be read") from error


def parameters_of(frame: Frame) -> Parameters:
    """Return a frame's arrays as Flower's parameters, without a copy."""
    return Parameters(cast("list[bytes]", list(frame.tensors)), "numpy.ndarray")


def _scalar(value: object) -> bool:
    """Tell whether Flower's records could hold a value, and others write it."""
    if isinstance(value, str):
        return value.isascii() or not _SURROGATE.search(value)
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, int) and -(2**63) <= value < 2**64  # bool is one


SERVICE, METHOD = "vfl_flower.Session", "Join"
VERSION_KEY, RUN_KEY, NODE_KEY, RANK_KEY = "vfl-version", "vfl-run", "vfl-node", "vfl-rank"
TOKEN_KEY, SECRET_KEY = "vfl-token-bin", "vfl-secret-bin"
