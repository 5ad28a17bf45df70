"""A party's durable count of each row's uploads, written before each.

The file begins with a mark, the number of rows that it has room for and the counts of `KINDS`, and
goes on with two numbers for each row, its uploads in training and in evaluation: little-endian
words of 32 bits, none of which ever falls. A row that
is predicted later counts under its number, be it a row of another table: too often, never too
seldom. It has the name of the file of letters, and neither is read as the other.
"""

import fcntl
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from vfl_flower.common.codec import Array
from vfl_flower.common.errors import PrivacyError
from vfl_flower.common.files import refused
from vfl_flower.privacy.client_dp.upload_log import Counts, Uploads

KINDS = ("training", "evaluation", "row_training", "row_evaluation", "row")
"""Uploads of the party by purpose; the most of one row, and the most of its noised mechanisms."""

_WORD = np.dtype("<u4")
_MARK = int.from_bytes(b"rows", "little")
_PURPOSES = 2
_BEFORE = 2
"""Words before the counts."""
_WORDS = _BEFORE + len(KINDS)
_HEADER = _WORDS * _WORD.itemsize
_ROW = _PURPOSES * _WORD.itemsize

Words = NDArray[np.uint32]
Pairs = NDArray[np.int64]


class RowUploads(Uploads):
    """The count of one party in one run, row by row.

    Parameters
    ----------
    folder : Path
        The party's own, with its checkpoints.
    costs : mapping of str to int
        Noised mechanisms that an upload's row enters, by purpose: that of the upload, and in
        training that of gradients.
    """

    kinds = KINDS

    def __init__(self, folder: Path, costs: Mapping[str, int]) -> None:
        super().__init__(folder)
        self._costs = np.array([costs[kind] for kind in KINDS[:_PURPOSES]], np.int64)

    def after(self, kind: str, rows: Array, uploads: int = 1) -> Counts:
        """Return the counts after distinct rows, (B,) int32, are sent once.

        Raises
        ------
        PrivacyError
            As `Uploads.counts`; or if a row is named twice.
        """
        counts = self.counts()
        with refused(self.path):
            reached, _ = self._reached(counts, _words_in(self.path), kind, rows)
        return reached + Counts({kind: uploads - 1})

    def add(self, kind: str, rows: Array, allowed: Callable[[Counts], bool]) -> bool:
        """Count another upload of distinct rows before it leaves, if allowed.

        See `Uploads.add`.
        """
        if not len(rows):
            raise PrivacyError(f"{self.path.parent.name} would send an upload of unnamed rows")
        self.begin()
        with refused(self.path), self.path.open("rb+", buffering=0) as file:
            fcntl.flock(file, fcntl.LOCK_EX)  # the same party may be built twice at once
            counts = self._count(file.read(_HEADER))
            counts, pairs = self._reached(counts, _words_in(self.path), kind, rows)
            if not allowed(counts):
                return False
            _make_room(file, rows)
            words = np.memmap(file, _WORD, "r+")
            words[_places(rows)] = pairs  # before their maxima, of which no crash may leave less
            room = (len(words) - _WORDS) // _PURPOSES
            words[:_WORDS] = [_MARK, room, *(counts[each] for each in KINDS)]
            words.flush()
            os.fsync(file)
        self.known = counts
        return True

    def _reached(
        self, counts: Counts, words: Words, kind: str, rows: Array
    ) -> tuple[Counts, Pairs]:
        """Return counts after another upload, and those of its rows."""
        if len(np.unique(rows)) < len(rows):
            raise PrivacyError(f"{self.path.parent.name} was asked for a row twice at once")
        places = _places(rows)
        known = places[:, -1] < len(words)  # a row beyond the file's end has not been sent yet
        pairs = np.zeros(places.shape, np.int64)
        pairs[known] = words[places[known]]
        pairs[:, KINDS.index(kind)] += 1
        most = {
            **dict(zip(KINDS[_PURPOSES:], pairs.max(0, initial=0).tolist(), strict=False)),
            "row": int((pairs @ self._costs).max(initial=0)),
        }
        return (counts + Counts([kind])) | Counts(most), pairs

    def _content(self) -> bytes:
        with self.path.open("rb") as file:
            return file.read(_HEADER)

    def _count(self, content: bytes) -> Counts:
        if not content:
            return self._checked(Counts(dict.fromkeys(KINDS, 0)), whole=True)
        whole = len(content) == _HEADER
        mark, room, *found = np.frombuffer(content.ljust(_HEADER, b"\0"), _WORD).tolist()
        whole = whole and mark == _MARK and self.path.stat().st_size >= _HEADER + _ROW * room
        return self._checked(Counts(dict(zip(KINDS, found, strict=True))), whole=whole)


def _words_in(path: Path) -> Words:
    """Map a file's words for reading; none without a header."""
    if not path.exists() or not path.stat().st_size:
        return np.empty(0, np.uint32)
    return np.memmap(path, _WORD, "r")


def _places(rows: Array) -> NDArray[np.int64]:
    """Return the places of each row's two words: (B,) -> (B, 2)."""
    return _WORDS + _PURPOSES * rows.astype(np.int64)[:, None] + np.arange(_PURPOSES)


def _make_room(file: BinaryIO, rows: Array) -> None:
    """Begin an empty file; lengthen it for rows beyond its end."""
    if not os.fstat(file.fileno()).st_size:  # before any room, which without a header is damage
        file.write(np.array([_MARK, *[0] * (_WORDS - 1)], _WORD).tobytes())
        os.fsync(file)
    needed = _HEADER + _ROW * (int(rows.max(initial=-1)) + 1)
    if os.fstat(file.fileno()).st_size < needed:
        os.ftruncate(file.fileno(), needed)
