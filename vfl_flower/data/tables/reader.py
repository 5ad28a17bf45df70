"""Reader of a party's own table: ids, columns, and labels.

The file is read twice in record batches, wanted columns only: first to see what the columns hold,
then to keep it. What is kept is 4 bytes a row and column, 8 bytes a row with labels, and the ids.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import file_digest, sha256

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from vfl_flower.common.errors import DataError
from vfl_flower.data.columns import Column
from vfl_flower.data.preprocessing.encoder import Encoder
from vfl_flower.data.preprocessing.target import task_of
from vfl_flower.data.tables.column_profile import Profile
from vfl_flower.data.tables.description import Description
from vfl_flower.data.tables.files import TableFile, plain
from vfl_flower.data.tables.formats.opened import opened
from vfl_flower.data.tables.labels import label_of, labels_of
from vfl_flower.data.tables.row_ids import Ids, as_ids, id_columns, ids_of
from vfl_flower.data.tables.uses.advice import NOTHING, Advice, advice_of
from vfl_flower.data.tables.uses.encoding import cells_of, column_of
from vfl_flower.data.tables.uses.trained import check_trained, chosen
from vfl_flower.data.tables.uses.use import Use
from vfl_flower.data.tables.weights import weights_of


@dataclass(frozen=True)
class Looked:
    """Findings about one column, to be printed.

    Attributes
    ----------
    name : str
    type : str
        What its cells are.
    use : str
        One of `USES` in `description_keys`.
    why : str
    advice : Advice
        How it could be used, or used better.
    """

    name: str
    type: str
    use: str
    why: str
    advice: Advice = NOTHING


@dataclass(frozen=True)
class OwnTable:
    """A party's table.

    Attributes
    ----------
    ids : pyarrow.Int64Array, pyarrow.LargeStringArray or pyarrow.StructArray
        (N,): without nulls; none twice, unless the description lets the first count. The integer 1
        and the text 1 are not the same. Of several columns, a field for each.
    features : ndarray of float32
        (N, m): numbers, places in a column's values, buckets of hashed text, and hours of dates;
        NaN is a gap.
    columns : tuple of Column
        Of the features.
    ignored : tuple of str
        The file's other columns.
    labels, weights : ndarray of float64 or None
        (N,): numbers, or places in the label's values; of L labels (N, L), places in the values
        of each. Weights of rows, (N,), are not negative.
    label : Column or None
    task : str
        One of `TASKS` in the catalog; empty without labels.
    looked : tuple of Looked
        All columns but the id and the label, in the order of the file.
    digest : str
        Of the file as it was read, and of which columns its ids are in.
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
    weights: NDArray[np.float64] | None = None


def read_table(
    description: Description, party: str, trained: Encoder | None = None, *, learns: bool = False
) -> OwnTable:
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
    learns : bool
        Whether rows are learnt from all the same, so that their weights count.

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
        stated = _stated(description, file, trained)
        named = [plain(each) for each in description.labels]
        there = named if set(named) <= set(file.names) else []
        wanted = {name: said for name, said in stated.items() if said != "ignored"}
        (ids, notes), profiles = _seen(file, description, wanted | dict.fromkeys(there, "label"))
        labels = _label([profiles.pop(each) for each in there], trained)
        check_trained(trained, profiles, party)
        uses = {name: chosen(profile, trained) for name, profile in profiles.items()}
        looked = [_looked(name, profiles.get(name), uses.get(name)) for name in stated]
        used = {name: use for name, use in uses.items() if use.use != "ignored"}
        columns = [column_of(profiles[name], use, trained) for name, use in used.items()]
        if not columns and labels is None and trained is None:
            raise _nothing(file, looked)
        features, values = _kept(file, description, len(ids), columns, labels)
        learnt = trained is not None and not learns
        read = _digest(description), notes, weights_of(file, description, learnt)
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
        *read,
    )


