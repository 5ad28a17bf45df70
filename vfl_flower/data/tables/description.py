"""Description of a party's table: a toml file with file and columns."""

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from vfl_flower.common.errors import ConfigError
from vfl_flower.common.names import party_name
from vfl_flower.config.catalog import MULTI_LABEL
from vfl_flower.config.dataset_specs import is_table
from vfl_flower.config.run_config import RunConfig
from vfl_flower.config.schema import near, split_list
from vfl_flower.config.validation.tasks import undescribed
from vfl_flower.data.tables.description_keys import READERS


@dataclass(frozen=True)
class Description:
    """A party's table as it describes it.

    Attributes
    ----------
    file : Path
        CSV or Parquet, by its suffix.
    id : str or tuple of str
        The column that tells rows apart, or several that do so together, for all parties alike.
    label : str
        The column with the labels: of the active party only; empty for none, or several.
    several : tuple of str
        The columns of several labels of a row; else empty.
    columns : mapping of str to str
        By name, one of `USES` in `description_keys`, perhaps with a detail. The other columns are
        looked at.
    task : str
        One of `TASKS` in the catalog; empty: what the labels look like.
    id_type : str or tuple of str
        ``integer`` or ``text``, of several columns one for each; empty: what the ids look like.
    decimal : str
        The decimal mark of numbers that are written as text.
    missing : tuple of str
        What stands where there is no value, beside nothing at all. Ids are what they are.
    reference_date : str
        The day, as in ``2026-01-31``, up to which ages of dates count; empty: the latest one of
        the training rows.
    duplicates : str
        ``refuse`` or ``first``: what becomes of rows with the id of an earlier one.
    shape : tuple of int
        Channels, height and width, where the columns are the pixels of images; else empty.
    separator : str
        Of a CSV file's fields; empty: found out.
    positive : str
        Of two classes, the one that is to be found; empty: the rarer one.
    group, time : str
        Columns by which rows are split, of the active party only; empty for none.
    id_case : str
        ``keep`` or ``fold``: whether ids that differ in case are different.
    weight : str
        The column with the weights of rows: of the active party only; empty for none.
    """

    file: Path
    id: str | tuple[str, ...]
    label: str = ""
    columns: Mapping[str, str] = field(default_factory=dict)
    task: str = ""
    id_type: str | tuple[str, ...] = ""
    decimal: str = "."
    missing: tuple[str, ...] = ("NA", "N/A", "NaN", "nan", "null", "NULL")
    reference_date: str = ""
    duplicates: Literal["refuse", "first"] = "refuse"
    shape: tuple[int, ...] = ()
    separator: str = ""
    positive: str = ""
    group: str = ""
    time: str = ""
    id_case: Literal["keep", "fold"] = "keep"
    several: tuple[str, ...] = ()
    weight: str = ""

    @property
    def labels(self) -> tuple[str, ...]:
        """All columns with labels."""
        return self.several or ((self.label,) if self.label else ())


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
    if is_table(path.name):
        raise ConfigError(undescribed(str(path)))
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
    path = Path(cfg.table_of(rank))
    description = described_at(path, rank, cfg.id, cfg.label)
    if not rank and not description.labels and not cfg.predicts:
        how = "with label (--label COLUMN), and" if is_table(path.name) else "or"
        raise ConfigError(
            f"active: {path} names no label; say which column it is, {how} name the active "
            "party's table first"
        )
    by = cfg.split_spec.column if cfg.split_told else ""
    if not rank and by and not getattr(description, by):
        where = _described_by(path, cfg, by) if is_table(path.name) else f'{by} = "COLUMN" into it'
        raise ConfigError(
            f"active: split is {cfg.split}, and {cfg.table_of(rank)} names no {by}; write {where}"
        )
    return description


def _described_by(path: Path, cfg: RunConfig, by: str) -> str:
    """Write out the description that a split by a column needs."""
    keys = table_keys(path, cfg.id, cfg.label) | {by: "COLUMN"}
    lines = ", ".join(f"{key} = {json.dumps(value)}" for key, value in keys.items())
    others = [file for file in split_list(cfg.tables)[1:] if is_table(file)]
    left = "label" if others else "id and label"
    return (
        f"a description, {path.name.partition('.')[0]}.toml, with the lines {lines}; name it in "
        f"tables in place of the table, and leave {left} empty"
    )


