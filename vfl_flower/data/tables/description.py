"""Description of a party's table: a toml file with file and columns."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from vfl_flower.common.errors import ConfigError
from vfl_flower.common.names import party_name
from vfl_flower.config.run_config import RunConfig
from vfl_flower.config.schema import near

TABLES = (".csv", ".tsv", ".txt", ".parquet", ".pq")
"""Suffixes of tables, which are no descriptions."""

USES = ("numeric", "categorical", "ignored")
"""What may be said of a column."""

_CHOICES = {
    "id-type": ("integer", "text"),
    "task": ("binary", "multi-class", "regression"),
    "decimal": (".", ","),
    "duplicates": ("refuse", "first"),
}
"""What may be said where few words make sense."""

KEYS = (
    *("file", "id", "label", "columns", "task", "id-type", "decimal", "missing", "duplicates"),
    "shape",
)


@dataclass(frozen=True)
class Description:
    """A party's table as it describes it.

    Attributes
    ----------
    file : Path
        CSV or Parquet, by its suffix.
    id : str
        The column that tells rows apart, for all parties alike.
    label : str
        The column with the labels: of the active party only; empty for none.
    columns : mapping of str to str
        By name, one of `USES`. The other columns are looked at.
    task : str
        ``binary``, ``multi-class`` or ``regression``; empty: what the labels look like.
    id_type : str
        ``integer`` or ``text``; empty: what the ids look like.
    decimal : str
        The decimal mark of numbers that are written as text.
    missing : tuple of str
        What stands where there is no value, beside nothing at all. Ids are what they are.
    duplicates : str
        ``refuse`` or ``first``: what becomes of rows with the id of an earlier one.
    shape : tuple of int
        Channels, height and width, where the columns are the pixels of images; else empty.
    """

    file: Path
    id: str
    label: str = ""
    columns: Mapping[str, str] = field(default_factory=dict)
    task: str = ""
    id_type: str = ""
    decimal: str = "."
    missing: tuple[str, ...] = ("NA", "N/A", "NaN", "nan", "null", "NULL")
    duplicates: Literal["refuse", "first"] = "refuse"
    shape: tuple[int, ...] = ()


def read_description(path: Path) -> Description:
    """Read a party's description of its table.

    Parameters
    ----------
    path : Path
        A toml file; a relative ``file`` in it starts at its folder.

    Raises
    ------
    ConfigError
        If it cannot be read, lacks ``file`` or ``id``, or has an unknown key or value.
    """
    if path.suffix.lower() in TABLES:
        raise ConfigError(
            f"{path} is a table, and a description of it is needed: write {path.stem}.toml with "
            f'two lines, file = "{path.name}" and id = "COLUMN" (and at the active party label = '
            '"COLUMN"), and name that file'
        )
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path} cannot be read as toml: {error}") from error
    try:
        return description_of(values, path.parent)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from error


def described(cfg: RunConfig, rank: int) -> Description:
    """Read the description of a party's table.

    Raises
    ------
    ConfigError
        If it cannot be read, or names labels where they are not, or none where they are.
    """
    description = described_at(Path(cfg.table_of(rank)), rank)
    if not rank and not description.label and cfg.task != "predict":
        raise ConfigError(
            f"active: {cfg.table_of(rank)} names no label; say which column it is, or name the "
            "active party's description first"
        )
    return description


def described_at(path: Path, rank: int) -> Description:
    """Read a party's description by its path; see `described`."""
    try:
        description = read_description(path)
    except ConfigError as error:
        raise ConfigError(f"{party_name(rank)}: {error}") from error
    if rank and description.label:
        raise ConfigError(
            f"{party_name(rank)}: {path.name} names a label, and labels are the active party's; "
            "remove it, and if it is the same label, say that the column is ignored"
        )
    return description


def description_of(values: Mapping[str, object], folder: Path) -> Description:
    """Make a description from the keys and values of a toml file.

    Parameters
    ----------
    values : mapping
        By `KEYS`.
    folder : Path
        Where a relative ``file`` starts.

    Raises
    ------
    ConfigError
        See `read_description`.
    """
    for key in values:
        if key not in KEYS:
            raise ConfigError(f"unknown key '{key}'{near(key, KEYS)}")
    for key in ("file", "id"):
        if key not in values:
            raise ConfigError(f"{key} is missing")
    _text(values, "duplicates")
    if values["id"] == values.get("label"):
        raise ConfigError("id and label are one column; labels need one of their own")
    return Description(
        folder / _text(values, "file"),
        _text(values, "id"),
        _text(values, "label"),
        _columns(values),
        _text(values, "task"),
        _text(values, "id-type"),
        _text(values, "decimal") or Description.decimal,
        _missing(values),
        "first" if values.get("duplicates") == "first" else "refuse",
        _shape(values),
    )


def _text(values: Mapping[str, object], key: str) -> str:
    if key not in values:
        return ""
    value = values[key]
    if not isinstance(value, str) or not value.strip():
        raise ConfigError(f"{key} must be a text, not {value!r}")
    if key in _CHOICES and value not in _CHOICES[key]:
        raise ConfigError(f"{key} must be {' or '.join(_CHOICES[key])}, not '{value}'")
    return value


def _columns(values: Mapping[str, object]) -> dict[str, str]:
    stated = values.get("columns", {})
    if not isinstance(stated, dict):
        raise ConfigError('columns must be a table of lines such as: age = "numeric"')
    for name, use in stated.items():
        if use not in USES:
            raise ConfigError(f"column '{name}' must be {' or '.join(USES)}, not {use!r}")
        if name in (values["id"], values.get("label")):
            raise ConfigError(f"column '{name}' is the id or the label, and nothing else")
    return stated


def _shape(values: Mapping[str, object]) -> tuple[int, ...]:
    stated = values.get("shape", [])
    if not isinstance(stated, list) or any(type(each) is not int or each < 1 for each in stated):
        stated = [0]
    if stated and (0 in stated or len(stated) != 3):
        raise ConfigError(
            f"shape must be channels, height and width of images, not {values['shape']!r}"
        )
    return tuple(stated)


def _missing(values: Mapping[str, object]) -> tuple[str, ...]:
    stated = values.get("missing", list(Description.missing))
    if not isinstance(stated, list) or not all(isinstance(each, str) for each in stated):
        raise ConfigError(f"missing must be a list of texts, not {stated!r}")
    return tuple(stated)
