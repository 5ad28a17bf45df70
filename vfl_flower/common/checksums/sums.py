"""SHA-256 of a file's content, compared when the file is read.

It is taken of the values, not of the bytes: the file holds it beside them, so that no kill can part
the two, and it may be laid out anew.
"""

import json
import re
from hashlib import sha256
from pathlib import Path

from vfl_flower.common.errors import DamageError
from vfl_flower.common.text.logs import safe_log

KEY = "sha256"
"""Name of the sum in a file."""

_log = safe_log("vfl_flower.state")

_PARTS = re.compile(r"active|party-\d+|model|(seed|fold|trial)-\d+")
"""Folders inside the folder of a run."""

_told: set[Path] = set()


def sum_of(value: object) -> str:
    """Return the SHA-256 of a JSON value, in hexadecimal."""
    return sha256(json.dumps(value, separators=(",", ":")).encode()).hexdigest()


def check_sum(path: Path, found: object, expected: str) -> None:
    """Compare the sum in a file with that of its content.

    Parameters
    ----------
    path : Path
        The file.
    found : object
        The sum in it; None in a file of an earlier version, of which a warning is logged, once for
        each run.
    expected : str
        The sum of its content.

    Raises
    ------
    DamageError
        If they differ.
    """
    if found is None:
        _warn(path)
    elif found != expected:
        raise DamageError(
            f"{path} is missing or damaged: its content is not that of its {KEY}; put back a copy"
        )


def _warn(path: Path) -> None:
    """Warn of a run without sums, once in a process."""
    folder = path.absolute().parent
    while _PARTS.fullmatch(folder.name):
        folder = folder.parent
    if folder not in _told:
        _told.add(folder)
        _log.warning(
            "%s has files of an earlier version, such as %s, which hold no %s: damage to them is "
            "not noticed",
            *(folder, path.name, KEY),
        )
