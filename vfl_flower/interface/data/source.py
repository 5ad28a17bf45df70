"""Data of a run: a data set's name, or own tables."""

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from vfl_flower.common.errors import ConfigError, DataError
from vfl_flower.common.layout import tables_in
from vfl_flower.common.names import party_name
from vfl_flower.config.dataset_specs import is_table
from vfl_flower.config.run_config import RunConfig
from vfl_flower.interface.data.arrays import Arrays
from vfl_flower.interface.data.table import Table
from vfl_flower.interface.folders import Place
from vfl_flower.interface.options import values_of
from vfl_flower.runs.run_folder import RunFolder

Tables: TypeAlias = "Sequence[Table | str | os.PathLike[str]] | Sequence[Arrays]"
"""Of all parties, the active one's first; a path is that of a toml description, or of a table whose
ids and labels the keywords ``id`` and ``label`` name."""


class Source(Protocol):
    """Data of a run, before it has begun."""

    def options(self, folder: Path) -> dict[str, Any]:
        """Return the options that name the data of a run."""

    def warn(self) -> None:
        """Name columns that are left out."""

    def write(self, folder: Path) -> None:
        """Write the data that are in memory into the folder."""

    def align(self, folder: RunFolder) -> None:
        """Record which rows are common, where that is known already."""


class Named:
    """Data set by its name on the command line."""

    def __init__(self, name: str) -> None:
        self.name = name

    def options(self, folder: Path) -> dict[str, Any]:
        """Return the name."""
        if self.name == "own":
            raise ConfigError("own stands for the parties' own tables; give a list of Table")
        return {"dataset": self.name}

    def warn(self) -> None:
        """Name nothing: all columns are used."""

    def write(self, folder: Path) -> None:
        """Write nothing."""

    def align(self, folder: RunFolder) -> None:
        """Record nothing: its parties hold the same rows."""


class OwnTables:
    """Tables of all parties.

    Parameters
    ----------
    tables : sequence of Table, path or Arrays
        The active party's first.
    in_order : bool
        Whether row n of each table is of the same entity, as in arrays: then nothing is aligned,
        and predictions keep the order.
    columns : mapping of str to Any
        ``id`` and ``label`` of those that are paths of tables; see `columns_in`.
    """

    def __init__(
        self, tables: Tables, in_order: bool = False, columns: Mapping[str, Any] | None = None
    ) -> None:
        _check_arrays(tables)
        self._arrays = any(isinstance(each, Arrays) for each in tables)
        self.in_order = in_order or self._arrays
        said = dict(columns or {})
        _check_used(tables, said)
        others = {key: value for key, value in said.items() if key != "label"}
        self.tables = [_table(each, others if rank else said) for rank, each in enumerate(tables)]
        self.names = [party_name(rank) for rank in range(len(self.tables))]

    def options(self, folder: Path) -> dict[str, Any]:
        """Return where the tables' descriptions are to be."""
        if "," in str(folder.absolute()):
            raise ConfigError(f"the folder {folder} has a comma in its name; choose another one")
        self._check_columns()
        tables = tables_in(folder, self.names)
        return {"dataset": "own", "parties": len(self.tables), "tables": tables}

    def _check_columns(self) -> None:
        """Refuse labels in the wrong place, and names of no column."""
        first, *others = self.tables
        if not first.labels:
            how = "Arrays(x, y)" if self._arrays else "Table(..., label=COLUMN)"
            raise ConfigError(f"the first table, the active party's, names no label; use {how}")
        for name, table in zip(self.names, self.tables, strict=True):
            if lacking := table.lacks():
                raise DataError(f"{name}: its table has no column '{lacking[0]}'; add or rename it")
        for name, table in zip(self.names[1:], others, strict=True):
            if table.labels:
                raise ConfigError(f"{name}: its table names a label, and labels are the first's")

    def warn(self) -> None:
        """Warn of columns in memory that cannot be used."""
        for name, table in zip(self.names, self.tables, strict=True):
            if unused := table.unused():
                listed = ", ".join(f"{column} ({why})" for column, why in unused.items())
                warnings.warn(
                    f"{name}: columns are left out: {listed}; what is said of a column in columns "
                    "counts, 'ignored' too",
                    stacklevel=4,  # who calls train
                )

    def write(self, folder: Path) -> None:
        """Write descriptions, and the tables that are in memory."""
        for name, table in zip(self.names, self.tables, strict=True):
            table.write(folder / name)

    def align(self, folder: RunFolder) -> None:
        """Record the alignment of tables whose rows are in one order."""
        if self.in_order and folder.is_to_align:
            # torch is slow to import
            from vfl_flower.workflows.local.in_order import align_in_order

            align_in_order(folder.cfg, folder.path)


