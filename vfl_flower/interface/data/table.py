"""A party's own table: in memory, or a file."""

import os
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import tomli_w

from vfl_flower.common.errors import ConfigError, DataError
from vfl_flower.common.files import refused, write_atomically
from vfl_flower.common.layout import TABLE
from vfl_flower.data.tables.description import description_of, read_description
from vfl_flower.data.tables.files import plain
from vfl_flower.data.tables.row_ids import id_columns
from vfl_flower.interface.data.cells import categories, in_memory
from vfl_flower.interface.data.stated import check_types
from vfl_flower.interface.data.unused import unused_columns
from vfl_flower.interface.folders import in_full

_FILE = "table.parquet"


class Table:
    """Table of one party, with the column that identifies its rows.

    Parameters
    ----------
    source : DataFrame, Arrow table, mapping, str or Path
        A pandas or polars data frame, or whatever has ``__arrow_c_stream__``; columns by name; or
        the path of a CSV or Parquet file. A table in memory is copied at once. Of pandas' index
        only the levels that `id` or `label` name are columns.
    id : str or sequence of str
        The column that tells rows apart, or several that do so together, in an order that is the
        same for all parties.
    label : str or sequence of str, optional
        The column with the labels, of the active party's table only; or several columns, each of
        two values.
    positive : str, bool or number, optional
        Of two classes, the one that is to be found, such as the frauds; by default the rarer one.
    weight : str, optional
        The column with the weights of rows in the loss, of the active party's table only.
    columns : mapping of str to str, optional
        By name ``numeric``, ``categorical``, ``grouped``, ``hashed``, ``date``, ``boolean`` or
        ``ignored``, see `docs/tables.md`; the other columns are looked at. Categories of pandas
        and polars are categorical.
    task : {"", "binary", "multi-class", "regression", "multi-label"}
        Kind of the labels; empty: by their values.
    id_type : {"", "integer", "text"}, or sequence of them
        Type of the ids, of several columns one for each; empty: by their values.
    decimal : {".", ","}
        Decimal mark of numbers that are written as text.
    missing : sequence of str, optional
        Texts that stand for no value; see `docs/tables.md` for the usual ones.
    duplicates : {"refuse", "first"}
        Treatment of rows with the id of an earlier one.
    shape : sequence of int
        Channels, height and width, where the columns are the pixels of images.
    separator : str
        Of a CSV file's fields, such as ``"|"``; empty: found out.
    group, time : str, optional
        Columns by which ``split="grouped"`` and ``split="time"`` split the rows, of the active
        party's table only; no features unless `columns` says so.
    reference_date : str or date
        Day up to which ages of dates count; empty: the latest one of the training rows.
    id_case : {"keep", "fold"}
        Whether ids that differ in case are different, or the same.

    Raises
    ------
    ConfigError
        If something that is said of the table cannot be.
    DataError
        If the table in memory cannot be read.
    """

    def __init__(
        self,
        source: Any,  # noqa: ANN401
        *,
        id: str | Sequence[str],  # noqa: A002
        label: str | Sequence[str] | None = None,
        positive: str | float | None = None,
        weight: str | None = None,
        columns: Mapping[str, str] | None = None,
        task: str = "",
        id_type: str | Sequence[str] = "",
        decimal: str = ".",
        missing: Sequence[str] | None = None,
        duplicates: str = "refuse",
        shape: Sequence[int] = (),
        separator: str = "",
        group: str = "",
        time: str = "",
        reference_date: str | date = "",
        id_case: str = "keep",
    ) -> None:
        check_types(id=id, label=label, weight=weight, columns=columns, missing=missing)
        labels = [label] if isinstance(label, str) else [*(label or ())]
        stated: dict[str, Any] = {"task": task, "id-type": id_type, "separator": separator}
        stated["label"] = label if isinstance(label, str) else labels
        stated["weight"] = weight
        stated["positive"] = None if positive is None else str(positive)
        stated |= {"group": group, "time": time, "reference-date": str(reference_date)}
        self._stated: dict[str, Any] = {key: said for key, said in stated.items() if said}
        self._stated |= {"id": id, "decimal": decimal, "duplicates": duplicates}
        for key in ("id", "id-type"):
            if not isinstance(self._stated.get(key, ""), str):
                self._stated[key] = [*self._stated[key]]
        if id_case != "keep":
            self._stated["id-case"] = id_case
        if shape:
            self._stated["shape"] = [*shape]
        self._stated["columns"] = dict(columns or {})
        if missing is not None:
            self._stated["missing"] = list(missing)
        self._path: Path | None = None
        self._cells: Any = None
        with in_full():
            told = description_of(self._described(), Path())
            named = [plain(each or "") for each in (*labels, weight, group, time)]
            self._take(source, [*id_columns(told)], named)

    def _take(self, source: Any, ids: list[str], others: list[str]) -> None:  # noqa: ANN401
        """Take the path of a table, or a copy of its cells."""
        if isinstance(source, str | os.PathLike):
            self._path = Path(source).absolute()
            if self._path.suffix.lower() == ".toml":
                raise ConfigError(
                    f"{self._path.name} is a description; name it in the place of a Table"
                )
        else:
            self._cells = in_memory(source, [*ids, *others])
            self._check_named(ids)
            named = {*ids, *others}
            kinds = dict.fromkeys(sorted(categories(self._cells) - named), "categorical")
            self._stated["columns"] = kinds | self._stated["columns"]

    def _check_named(self, ids: list[str]) -> None:
        """Refuse a table in memory that lacks a column of ids."""
        names = [plain(each) for each in self._cells.column_names]
        for name in ids:
            if name not in names:
                raise DataError(f"the table has no column '{name}'; it has {', '.join(names)}")

    @classmethod
    def described_in(cls, path: Path) -> "Table":
        """Return the table that a toml description tells of; see `docs/tables.md`."""
        told = read_description(path)
        return cls(
            told.file,
            id=told.id,
            label=told.several or told.label,
            positive=told.positive or None,
            weight=told.weight or None,
            columns=told.columns,
            task=told.task,
            id_type=told.id_type,
            decimal=told.decimal,
            missing=told.missing,
            duplicates=told.duplicates,
            shape=told.shape,
            separator=told.separator,
            group=told.group,
            time=told.time,
            reference_date=told.reference_date,
            id_case=told.id_case,
        )

    def _described(self) -> dict[str, object]:
        """Return the content of its description."""
        return self._stated | {"file": str(self._path or _FILE)}

    def write(self, party: Path) -> None:
        """Write its description, and a table in memory, into a party's folder.

        Raises
        ------
        DataError
            If the table cannot be written as Parquet.
        RunError
            If the file system refuses.
        """
        place = party / TABLE.parent
        write_atomically(party / TABLE, tomli_w.dumps(self._described()).encode())
        if self._cells is None:
            return
        file = place / _FILE
        with refused(file):
            file.touch(mode=0o600)
            try:
                pyarrow.parquet.write_table(self._cells, file)
            except pa.ArrowException as error:
                text = f"{party.name}: its table cannot be written as Parquet"
                raise DataError(text, str(error)) from error

    def unused(self) -> dict[str, str]:
        """Return columns in memory that would be left out, with reasons."""
        if self._cells is None:
            return {}
        return unused_columns(self._cells, description_of(self._described(), Path()))

    def lacks(self) -> list[str]:
        """Return columns that are named and not there, in memory."""
        if self._cells is None:
            return []
        told = description_of(self._described(), Path())
        there = {plain(each) for each in self._cells.column_names}
        named = (*told.labels, told.weight, told.group, told.time, *told.columns)
        return [name for name in named if name and plain(name) not in there]

    @property
    def labels(self) -> tuple[str, ...]:
        """The columns with labels; empty for none."""
        return description_of(self._described(), Path()).labels

    def __repr__(self) -> str:
        where = self._path or f"{self._cells.num_rows} rows, {self._cells.num_columns} columns"
        label = f", label={self._stated['label']!r}" if "label" in self._stated else ""
        return f"Table({where}, id={self._stated['id']!r}{label})"
