"""Folders of runs as bytes, for a user's own pickles."""

from pathlib import Path, PurePosixPath

from vfl_flower.common.errors import RunError
from vfl_flower.common.files import write_atomically
from vfl_flower.common.layout import CONFIG, MODEL, RUN
from vfl_flower.interface.folders import Place
from vfl_flower.interface.run import Run
from vfl_flower.runs.metrics_file import METRICS
from vfl_flower.runs.results import RESULT

Files = dict[str, bytes]
"""Content of files by their paths in a folder."""

_OF_RUN = (CONFIG, RESULT, METRICS)


def packed(run: Run) -> Files:
    """Return a run's models and results, without rows and labels."""
    files = (path.relative_to(run.path) for path in run.path.rglob("*") if path.is_file())
    kept = sorted(path.as_posix() for path in files if _is_kept(PurePosixPath(path)))
    return {name: (run.path / name).read_bytes() for name in kept}


def _is_kept(path: PurePosixPath) -> bool:
    """Tell whether a file belongs to a run's models or results."""
    match path.parts:
        case (name,):
            return name in _OF_RUN
        case (_, name):
            return name == RUN
        case (_, folder, _):
            return folder == MODEL
    return False


def unpacked(files: Files) -> Run:
    """Open a packed run in a new private folder.

    Raises
    ------
    RunError
        If a file is none that `packed` keeps.
    """
    for name in files:
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts or not _is_kept(path):
            raise RunError(f"{name} is no file of a packed run")
    place = Place()
    for name, content in files.items():
        write_atomically(place.path / Path(name), content)
    return Run(place)