def _nothing(file: TableFile, looked: Sequence[Looked]) -> DataError:
    """Return the error of a table without a column to use."""
    why = "; ".join(f"{each.name}: {each.advice.quoted or each.why}" for each in looked)
    return file.refused("has no column that can be used; say what its columns are", why)


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
    later = {"case": description.id_case.replace("keep", ""), "separator": description.separator}
    ids += "".join(f"\0{key}={said}" for key, said in later.items() if said)
    return sha256(ids.encode()).hexdigest()


def _stated(description: Description, file: TableFile, trained: Encoder | None) -> dict[str, str]:
    """Return the stated use of each column but ids and labels.

    It is empty where nothing is said.
    """
    ids = [*id_columns(description)]
    said = [*description.labels, description.weight]
    named = [*ids, *(plain(name) for name in said if name)]
    by = [plain(name) for name in (description.group, description.time) if name]
    stated = dict.fromkeys(by, "ignored")  # unless more is said of them
    stated |= {plain(name): use for name, use in description.columns.items()}
    needed = ids if trained is not None else [*named, *stated]
    for name in needed:
        if name not in file:
            known = f"it has {', '.join(file.names)}"
            raise file.refused(file.lacks(name), known)
    if trained is not None:
        stated = {name: use for name, use in stated.items() if use == "ignored"}
        stated |= dict.fromkeys(trained.ignored, "ignored") | trained.uses
    return {name: stated.get(name, "") for name in file.names if name not in named}


def _seen(
    file: TableFile, description: Description, stated: Mapping[str, str]
) -> tuple[tuple[Ids, tuple[str, ...]], dict[str, Profile]]:
    """Return ids with notes, and profiles of columns, of all rows."""
    profiles = {
        name: Profile(name, file.party, file.type_of(name), description, said)
        for name, said in stated.items()
    }
    chunks: dict[str, list[pa.Array]] = {name: [] for name in id_columns(description)}
    for batch in file.batches([*chunks, *stated]):
        for name, pieces in chunks.items():
            pieces.append(as_ids(batch[name]))
        for name, profile in profiles.items():
            profile.see(batch[name])
    return ids_of(chunks, file, description), profiles


def _looked(name: str, profile: Profile | None, use: Use | None) -> Looked:
    if profile is None or use is None:
        return Looked(name, "", "ignored", "stated")
    advice = NOTHING if profile.stated else advice_of(profile, use.use)
    return Looked(name, profile.type, use.use, use.why, advice)


def _label(profiles: list[Profile], trained: Encoder | None) -> Column | None:
    """Describe the labels; None where a table to be predicted has none."""
    if not profiles or (trained is not None and not all(each.values for each in profiles)):
        return None
    learnt = trained is not None
    return labels_of(profiles, learnt) if len(profiles) > 1 else label_of(profiles[0], learnt)


def _kept(
    file: TableFile,
    description: Description,
    rows: int,
    columns: list[Column],
    label: Column | None,
) -> tuple[NDArray[np.float32], NDArray[np.float64] | None]:
    """Read all rows of the columns that are used, and the labels."""
    features = np.empty((rows, len(columns)), np.float32)
    parts = () if label is None else label.parts or (label,)
    labels = np.empty((rows, len(parts)))
    cells = {column.name: cells_of(column, description) for column in (*columns, *parts)}
    start = 0
    for batch in file.batches(list(cells)) if cells else ():
        stop = start + len(next(iter(batch.values())))
        for place, column in enumerate(columns):
            features[start:stop, place] = cells[column.name](batch[column.name])
        for place, part in enumerate(parts):
            labels[start:stop, place] = cells[part.name](batch[part.name])
        start = stop
    if (gaps := np.flatnonzero(np.isnan(labels).any(1))).size:
        raise file.refused(
            f"has no label in {gaps.size} of {rows} rows, first in row {gaps[0] + 1}; add them, or "
            "leave the rows out"
        )
    if label is None:
        return features, None
    return features, labels if label.parts else labels[:, 0]


def _gaps(values: NDArray[np.float32]) -> bool:
    return bool(np.isnan(values).any())
