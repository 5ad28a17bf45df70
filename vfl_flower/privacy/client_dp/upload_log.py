"""A party's durable count of uploads, written before each one.

Nothing takes the count back.

The file has a letter for each upload, in order. It is made before the party's first checkpoint. No
checkpoint holds it and no resume shortens it; a party that is built anew, or twice at once, goes on
counting in the same one.
"""

import fcntl
import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

from vfl_flower.common.codec import Array
from vfl_flower.common.errors import PrivacyError
from vfl_flower.common.files import make_durable, refused
from vfl_flower.common.layout import steps_kept

FILE = "uploads"
LETTERS = {"training": b"t", "evaluation": b"e"}

Counts = Counter[str]
"""How many uploads there were, by ``training`` and ``evaluation``."""


class Uploads:
    """The count of one party in one run.

    Parameters
    ----------
    folder : Path
        The party's own, with its checkpoints.

    Attributes
    ----------
    known : Counts or None
        How many uploads there were at least. None as long as nothing says that the file was made.
    """

    kinds: ClassVar[tuple[str, ...]] = tuple(LETTERS)

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE
        self.known: Counts | None = None

    def begin(self) -> None:
        """Make the file, unless it is there.

        Raises
        ------
        PrivacyError
            If it was there, and is gone or cut short; or it is damaged.
        RunError
            If it cannot be written.
        """
        with refused(self.path):
            if not self.path.exists():
                self._check_new()
                make_durable(self.path)
            self._count(self._content())

    def expect(self, counts: Counts) -> None:
        """Raise the lower limit of the number of uploads.

        Raises
        ------
        PrivacyError
            If the file is missing, cut short or damaged.
        RunError
            If it cannot be read.
        """
        self.known = counts | (self.known or Counts())
        self.counts()

    def counts(self) -> Counts:
        """Return the counts so far.

        Raises
        ------
        PrivacyError
            If the file is missing, cut short or damaged.
        RunError
            If it cannot be read.
        """
        with refused(self.path):
            if self.path.exists():
                return self._count(self._content())
            self._check_new()
            return Counts(dict.fromkeys(self.kinds, 0))

    def after(self, kind: str, rows: Array, uploads: int = 1) -> Counts:
        """Return the counts after rows are sent once; see `add`."""
        return self.counts() + Counts({kind: uploads})

    def add(self, kind: str, rows: Array, allowed: Callable[[Counts], bool]) -> bool:
        """Count one more upload before it leaves, if that is allowed.

        Parameters
        ----------
        kind : {"training", "evaluation"}
            What it is for.
        rows : ndarray
            Numbers of its rows, (B,) int32.
        allowed : callable
            Whether counts may be reached.

        Returns
        -------
        bool
            Whether it is counted, on disk, and may leave.

        Raises
        ------
        PrivacyError
            If the file is missing, cut short or damaged.
        RunError
            If it cannot be written.
        """
        self.begin()
        with refused(self.path), self.path.open("rb+", buffering=0) as file:
            fcntl.flock(file, fcntl.LOCK_EX)  # the same party may be built twice at once
            reached = self._count(file.read()) + Counts([kind])
            if not allowed(reached):
                return False
            file.write(LETTERS[kind])
            os.fsync(file)
        self.known = reached
        return True

    def _check_new(self) -> None:
        """Refuse a missing file where there must have been one."""
        if self.known is not None or steps_kept(self.path.parent):  # step 0 counts too
            raise self._lost()

    def _content(self) -> bytes:
        """Read all that the counts follow from."""
        return self.path.read_bytes()

    def _count(self, content: bytes) -> Counts:
        """Return the counts, checked against those that are known."""
        counts = Counts({kind: content.count(letter) for kind, letter in LETTERS.items()})
        return self._checked(counts, whole=counts.total() == len(content))

    def _checked(self, counts: Counts, *, whole: bool) -> Counts:
        """Refuse counts of a damaged file, and fewer than there were."""
        if not whole:
            raise PrivacyError(
                f"{self.path} is damaged: it counts this party's uploads, and what they have cost "
                "cannot be told without; start a new run"
            )
        if not (self.known or Counts()) <= counts:
            raise self._lost()
        self.known = counts
        return counts

    def _lost(self) -> PrivacyError:
        return PrivacyError(
            f"{self.path.parent.name}'s count of uploads is missing or cut short: {self.path}; put "
            "it back, or start a new run"
        )
