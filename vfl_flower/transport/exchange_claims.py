"""Exchange numbers that a rebuilt party has used.

Flower builds the party anew for every message, and may start two messages at the same time, each
with the party as it was before both. So a
number is claimed in the party's own folder before anything is computed, and one of the two is
refused. Numbers grow within an attempt, from one roll call to the next, and keys are agreed in
each attempt anew; so each attempt has a number of its own. The file survives processes, as Flower's
memory of the party does; after a crash of the machine the keys and their use are gone, both.

Without a folder, as in a simulation that writes nothing, numbers are claimed within the process.
"""

import fcntl
import struct
from pathlib import Path
from threading import Lock
from typing import BinaryIO

from vfl_flower.common.errors import RunError
from vfl_flower.common.files import make_private, refused

FILE = "exchanges"
ATTEMPT = 8  # bytes
MOST = 10_000  # attempts of one run

_RECORD = struct.Struct(f">{ATTEMPT}sQ")
_here: dict[bytes, int] = {}
_lock = Lock()


def claim(folder: Path | None, attempt: bytes, exchange: int) -> int:
    """Claim an exchange's number, once and for all.

    Parameters
    ----------
    folder : Path or None
        The party's own.
    attempt : bytes
        `ATTEMPT` random bytes, drawn at the roll call.
    exchange : int
        The number, from 1.

    Returns
    -------
    int
        The largest number claimed before; the claim holds only if it is smaller.

    Raises
    ------
    RunError
        If the file cannot be used, or is full.
    """
    if folder is None:
        with _lock:
            earlier = _here.get(attempt, 0)
            _here[attempt] = max(earlier, exchange)
            return earlier
    path = folder / FILE
    with refused(path):
        make_private(folder)
        path.touch(mode=0o600)
        with path.open("rb+") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            return _claim_in(file, path, attempt, exchange)


def _claim_in(file: BinaryIO, path: Path, attempt: bytes, exchange: int) -> int:
    """Look up an attempt in the locked file, and write its number."""
    content = file.read()
    if len(content) % _RECORD.size:
        raise RunError(f"{path} is damaged; choose another run-name")
    claimed: dict[bytes, int] = dict(_RECORD.iter_unpack(content))
    earlier = claimed.get(attempt, 0)
    place = [*claimed, attempt].index(attempt)
    if place >= MOST:
        raise RunError(f"{path} is full: there were {MOST:,} attempts; choose another run-name")
    if exchange > earlier:
        file.seek(place * _RECORD.size)
        file.write(_RECORD.pack(attempt, exchange))
    return earlier
