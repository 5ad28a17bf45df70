"""Reader of a party's own table: ids, columns, and labels.

The file is read twice in record batches, wanted columns only: first to see what the columns hold,
then to keep it. What is kept is 4 bytes a row and column, 8 bytes a row with labels, and the ids.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from hashlib import file_digest, sha256

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from vfl_flower.common.errors import DataError
from vfl_flower.data.columns import BOOLEAN, NUMBER, TEXT, Column
from vfl_flower.data.preprocessing.encoder import Encoder
from vfl_flower.data.preprocessing.target import task_of
from vfl_flower.data.tables.cells import as_codes, as_numbers, as_text
from vfl_flower.data.tables.column_profile import Profile, check_numbers, use_of
from vfl_flower.data.tables.description import Description
from vfl_flower.data.tables.files import TableFile, plain
from vfl_flower.data.tables.formats.opened import opened
from vfl_flower.data.tables.labels import label_of
from vfl_flower.data.tables.row_ids import Ids, as_ids, ids_of


@dataclass(frozen=True)
class Looked:
    """Findings about one column, to be printed.

    Attributes
    ----------
    name : str
    type : str
        What its cells are.
    use : str
        ``numeric``, ``categorical`` or ``ignored``.
    why : str
    """

    name: str
    type: str
    use: str
    why: str


@dataclass(frozen=True)
class OwnTable:
    """A party's table.

    Attributes
    ----------
    ids : pyarrow.Int64Array or pyarrow.LargeStringArray
        (N,): without nulls; none twice, unless the description lets the first count. The integer 1
        and the text 1 are not the same.
    features : ndarray of float32
        (N, m): numbers, and places in a column's values; NaN is a gap.
    columns : tuple of Column
        Of the features.
    ignored : tuple of str
        The file's other columns.
    labels : ndarray of float64 or None
        (N,): numbers, or places in the label's values.
    label : Column or None
    task : str
        ``binary``, ``multi-class`` or ``regression``; empty without labels.
    looked : tuple of Looked
        All columns but the id and the label, in the order of the file.
    digest : str
        Of the file as it was read, and of which column its ids are in.
    notes : tuple of str
        Lines that say how its ids were read, where that is not plain.
    """

    ids: Ids
    features: NDArray[np.float32]
    columns: tuple[Column, ...]
    ignored: tuple[str, ...]
    labels: NDArray[np.float64] | None
    label: Column | None
    task: str
    looked: tuple[Looked, ...]
    digest: str
    notes: tuple[str, ...] = ()


def read_table(description: Description, party: str, trained: Encoder | None = None) -> OwnTable:
    """Read a party's table.

    Parameters
    ----------
    description : Description
        Of the table. Where `trained` is given, its label may be absent, or without a value in any
        row; else, its task is that of the target to which the labels belong.
    party : str
        Whose it is, for errors.
    trained : Encoder, optional
        Fitted on another table, whose columns this one must have, for the same uses.

    Returns
    -------
    OwnTable
        4 N m bytes, with the ids, and 8 N of labels. While it is made, record batches more, and a
        hash table of the ids: 1.9 GiB at most for 10^7 rows of 20 columns, of which 1 GiB stays.

    Raises
    ------
    DataError
        If the file cannot be read or is changed meanwhile, an id or a label is missing, an id is
        there twice, a column is not what is said of it, or none is left that can be used.
    """
    with opened(description.file, party, description.separator) as file:
        uses = _uses(description, file, trained)
        label = plain(description.label) if plain(description.label) in file.names else ""
        wanted = [name for name in uses if uses[name] != "ignored"]
        (ids, notes), profiles = _seen(file, description, [*wanted, label] if label else wanted)
        labels = _label(profiles.pop(label), trained) if label else None
        _check_trained(trained, profiles, party)
        looked = [_looked(name, use, profiles.get(name), trained) for name, use in uses.items()]
        columns = [
            _column(profiles[each.name], each.use, trained)
            for each in looked
            if each.use != "ignored"
        ]
        if not columns and labels is None and trained is None:
            raise file.refused("has no column that can be used; say what its columns are")
        features, values = _kept(file, description, len(ids), columns, labels)
        digest = _digest(description)
    pa.default_memory_pool().release_unused()  # or what batches took stays taken
    return OwnTable(
        ids,
        features,
        tuple(replace(column, gaps=_gaps(features[:, n])) for n, column in enumerate(columns)),
        tuple(each.name for each in looked if each.use == "ignored"),
        values,
        labels,
        task_of(labels),
        tuple(looked),
        digest,
        notes,
    )


def _check_trained(trained: Encoder | None, profiles: Mapping[str, Profile], party: str) -> None:
    """Refuse columns other than those that the encoder was fitted on."""
    if trained is None:
        return
    used = trained.uses
    types = {name: _type(each, used.get(name)) for name, each in profiles.items()}
    trained.check(types, party)


def refuse_label(table: OwnTable, label: str, party: str) -> None:
    """Refuse a passive party's column with the name of the labels.

    Parameters
    ----------
    table : OwnTable
    label : str
        What the active party calls its labels.
    party : str
        Whose table it is.

    Raises
    ------
    DataError
        If a column is called so, or just ``label``, in whatever case; the detail is its name.
    """
    suspects = {plain(name).casefold() for name in (label, "label")}
    for column in table.columns:
        if column.name.casefold() in suspects:
            raise DataError(
                f"{party}: a column has the name of the labels, which are the active party's; "
                "rename it, or say that it is ignored",
                column.name,
            )


def _digest(description: Description) -> str:
    with description.file.open("rb") as file:
        content = file_digest(file, "sha256").hexdigest()
    ids = f"{content}\0{description.id}\0{description.id_type}\0{description.duplicates}"
    return sha256(ids.encode()).hexdigest()


def _uses(description: Description, file: TableFile, trained: Encoder | None) -> dict[str, str]:
    """Return the stated use of each column but ids and labels.

    It is empty where nothing is said.
    """
    named = [plain(description.id), plain(description.label)]
    by = [plain(name) for name in (description.group, description.time) if name]
    stated = dict.fromkeys(by, "ignored")  # unless more is said of them
    stated |= {plain(name): use for name, use in description.columns.items()}
    needed = named[:1] if trained is not None else [*filter(None, named), *stated]
    for name in needed:
        if name not in file:
            known = f"it has {', '.join(file.names)}"
            raise file.refused(file.lacks(name), known)
    if trained is not None:
        stated = {name: use for name, use in stated.items() if use == "ignored"}
        stated |= dict.fromkeys(trained.ignored, "ignored") | trained.uses
    return {name: stated.get(name, "") for name in file.names if name not in named}


def _seen(
    file: TableFile, description: Description, names: list[str]
) -> tuple[tuple[Ids, tuple[str, ...]], dict[str, Profile]]:
    """Return ids with notes, and profiles of columns, of all rows."""
    profiles = {name: Profile(name, file.party, file.type_of(name), description) for name in names}
    chunks = []
    for batch in file.batches([plain(description.id), *names]):
        chunks.append(as_ids(batch[plain(description.id)]))
        for name, profile in profiles.items():
            profile.see(batch[name])
    return ids_of(chunks, file, description), profiles


def _type(profile: Profile, use: str | None) -> str:
    """Return the type of a column as a fitted encoder reads it."""
    if use == "numeric" and profile.usable and profile.text is None:
        return NUMBER
    return TEXT if use == "categorical" and profile.declared is None else profile.type


def _looked(name: str, stated: str, profile: Profile | None, trained: Encoder | None) -> Looked:
    if profile is None:
        return Looked(name, "", "ignored", "stated")
    if trained is None:
        return Looked(name, profile.type, *use_of(profile, stated))
    if stated == "numeric":
        check_numbers(profile)
    return Looked(name, profile.type, stated, "as at training")


def _column(profile: Profile, use: str, trained: Encoder | None) -> Column:
    if use == "numeric":
        return Column(profile.name)
    if trained is not None:
        learnt = trained.category(profile.name)
        return Column(profile.name, learnt.values, type=learnt.type)
    return Column(profile.name, tuple(sorted(profile.values)), type=profile.type)


def _label(profile: Profile, trained: Encoder | None) -> Column | None:
    """Describe the labels; None where a table to be predicted has none."""
    if trained is not None and not profile.values:
        return None
    return label_of(profile, learnt=trained is not None)


def _kept(
    file: TableFile,
    description: Description,
    rows: int,
    columns: list[Column],
    label: Column | None,
) -> tuple[NDArray[np.float32], NDArray[np.float64] | None]:
    """Read all rows of the columns that are used, and the labels."""
    features = np.empty((rows, len(columns)), np.float32)
    labels = None if label is None else np.empty(rows)
    cells = {column.name: _cells(column, description) for column in columns}
    if label is not None:
        cells[label.name] = _cells(label, description)
    start = 0
    for batch in file.batches(list(cells)) if cells else ():
        stop = start + len(next(iter(batch.values())))
        for place, column in enumerate(columns):
            features[start:stop, place] = cells[column.name](batch[column.name])
        if labels is not None and label is not None:
            labels[start:stop] = cells[label.name](batch[label.name])
        start = stop
    if labels is not None and (gaps := np.flatnonzero(np.isnan(labels))).size:
        raise file.refused(
            f"has no label in {gaps.size} of {rows} rows, first in row {gaps[0] + 1}; add them, or "
            "leave the rows out"
        )
    return features, labels


def _cells(column: Column, description: Description) -> Callable[[pa.Array], NDArray[np.float64]]:
    """Return a function that encodes a column's cells."""
    if column.values is None:
        return partial(as_numbers, missing=description.missing, decimal=description.decimal)
    values = pa.array(column.values, pa.string())
    codes = partial(as_codes, missing=description.missing, values=values)
    if column.type == BOOLEAN:  # which others write as True, or TRUE
        return lambda cells: codes(pc.utf8_lower(as_text(cells)))
    return codes


def _gaps(values: NDArray[np.float32]) -> bool:
    return bool(np.isnan(values).any())
