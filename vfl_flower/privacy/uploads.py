"""A party's count of what it has sent: on disk before each upload, and never taken back.

The file has a letter for each upload, in order. No checkpoint holds it and no resume shortens it;
a party that is built anew, or twice at once, goes on counting in the same one.
"""

import fcntl
import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from vfl_flower.errors import PrivacyError
from vfl_flower.runs import refused

FILE = "uploads"
LETTERS = {"training": b"t", "evaluation": b"e"}

Counts = Counter[str]
"""How many uploads there were, by ``training`` and ``evaluation``."""


class Uploads:
    """The count of one party in one run.

    Parameters
    ----------
    folder : Path
        The party's own.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE

    def counts(self) -> Counts:
        """Return what has been counted so far.

        Raises
        ------
        PrivacyError
            If the file is damaged.
        RunError
            If it cannot be read.
        """
        with refused(self.path):
            return self._counts(self.path.read_bytes() if self.path.exists() else b"")

    def add(self, kind: str, allowed: Callable[[Counts], bool]) -> bool:
        """Count one more upload before it leaves, if that is allowed.

        Parameters
        ----------
        kind : {"training", "evaluation"}
            What it is for.
        allowed : callable
            Whether counts may be reached.

        Returns
        -------
        bool
            Whether it is counted, on disk, and may leave.

        Raises
        ------
        PrivacyError
            If the file is damaged.
        RunError
            If it cannot be written.
        """
        with refused(self.path):
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.path.touch(mode=0o600)
            with self.path.open("ab+", buffering=0) as file:
                fcntl.flock(file, fcntl.LOCK_EX)  # the same party may be built twice at once
                file.seek(0)
                earlier = file.read()
                good = allowed(self._counts(earlier) + Counts([kind]))
                if good:
                    file.write(LETTERS[kind])
                    os.fsync(file)
                if good and not earlier:
                    _sync_name(self.path)
        return good

    def _counts(self, letters: bytes) -> Counts:
        counts = Counts({kind: letters.count(letter) for kind, letter in LETTERS.items()})
        if counts.total() != len(letters):
            raise PrivacyError(
                f"{self.path} is damaged: it counts this party's uploads, and what they have cost "
                "cannot be told without; start a new run"
            )
        return counts


def _sync_name(path: Path) -> None:
    """Let a new file's name survive a crash too."""
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
