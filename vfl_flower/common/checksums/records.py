"""JSON and TOML files that hold the SHA-256 of their values.

JSON has it under a key of its own, TOML in a comment, which is no option.
"""

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tomli_w

from vfl_flower.common.checksums.sums import KEY, check_sum, sum_of
from vfl_flower.common.errors import DamageError
from vfl_flower.common.files import json_bytes, read_json, write_atomically
from vfl_flower.common.json_schema import Shape

_COMMENT = re.compile(rf"^# {KEY} = (.*)$", re.MULTILINE)


def with_sum(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return JSON values with their SHA-256."""
    return {**values, KEY: sum_of(values)}


def without_sum(path: Path, values: Any, *, warn: bool = True) -> Any:  # noqa: ANN401
    """Return the values of `with_sum`, compared with their SHA-256.

    Parameters
    ----------
    path : Path
        The file that holds them.
    values : object
        Its content; other than a dict, it is returned as it is.
    warn : bool
        Whether a file without a SHA-256, of an earlier version, is warned of.

    Raises
    ------
    DamageError
        If they differ.
    """
    if not isinstance(values, dict):
        return values
    found = values.pop(KEY, None)
    if warn or found is not None:
        check_sum(path, found, sum_of(values))
    return values


def write_checked(path: Path, values: Mapping[str, Any]) -> None:
    """Write JSON values with their SHA-256, atomically.

    Raises
    ------
    RunError
        If the file system refuses.
    """
    write_atomically(path, json_bytes(with_sum(values)))


def read_checked(path: Path, shape: Mapping[str, Shape]) -> Any:  # noqa: ANN401
    """Read a file of `write_checked` with values of a shape.

    Raises
    ------
    RunError
        If the file is missing or damaged.
    """
    return without_sum(path, read_json(path, shape))


def toml_with_sum(values: Mapping[str, Any]) -> bytes:
    """Return a TOML file of values with their SHA-256.

    It comes first, so that it is there in a file that was cut short.
    """
    text = tomli_w.dumps(values)
    return f"# {KEY} = {sum_of(tomllib.loads(text))}\n{text}".encode()


def check_toml(path: Path) -> None:
    """Compare a file of `toml_with_sum` with its SHA-256.

    One that is no TOML is left to its reader.

    Raises
    ------
    DamageError
        If they differ.
    """
    try:
        text = path.read_text()
        values = tomllib.loads(text)
    except (OSError, ValueError, RecursionError):
        return
    found = _COMMENT.search(text)
    try:
        check_sum(path, found[1] if found else None, sum_of(values))
    except DamageError as error:
        raise DamageError(
            f"{path} is damaged, or was edited: give changed options beside --resume; to keep an "
            f"edit, remove the line '# {KEY}'"
        ) from error
