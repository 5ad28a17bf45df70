"""Keys of a table's description, and readers of their values.

A key is a line in `READERS` and a field of `Description`, whose default counts without it.
"""

import re
import string
from collections.abc import Callable
from datetime import date
from typing import Any

from vfl_flower.common.errors import ConfigError
from vfl_flower.config.catalog import TASKS
from vfl_flower.config.dataset_specs import MOST_ID_COLUMNS

Reader = Callable[[str, Any], Any]
"""From a key and its value in toml to that of the field; raises a ConfigError."""

USES = ("numeric", "categorical", "grouped", "hashed", "date", "boolean", "ignored")
"""What may be said of a column."""

_DETAILED = r"date:(day|month)-first|grouped:[1-9]\d{0,8}"
"""Uses with a detail."""


_IN_FIELDS = frozenset(string.ascii_letters + string.digits + "\"'.+-")


def text(key: str, value: object) -> str:
    """Read a text that is not empty."""
    if not isinstance(value, str) or not value.strip():
        raise ConfigError(f"{key} must be a text, not {value!r}")
    return value


def one_of(*choices: str) -> Reader:
    """Return a reader of a few words."""

    def read(key: str, value: object) -> str:
        if text(key, value) not in choices:
            raise ConfigError(f"{key} must be {' or '.join(choices)}, not '{value}'")
        return str(value)

    return read


def texts(key: str, value: object) -> tuple[str, ...]:
    """Read a list of texts."""
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise ConfigError(f"{key} must be a list of texts, not {value!r}")
    return tuple(value)


def _ids(key: str, value: object) -> str | tuple[str, ...]:
    """Read the name of a column, or a list of some."""
    if not isinstance(value, list):
        return text(key, value)
    names = tuple(text(key, each) for each in value)
    distinct = {" ".join(each.split()) for each in names}
    if len(distinct) < len(names) or not 0 < len(names) <= MOST_ID_COLUMNS:
        raise ConfigError(
            f"{key} must be one column or a list of up to {MOST_ID_COLUMNS}, not {value!r}"
        )
    return names if len(names) > 1 else names[0]


def _id_types(key: str, value: object) -> str | tuple[str, ...]:
    """Read a type of ids, or one for each column."""
    read = one_of("integer", "text")
    if not isinstance(value, list):
        return str(read(key, value))
    return tuple(str(read(key, each)) for each in value)


def _label(key: str, value: object) -> str | tuple[str, ...]:
    if not isinstance(value, list):
        return text(key, value)
    names = texts(key, value)
    if len(names) < 2 or len({name.strip() for name in names} - {""}) < len(names):
        raise ConfigError(f"{key} must be one column, or a list of two or more, not {value!r}")
    return names


def _columns(key: str, value: object) -> dict[str, str]:
    if not isinstance(value, dict):
        raise ConfigError(f'{key} must be a table of lines such as: age = "numeric"')
    for name, use in value.items():
        if use not in USES and not (isinstance(use, str) and re.fullmatch(_DETAILED, use)):
            raise ConfigError(f"column '{name}' must be {' or '.join(USES)}, not {use!r}")
    return value


def _positive(key: str, value: object) -> str:
    if isinstance(value, bool | int | float):
        return str(value).lower()
    return text(key, value)


def _day(key: str, value: object) -> str:
    day = str(value) if isinstance(value, str | date) else ""
    try:
        return date.fromisoformat(day).isoformat()
    except ValueError as error:
        raise ConfigError(f'{key} must be a day such as "2026-01-31", not {value!r}') from error


def _shape(key: str, value: object) -> tuple[int, ...]:
    sizes = value if isinstance(value, list) else [0]
    if sizes and (len(sizes) != 3 or any(type(each) is not int or each < 1 for each in sizes)):
        raise ConfigError(f"{key} must be channels, height and width of images, not {value!r}")
    return tuple(sizes)


def _separator(key: str, value: object) -> str:
    if not isinstance(value, str) or not re.fullmatch(r"[\t!-~]", value) or value in _IN_FIELDS:
        raise ConfigError(
            f'{key} must be one character, such as "|" or "\\t", and no letter, digit, quote, '
            f"point or sign, not {value!r}"
        )
    return value


READERS: dict[str, Reader] = {
    "file": text,
    "id": _ids,
    "label": _label,
    "positive": _positive,
    "weight": text,
    "columns": _columns,
    "task": one_of(*TASKS),
    "id-type": _id_types,
    "id-case": one_of("keep", "fold"),
    "decimal": one_of(".", ","),
    "missing": texts,
    "reference-date": _day,
    "duplicates": one_of("refuse", "first"),
    "shape": _shape,
    "separator": _separator,
    "group": text,
    "time": text,
}
