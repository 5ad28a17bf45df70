"""Private folders of runs, and errors that leave one behind."""

import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from vfl_flower.common.errors import CallbackError, Interrupted, RunError, VflError
from vfl_flower.common.files import refused
from vfl_flower.common.layout import CONFIG
from vfl_flower.common.text.escapes import escaped_lines
from vfl_flower.config.schema import split_list
from vfl_flower.interface.checks import path_of
from vfl_flower.learning.networks.given import hold


class Place:
    """Folder of a run; a private one is removed with it.

    Parameters
    ----------
    out : str or Path, optional
        The folder; without one, a new temporary folder for its owner alone.
    within : Place, optional
        Folder that it lies in, which must stay as long.

    Attributes
    ----------
    path : Path
        Absolute.
    private : bool
        Whether it is a temporary folder that is to be removed.

    Raises
    ------
    ConfigError
        If `out` is no path.
    """

    def __init__(
        self, out: str | os.PathLike[str] | None = None, within: "Place | None" = None
    ) -> None:
        self.within = within
        self._names = ""
        self._held: list[weakref.finalize[..., Any]] = []
        self.private = out is None or out == ""
        given = None if self.private else path_of(out, "out")
        with refused(Path(tempfile.gettempdir())):
            self.path = given or Path(tempfile.mkdtemp(prefix="vfl-flower-"))
        self._end: weakref.finalize[..., Place] | None = None
        if self.private:
            self._end = weakref.finalize(self, _remove, self.path, os.getpid())

    def keep(self) -> None:
        """Leave the folder where it is, and its networks in this process."""
        self.private = False
        for each in [*self._held, *([self._end] if self._end else [])]:
            each.detach()

    def hold(self, names: str) -> None:
        """Keep networks of a run, given as objects, while this object lives.

        Parameters
        ----------
        names : str
            The option `models`.
        """
        self._names = names
        self._held += hold(split_list(names), self)

    @property
    def lasts(self) -> bool:
        """Whether the folder stays when this process ends."""
        return not self.private and (self.within is None or self.within.lasts)

    def __reduce__(self) -> tuple[Callable[[Path, str], "Place"], tuple[Path, str]]:
        """Copy the path; a private folder has no copies.

        Raises
        ------
        RunError
            If it is private, or lies in one that is.
        """
        if not self.lasts:
            raise RunError(
                f"{self.path} is a private temporary folder, which another process or a copy "
                "cannot keep; save it first, or name a folder with out"
            )
        return _again, (self.path, self._names)

    def remove(self) -> None:
        """Remove a private folder now."""
        if self._end:
            self._end()


def _again(path: Path, names: str) -> Place:
    """Return a copy of a place, which holds the same networks."""
    place = Place(path)
    place.hold(names)
    return place


def copy_folder(source: Path, target: Path, complete: Callable[[Path], None]) -> None:
    """Copy a run's folder; the copy is whole or absent.

    Parameters
    ----------
    source, target : Path
        Folder of the run, and that of the copy.
    complete : callable
        Is given the copy, to put into it what lies elsewhere.

    Raises
    ------
    RunError
        If there is something in its place already, it lies in the source, the source holds a
        symbolic link, or the file system refuses.
    """
    if target.resolve().is_relative_to(source.resolve()):
        raise RunError(f"{target} lies in the folder of the run itself; choose another folder")
    with refused(target):
        if target.exists() or target.is_symlink():
            raise RunError(f"{target} exists; choose another folder")
        target.parent.mkdir(parents=True, exist_ok=True)
        staging = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}."))
        try:
            shutil.copytree(source, staging, symlinks=True, dirs_exist_ok=True)
            complete(staging)
            if links := [path for path in staging.rglob("*") if path.is_symlink()]:
                raise RunError(
                    f"{source / links[0].relative_to(staging)} is a link, which could lead to any "
                    "file; no run has links: remove it"
                )
            staging.rename(target)
        except BaseException:
            shutil.rmtree(staging, ignore_errors=True)
            raise


def _remove(path: Path, owner: int) -> None:
    """Remove a folder, unless this process is a fork of the owner's."""
    if os.getpid() == owner:
        shutil.rmtree(path, ignore_errors=True)


@contextmanager
def resumable(place: Place, record: str = CONFIG, opened: str = "load") -> Iterator[None]:
    """Keep the folder of runs that Ctrl-C or a callback ends.

    Parameters
    ----------
    place : Place
        The folder.
    record : str
        Name of a file that is in it once they have begun.
    opened : str
        Opens the folder again, with its path; the object goes on by ``resume()``.

    Raises
    ------
    KeyboardInterrupt
        With a note that names the folder.
    CallbackError
        With such a note, too.
    """
    try:
        yield
    except (Interrupted, KeyboardInterrupt) as stopped:
        error = KeyboardInterrupt(str(stopped))
        _keep(place, error, record, opened)
        raise error from stopped
    except CallbackError as failed:
        _keep(place, failed, record, opened)
        raise


def _keep(place: Place, error: BaseException, record: str, opened: str) -> None:
    """Keep runs that have begun; note their folder on the error."""
    if (place.path / record).is_file():
        place.keep()
        error.add_note(f"go on with it: vfl_flower.{opened}({str(place.path)!r}).resume()")


@contextmanager
def in_full() -> Iterator[None]:
    """Add the detail of an error to its text."""
    try:
        yield
    except VflError as error:
        if error.detail:
            error.args, error.detail = (escaped_lines(error.in_full()),), ""
        raise
