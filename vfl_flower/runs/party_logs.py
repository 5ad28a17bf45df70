"""Log files of the parties of a run."""

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from pathlib import Path

from vfl_flower.common.files import make_private
from vfl_flower.common.layout import LOG
from vfl_flower.common.names import party_log, party_name
from vfl_flower.runs.run_folder import RunFolder


class _PartyLog(logging.FileHandler):
    """Log file for its owner only, created with its first line.

    A log is no part of a run: where the disk is full, a warning says so, once, and the run goes on.

    Parameters
    ----------
    rank : int
        The party's.
    path : Path
        The file.
    """

    def __init__(self, rank: int, path: Path) -> None:
        super().__init__(path, delay=True)
        self.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
        self.log, self._lacks = party_log(rank), False

    def handleError(self, record: logging.LogRecord) -> None:
        """Warn of a full disk; show a defect as Python does."""
        error = sys.exception()
        if not isinstance(error, OSError):
            super().handleError(record)
        elif not self._lacks:
            self._lacks = True
            reason = error.strerror or error
            self.log.warning("%s cannot be written: %s; it lacks lines", self.baseFilename, reason)

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record, and make the file before the first."""
        try:
            super().emit(record)
        except OSError:  # it cannot be opened
            self.handleError(record)

    def close(self) -> None:
        """Close the file, whatever cannot be written."""
        with suppress(OSError):
            super().close()

    def _open(self) -> TextIOWrapper:
        path = Path(self.baseFilename)
        make_private(path.parent)
        path.touch(mode=0o600)
        return super()._open()


@contextmanager
def party_logs(folder: RunFolder, parties: int) -> Iterator[None]:
    """Log each passive party of this process to its own folder."""
    added = [
        _PartyLog(rank, folder.path / party_name(rank) / LOG) for rank in range(1, parties + 1)
    ]
    for handler in added:
        handler.log.addHandler(handler)
    try:
        yield
    finally:
        for handler in added:
            handler.log.removeHandler(handler)
            handler.close()
