"""Log files of the parties of a run."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from pathlib import Path

from vfl_flower.common.files import make_private
from vfl_flower.common.layout import LOG
from vfl_flower.common.names import party_log, party_name
from vfl_flower.runs.run_folder import RunFolder


class _PartyLog(logging.FileHandler):
    """Log file for its owner only, created with its first line."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record; a failure to write is ignored."""
        with suppress(OSError):
            super().emit(record)

    def _open(self) -> TextIOWrapper:
        path = Path(self.baseFilename)
        make_private(path.parent)
        path.touch(mode=0o600)
        return super()._open()


@contextmanager
def party_logs(folder: RunFolder, parties: int) -> Iterator[None]:
    """Log each passive party of this process to its own folder."""
    added = []
    for rank in range(1, parties + 1):
        handler = _PartyLog(folder.path / party_name(rank) / LOG, delay=True)
        handler.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
        party_log(rank).addHandler(handler)
        added.append((party_log(rank), handler))
    try:
        yield
    finally:
        for log, handler in added:
            log.removeHandler(handler)
            handler.close()