def columns_in(options: dict[str, Any]) -> dict[str, Any]:
    """Take the columns of ids and labels out of options."""
    given = {key: options.pop(key, None) for key in ("id", "label")}
    return {key: value for key, value in given.items() if value is not None}


def source_of(data: "str | Tables", columns: Mapping[str, Any] | None = None) -> Source:
    """Return the data of a run.

    Parameters
    ----------
    data : str, or sequence of Table, path or Arrays
        The name of a data set, or the tables of all parties, the active one's first.
    columns : mapping of str to Any, optional
        See `columns_in`.

    Raises
    ------
    ConfigError
        If it is neither, or tables of fewer than two parties.
    """
    if isinstance(data, str):
        _check_used((), columns or {})
        return Named(data)
    if not isinstance(data, Sequence) or len(data) < 2:
        raise ConfigError(
            "data must be the name of a data set, or a list with a Table for each of two parties "
            f"or more, the active party's first, not {type(data).__name__}"
        )
    return OwnTables(data, columns=columns)


def begun(
    source: Source,
    place: Place,
    *,
    task: str,
    options: Mapping[str, object],
    write_first: Callable[[RunFolder], None] | None = None,
) -> RunFolder:
    """Lock the folder of a new run, with data in memory.

    `write_first` is that of `RunFolder.take`, given the folder.

    Raises
    ------
    VflError
        If an option or the data cannot be; then no folder is left.
    """
    known = source.options(place.path)
    cfg = RunConfig(**(known | values_of(options) | {"task": task}))
    if task == "train":
        source.warn()
    folder = RunFolder(place.path, cfg)
    try:
        folder.take(write_first and partial(write_first, folder))
        source.write(place.path)
        if task == "train":
            source.align(folder)
    except BaseException:
        folder.give_up()
        raise
    return folder


def _check_arrays(given: "Sequence[object]") -> None:
    """Refuse arrays beside tables, or of different lengths.

    Raises
    ------
    DataError
        Says how many rows each has.
    """
    rows = [len(each) for each in given if isinstance(each, Arrays)]
    if rows and (len(rows) < len(given) or len(set(rows)) > 1):
        raise DataError(
            "all parties need Arrays with the same number of rows, for row n is of the same "
            f"entity at each of them; given are {', '.join(map(repr, given))}"
        )


def _table(given: object, columns: Mapping[str, Any]) -> Table:
    """Return a party's table, described in toml or not."""
    if isinstance(given, Table | Arrays):
        return given if isinstance(given, Table) else given.table()
    if _is_bare(given):
        if "id" in columns:
            return Table(given, **columns)
        raise ConfigError(
            f"{given} is a table; say which column holds its ids, with the keyword id "
            f"(id='COLUMN', label='COLUMN') or as Table({str(given)!r}, id='COLUMN')"
        )
    if isinstance(given, str | os.PathLike) and Path(given).suffix.lower() == ".toml":
        return Table.described_in(Path(given))
    raise ConfigError(
        f"each party's data must be a Table, such as Table(frame, id='customer'), not "
        f"{type(given).__name__}"
    )


def _is_bare(given: object) -> bool:
    """Tell whether something is the path of a table."""
    return isinstance(given, str | os.PathLike) and is_table(os.fspath(given))


def _check_used(tables: Sequence[object], columns: Mapping[str, Any]) -> None:
    """Refuse columns of tables that say theirs themselves."""
    bare = [_is_bare(each) for each in tables]
    for key, used in (("id", any(bare)), ("label", bare[:1] == [True])):
        if key in columns and not used:
            raise ConfigError(
                f"{key} is the column of a table that is given as a path; a Table, a description "
                f"and a data set say theirs themselves; remove {key}"
            )
