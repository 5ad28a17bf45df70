"""Text files, compressed with gzip or not."""

import codecs
import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, NamedTuple, cast

import numpy as np

GZIP = ".gz"

DAMAGED = (EOFError, gzip.BadGzipFile, zlib.error)
"""Exceptions of a gzip file that is cut off or no gzip file."""

LONGEST = 1 << 26
"""Bytes of a line that are read."""

_BLOCK = 1 << 20
_LARGE, _RATIO = 1 << 30, 200
_LINE_ENDS = np.frombuffer(b"\n\r", np.uint8)


class Bytes(NamedTuple):
    """Facts about the bytes of a text file, once it is unpacked.

    Attributes
    ----------
    longest : int
        Bytes of its longest line, up to a block more than `LONGEST`.
    quotes : int
        Number of double quotes.
    binary : bool
        Whether it holds a NUL byte.
    bomb : bool
        Whether it is larger than a gibibyte, and 200 times as large as the file.
    foreign : int
        Number of the first line that is not UTF-8; 0: all are.
    """

    longest: int
    quotes: int
    binary: bool
    bomb: bool
    foreign: int = 0


def unpacked(path: Path) -> IO[bytes]:
    """Open a file for reading, through gzip if its name says so."""
    packed = path.suffix.lower() == GZIP
    return cast("IO[bytes]", gzip.open(path, "rb")) if packed else path.open("rb")


def looked_through(path: Path) -> Bytes:
    """Read a file once, in blocks, until something is wrong.

    Raises
    ------
    OSError, EOFError, zlib.error
        If it cannot be read; see `DAMAGED`.
    """
    decoder = codecs.getincrementaldecoder("utf-8")()
    most = max(_LARGE, _RATIO * path.stat().st_size)
    line = longest = quotes = total = lines = 0
    with unpacked(path) as file:
        for block in _blocks(file):
            total += len(block)
            quotes += block.count(b'"')
            line, longest = _lines(block, line, longest)
            binary, bomb = b"\0" in block, path.suffix.lower() == GZIP and total > most
            foreign = _foreign(decoder, block, lines)
            if binary or bomb or foreign or longest > LONGEST:
                return Bytes(longest, quotes, binary, bomb, foreign)
            lines += block.count(b"\n")
    foreign = _foreign(decoder, b"", lines)
    return Bytes(longest, quotes, binary=False, bomb=False, foreign=foreign)


def _foreign(decoder: codecs.IncrementalDecoder, block: bytes, lines: int) -> int:
    """Return the number of the first line not in UTF-8, else 0."""
    try:
        decoder.decode(block, final=not block)
    except UnicodeDecodeError as error:
        return lines + error.object.count(b"\n", 0, error.start) + 1
    return 0


def _blocks(file: IO[bytes]) -> Iterator[bytes]:
    while block := file.read(_BLOCK):
        yield block


def _lines(block: bytes, begun: int, longest: int) -> tuple[int, int]:
    """Return the bytes of the unfinished and of the longest line."""
    ends = np.flatnonzero(np.isin(np.frombuffer(block, np.uint8), _LINE_ENDS))
    if not ends.size:
        return begun + len(block), max(longest, begun + len(block))
    between = int(np.diff(ends).max(initial=0))
    rest = len(block) - int(ends[-1])
    return rest, max(longest, begun + int(ends[0]), between, rest)
