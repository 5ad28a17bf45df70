"""Atomic file writes and JSON files."""

import errno
import json
import os
import re
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from vfl_flower.common.errors import RunError
from vfl_flower.common.json_schema import Shape, fits

LARGEST = 2**20
"""Bytes of keys, policies and lists that people write."""

PARTIAL = ".vfl-flower-partial"
"""End of the names of files that are being written, until they are whole."""

_EARLIER = (
    r"(config\.toml|card\.md|(seeds|folds|run|result|sweep|network|target|encoder)\.json"
    r"|(weights|alignment|split|noised-labels|checkpoint-\d{9})\.safetensors)\.[a-z0-9_]{8}"
)
_TEMPORARY = re.compile(rf"\.(.+{re.escape(PARTIAL)}|{_EARLIER})")
"""Names of such files, and of those that earlier versions wrote."""

_OWN = re.compile(r"active|party-\d+|model")
"""Folders inside that of one run; others have a lock of their own."""

_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO, errno.EMFILE)
"""Errors that are no fault of what is written, and pass."""

OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
"""Permissions of a file that others than its owner may write."""


def is_of_disk(error: Exception) -> bool:
    """Tell whether an error of some party is the disk's."""
    return any(os.strerror(number) in str(error) for number in _DISK)


@contextmanager
def refused(path: Path) -> Iterator[None]:
    """Convert errors of the file system and of paths to `RunError`."""
    try:
        yield
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise RunError(f"{path} cannot be used: {reason}") from error


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file atomically: after a crash it is whole or absent.

    Its owner alone may read it, and folders that are made for it.

    Raises
    ------
    RunError
        If the file system refuses.
    """
    try:
        with _written(path, content) as temporary:
            temporary.replace(path)
    except OSError as error:
        raise RunError(f"{path} cannot be written: {error}") from error


def write_once(path: Path, content: bytes) -> None:
    """Write a file atomically, as `write_atomically`, that must not be there.

    Raises
    ------
    FileExistsError
        If it is there.
    OSError
        If the file system refuses.
    """
    with _written(path, content) as temporary:
        os.link(temporary, path)
        temporary.unlink()


@contextmanager
def _written(path: Path, content: bytes) -> Iterator[Path]:
    """Write a temporary file beside another one, to be given its name."""
    make_private(path.parent)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=PARTIAL)
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        yield temporary
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def is_temporary(path: Path) -> bool:
    """Tell whether a file is one that `write_atomically` had begun."""
    return _TEMPORARY.fullmatch(path.name) is not None and path.is_file()


def remove_temporaries(folder: Path) -> None:
    """Remove files that were being written when a process was killed.

    Parameters
    ----------
    folder : Path
        Of a run or a party, in which nobody writes now; those of its parties count, too.

    Raises
    ------
    RunError
        If the file system refuses.
    """
    with refused(folder):
        for path in folder.iterdir() if folder.is_dir() else ():
            if _OWN.fullmatch(path.name):
                remove_temporaries(path)
            elif is_temporary(path):
                path.unlink(missing_ok=True)


def make_private(folder: Path) -> None:
    """Make a folder, and those above it, for their owner alone.

    Folders that are there already stay as they are.

    Raises
    ------
    OSError
        If the file system refuses.
    """
    if not folder.exists():
        make_private(folder.parent)
    folder.mkdir(mode=0o700, exist_ok=True)


def read_small(path: Path, flags: int = 0) -> tuple[bytes, os.stat_result]:
    """Read a small file and its own state.

    Parameters
    ----------
    path : Path
        What is no regular file, such as a pipe, is neither waited for nor read.
    flags : int
        Further flags of `os.open`.

    Returns
    -------
    content : bytes
        At most one byte more than `LARGEST`.
    about : os.stat_result
        Kind, mode and owner.

    Raises
    ------
    OSError, ValueError
        If it cannot be opened or read.
    """
    number = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | flags)
    try:
        about = os.fstat(number)
        return os.read(number, LARGEST + 1) if stat.S_ISREG(about.st_mode) else b"", about
    finally:
        os.close(number)


def make_durable(path: Path) -> None:
    """Make an empty file that survives a crash, for its owner.

    Raises
    ------
    OSError
        If the file system refuses.
    """
    make_private(path.parent)
    path.touch(mode=0o600)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def json_bytes(value: object) -> bytes:
    """Serialise a value of finite numbers as a JSON file."""
    text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
    return f"{text}\n".encode()


def read_json(path: Path, shape: Shape) -> Any:  # noqa: ANN401
    """Read a file with `json_bytes` a value of a shape.

    Raises
    ------
    RunError
        If the file is missing or damaged.
    """
    try:
        value = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise RunError(f"{path} is missing or damaged: {error}") from error
    if not fits(value, shape):
        raise RunError(f"{path} is missing or damaged: it is not as it was written")
    return value
