"""Folders of runs as bytes, for a user's own pickles."""

from pathlib import Path

from vfl_flower.common.files import write_atomically
from vfl_flower.common.layout import ALIGNMENT, TABLE
from vfl_flower.interface.folders import Place
from vfl_flower.interface.run import Run

Files = dict[str, bytes]
"""Content of files by their paths in a folder."""


def packed(run: Run) -> Files:
    """Return a run's models and results, without rows of its data."""
    files = sorted(path for path in run.path.rglob("*") if path.is_file())
    return {
        str(path.relative_to(run.path)): path.read_bytes() for path in files if not _of_data(path)
    }


def _of_data(path: Path) -> bool:
    """Whether a file holds rows, their alignment, or a training state."""
    rows = path.parent.name == TABLE.parent.name or path.name == ALIGNMENT
    return rows or path.name.startswith("checkpoint-")


def unpacked(files: Files) -> Run:
    """Open a packed run in a new private folder."""
    place = Place()
    for name, content in files.items():
        path = place.path / name
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_atomically(path, content)
    return Run(place)