def with_tables(cfg: RunConfig, tables: str) -> RunConfig:
    """Return a configuration with other tables, described in toml or not."""
    bare = [is_table(file) for file in split_list(tables)]
    ids, label = cfg.id if any(bare) else "", cfg.label if bare[0] else ""
    return replace(cfg, tables=tables, id=ids, label=label)


def described_at(path: Path, rank: int, ids: str = "", label: str = "") -> Description:
    """Return a party's description by its path; see `described`.

    Parameters
    ----------
    path : Path
        Of the description, or of a table that has none.
    rank : int
        Of the party.
    ids, label : str
        Columns of a table without a description; see `table_keys`.
    """
    try:
        description = description_with(path, ids, "" if rank else label)
    except ConfigError as error:
        raise ConfigError(f"{party_name(rank)}: {error}") from error
    if rank and description.labels:
        raise ConfigError(
            f"{party_name(rank)}: {path.name} names a label, and labels are the active party's; "
            "remove it, and if it is the same label, say that the column is ignored"
        )
    if rank and (description.group or description.time):
        raise ConfigError(
            f"{party_name(rank)}: {path.name} names a group or a time, by which the active party "
            "splits the rows; name a column of its table"
        )
    if rank and description.weight:
        raise ConfigError(
            f"{party_name(rank)}: {path.name} names a weight, and weights of rows are the active "
            "party's; remove it, and say that the column is ignored, or used"
        )
    return description


def description_with(path: Path, ids: str, label: str) -> Description:
    """Read a description, or make that of a table; see `described_at`."""
    if not is_table(path.name) or not ids:
        return read_description(path)
    return description_of(table_keys(path, ids, label), path.parent)


def table_keys(path: Path, ids: str, label: str) -> dict[str, object]:
    """Return the keys of a description that a table alone would have.

    Parameters
    ----------
    path : Path
        Of the table.
    ids : str
        The column of its ids, or several with commas.
    label : str
        The column of its labels, or several with commas, or nothing.
    """
    keys: dict[str, object] = {"file": path.name, "id": split_list(ids)}
    return keys | ({"label": split_list(label) if "," in label else label} if label else {})


def description_of(values: Mapping[str, object], folder: Path) -> Description:
    """Make a description from the keys and values of a toml file.

    Parameters
    ----------
    values : mapping
        By the keys of `READERS`.
    folder : Path
        Where a relative ``file`` starts.

    Raises
    ------
    ConfigError
        See `read_description`.
    """
    for key in values:
        if key not in READERS:
            raise ConfigError(f"unknown key '{key}'{near(key, READERS)}")
    for key in ("file", "id"):
        if key not in values:
            raise ConfigError(f"{key} is missing")
    if "positive" in values and "label" not in values:
        raise ConfigError("positive is a class of the label, and there is no label; remove it")
    read = {key.replace("-", "_"): READERS[key](key, value) for key, value in values.items()}
    if isinstance(read.get("label"), tuple):
        read["several"] = read.pop("label")
    description = Description(**read | {"file": folder / read["file"]})
    _check_columns(description)
    _check_task(description)
    return description


def _check_columns(description: Description) -> None:
    """Refuse more uses of the columns with the ids and the labels."""
    names = [description.id] if isinstance(description.id, str) else description.id
    if {*names} & {*description.labels}:
        raise ConfigError("id and label are one column; labels need one of their own")
    if description.weight and description.weight in (*names, *description.labels):
        raise ConfigError("weight is the column of ids or labels; it needs one of its own")
    named = (*names, *description.labels, description.weight)
    for name in description.columns:
        if name in named:
            raise ConfigError(f"column '{name}' is the id, the label or the weight, nothing else")
    for key, name in (("group", description.group), ("time", description.time)):
        if name and name in named:
            raise ConfigError(f"{key} is the column of ids, labels or weights; name another one")
    types = description.id_type
    if not isinstance(types, str) and len(types) != len(names):
        raise ConfigError(f"id-type lists {len(types)} types, and id {len(names)} columns")


def _check_task(made: Description) -> None:
    """Refuse a task that the number of labels contradicts."""
    if made.several and made.positive:
        raise ConfigError("positive is a class of one label, and label is a list; remove positive")
    if made.several and made.task not in ("", MULTI_LABEL):
        raise ConfigError(f"label is a list, and task is {made.task}; remove task")
    if made.task == MULTI_LABEL and not made.several:
        raise ConfigError('task is multi-label; write label as a list, label = ["A", "B"]')
