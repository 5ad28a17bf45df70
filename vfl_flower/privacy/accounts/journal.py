"""Append-only journal of records, chained by SHA-256.

A line is a record in JSON, a space, and the mark of the line: SHA-256, in hexadecimal, of the mark
of the line before and the record's text. So a line that is changed, taken out or put in is noticed
by all that come after. Lines that are cut off at the end are not, and whoever owns the file can
compute other marks: the chain is against accidents and clumsy hands, not against the owner.
"""

import errno
import fcntl
import json
import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

from vfl_flower.common.errors import PrivacyError
from vfl_flower.common.files import make_durable, refused

Record = Mapping[str, Any]

_FIRST = b"0" * 64
"""Mark before the first line."""


class Journal(ABC):
    """One file of records, shared by threads and processes of one machine.

    Parameters
    ----------
    path : Path
        The file, readable by its owner alone; made by the first record.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._size, self._mark = 0, _FIRST
        self._turn = threading.RLock()
        self._file = -1
        self.clear()

    @abstractmethod
    def clear(self) -> None:
        """Know of no record."""

    @abstractmethod
    def take(self, record: Record) -> None:
        """Add a record; a KeyError or the like refuses its form."""

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Lock the file, and take records appended by others.

        Raises
        ------
        PrivacyError
            If a line was changed or is missing.
        RunError
            If the file system refuses.
        """
        with self._turn, refused(self.path):
            if not self.path.exists():
                make_durable(self.path)
            with self._locked(os.O_RDWR | os.O_APPEND, fcntl.LOCK_EX):
                self._follow(repair=True)
                yield

    def read(self) -> None:
        """Take all records of the file, which is left as it is.

        Raises
        ------
        PrivacyError
            If a line was changed or is missing.
        RunError
            If the file system refuses.
        """
        with self._turn, refused(self.path), self._locked(os.O_RDONLY, fcntl.LOCK_SH):
            self._follow(repair=False)

    @contextmanager
    def _locked(self, flags: int, lock: int) -> Iterator[None]:
        """Hold the file open under a lock."""
        self._file = os.open(self.path, flags | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            fcntl.flock(self._file, lock)
            yield
        finally:
            os.close(self._file)

    def append(self, record: Record, *, durable: bool = True) -> None:
        """Write a record to disk, while the journal is `opened`.

        One that need not be durable yet is so with the next record that is.
        """
        text = json.dumps(record, separators=(",", ":")).encode()
        mark = _marked(self._mark, text)
        line = b"%b %b\n" % (text, mark)
        if os.write(self._file, line) < len(line):
            raise OSError(errno.ENOSPC, "no room for a line")
        if durable:
            os.fsync(self._file)
        self._size, self._mark = self._size + len(line), mark
        self.take(record)

    def _follow(self, *, repair: bool) -> None:
        """Read appended records; drop a last line that a crash cut short.

        Its upload has not left: it leaves once the line is on disk as a whole.
        """
        size = os.fstat(self._file).st_size
        if size < self._size or self._tail() != self._mark:
            raise PrivacyError(f"{self.path} was cut or changed while it was in use; put it back")
        content = os.pread(self._file, size - self._size, self._size)
        whole, newline, rest = content.rpartition(b"\n")
        if newline:
            self._take_lines(whole.split(b"\n"))
            self._size += len(whole) + 1
        if rest:
            self._check_cut(rest)
        if rest and repair:
            os.ftruncate(self._file, size - len(rest))

    def _tail(self) -> bytes:
        """Return the mark of the last line that is known."""
        if not self._size:
            return _FIRST
        return os.pread(self._file, len(_FIRST), self._size - len(_FIRST) - 1)

    def _check_cut(self, rest: bytes) -> None:
        """Refuse a last line that is whole, but for a damaged end."""
        text, _, written = rest.rpartition(b" ")
        if len(written) > len(_FIRST) and written.startswith(_marked(self._mark, text)):
            raise self._damaged()

    def _take_lines(self, lines: list[bytes]) -> None:
        mark = self._mark
        try:
            for line in lines:
                text, _, written = line.rpartition(b" ")
                mark = _marked(mark, text)
                if written != mark:
                    raise ValueError("the chain is broken")
                self.take(json.loads(text))
        except (ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
            self._size, self._mark = 0, _FIRST  # and all over again, once it is put back
            self.clear()
            raise self._damaged() from error
        self._mark = mark

    def _damaged(self) -> PrivacyError:
        return PrivacyError(
            f"{self.path} is damaged: a line was changed or is missing, and what earlier uploads "
            "have cost cannot be told; put back a copy"
        )


def _marked(before: bytes, text: bytes) -> bytes:
    """Return the mark of a line."""
    return sha256(before + text).hexdigest().encode()
