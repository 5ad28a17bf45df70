"""Counted file-system calls of a process, and a fault at one.

Counted is what Python does in a folder: opening for writing, write, fsync, flock, rename, remove,
mkdir, rmdir, chmod, utime and truncate. Reading, closing and making a folder that is there change
nothing. An audit hook sees most calls; files and fsync, which have no audit event, are replaced.
Libraries write through Python.
"""

import builtins
import io
import itertools
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

CHANGES = {
    **{f"os.{name}": 0 for name in ("rename", "remove", "mkdir", "rmdir", "truncate")},
    **{f"os.{name}": 0 for name in ("chmod", "chown", "utime", "link", "symlink")},
    "fcntl.flock": 0,
}
"""Audit events that change files, and which of their arguments is a path or a file's number."""

DIRECTORY = {"os.remove": 1, "os.rmdir": 1, "os.mkdir": 2, "os.chmod": 2}
"""Which of their arguments is the number of a folder that the path starts from, or -1."""

Fault = Callable[[], None]
_WRITES = set("wax+")


def path_of(number: int) -> str:
    """Return the path of an open file; empty if it has none."""
    try:
        return str(Path(f"/proc/self/fd/{number}").readlink())
    except OSError:
        return ""


class Calls:
    """Calls in a folder, in the order in which they come.

    Parameters
    ----------
    folder : Path
        What lies elsewhere is not counted.
    point : int
        Number of the call before which the fault comes, from 1; 0 for none.
    fault : callable
        Ends the process, or sends it a signal. A write is met when half of it is done.

    Attributes
    ----------
    names : list of str
        Each call's name and its path.
    """

    def __init__(self, folder: Path, point: int, fault: Fault) -> None:
        self.folder, self.point, self.fault = str(folder), point, fault
        self.names, self._numbers = list[str](), itertools.count(1)

    def install(self) -> None:
        """Count from now on, for the rest of the process."""
        sys.addaudithook(self._audited)
        original = os.fsync

        def fsync(file: Any) -> None:  # noqa: ANN401
            number = file if isinstance(file, int) else file.fileno()
            self.meet("fsync", path_of(number))
            original(file)

        for name, replacement in ((io, "open"), (builtins, "open")):
            patch.object(name, replacement, self._opener(io.open)).start()
        patch.object(os, "fsync", fsync).start()

    def is_met(self, name: str, path: str) -> bool:
        """Count a call; tell whether the fault comes here."""
        if not self.is_here(path):
            return False
        self.names.append(f"{name} {path.removeprefix(self.folder).lstrip('/') or '.'}")
        return next(self._numbers) == self.point

    def meet(self, name: str, path: str) -> None:
        """Count a call, after the fault if that comes here."""
        if self.is_met(name, path):
            self.fault()

    def is_here(self, path: str) -> bool:
        """Tell whether a path is the folder's or lies below."""
        return path == self.folder or path.startswith(f"{self.folder}/")

    def _audited(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            path, _, flags = arguments
            if isinstance(path, str | Path) and flags & (os.O_WRONLY | os.O_RDWR):
                self.meet("open", str(Path(path).absolute()))
        elif event in CHANGES:
            path, base = arguments[CHANGES[event]], arguments[DIRECTORY.get(event, -1)]
            if isinstance(path, int):
                path = path_of(path)
            elif event in DIRECTORY and base >= 0:
                path = Path(path_of(base), path)
            path = Path(os.fsdecode(path)).absolute()
            if event != "os.mkdir" or not path.exists():
                self.meet(event.split(".")[1], str(path))

    def _opener(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Return an `open` whose files count their writes."""

        def opened(
            file: Any,  # noqa: ANN401
            mode: str = "r",
            buffering: int = -1,
            encoding: str | None = None,
            errors: str | None = None,
            newline: str | None = None,
            **named: Any,  # noqa: ANN401
        ) -> Any:  # noqa: ANN401
            path = (
                path_of(file) if isinstance(file, int) else str(Path(os.fsdecode(file)).absolute())
            )
            text = {"encoding": encoding, "errors": errors, "newline": newline}
            if not _WRITES & set(mode) or not self.is_here(path):
                return original(file, mode, buffering, **text, **named)
            raw = _Written(self, path, file, mode.replace("b", "").replace("t", ""))
            if buffering == 0:
                return raw
            buffered = io.BufferedRandom(raw) if "+" in mode else io.BufferedWriter(raw)
            if "b" in mode:
                return buffered
            return io.TextIOWrapper(buffered, encoding, errors, newline, buffering == 1)

        return opened


class _Written(io.FileIO):
    """File that counts its writes, with half a write before a fault."""

    def __init__(self, calls: Calls, path: str, file: Any, mode: str) -> None:  # noqa: ANN401
        super().__init__(file, mode)
        self._calls, self._path = calls, path

    def write(self, content: Any) -> int:  # noqa: ANN401
        """Count, then write."""
        if not self._calls.is_met("write", self._path):
            return super().write(content)
        whole = memoryview(content).cast("B")
        done = super().write(whole[: len(whole) // 2])
        self._calls.fault()
        return done + super().write(whole[done:])
