"""Hashed row ids for entity alignment, with one rule of equality.

Text is compared in Unicode's form NFC and without the blanks around it, whole numbers as numbers.
Text never equals a number, nor text whose case counts text whose case does not: the parties tell
each other which of them they have. Of several columns, each part is preceded by its length, so that
("a", "bc") is not ("ab", "c"). What is kept of an id is its hash, 32 bytes; the intersection goes
on from there.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal
from unicodedata import normalize

import numpy as np

from vfl_flower.common.codec import Array
from vfl_flower.common.errors import DataError
from vfl_flower.common.text.case import folded
from vfl_flower.config.dataset_specs import MOST_ID_COLUMNS
from vfl_flower.crypto.curve25519 import hash_to_field, tags

TEXT, WHOLE, FOLDED = "text", "whole numbers", "text in any case"

KINDS = tuple(
    " and ".join(parts)
    for columns in range(1, MOST_ID_COLUMNS + 1)
    for parts in product((TEXT, WHOLE, FOLDED), repeat=columns)
)
"""Types of ids, of one column or several; a message names one by its position here."""

DOMAIN = "vfl-flower alignment 1 "
CHUNK = 2**16  # ids that are Python objects at one time


@dataclass(frozen=True)
class Ids:
    """The ids of a table, hashed, each there once.

    Attributes
    ----------
    kind : str
        One of `KINDS`.
    hashed : ndarray of uint8
        (n, 32). Whoever sees them can try out ids; they never leave the party.
    rows : ndarray of int64
        (n,), the table's row of each.
    """

    kind: str
    hashed: Array
    rows: Array

    def __len__(self) -> int:
        return len(self.rows)


def normalised(
    ids: Any,  # noqa: ANN401  a list, an array of NumPy's or one of pyarrow's
    duplicates: Literal["refuse", "first"] = "refuse",
    case: Literal["keep", "fold"] = "keep",
) -> Ids:
    """Read a column of ids, or several.

    Parameters
    ----------
    ids : sequence of str or int
        One for each row: a list, or a one-dimensional array of NumPy or pyarrow; of several
        columns, pyarrow's array of structs. Nothing is taken for another type: 1 and "1" differ.
    duplicates : {"refuse", "first"}
        What becomes of rows with the same id: an error, or only the first of them counts.
    case : {"keep", "fold"}
        Whether texts that differ in case are different ids, or the same (Unicode's case folding).

    Raises
    ------
    DataError
        If there are no ids, one is missing, or they are not all text or all whole numbers; if one
        is there twice and duplicates are refused.
    """
    if len(ids) == 0:
        raise DataError("there are no ids: a table without rows has nothing in common with others")
    kind, hashed = "", []
    for start, columns in _chunks(ids):
        kinds = [_kind(values, start, case) for values in columns]
        found = " and ".join(kinds)
        if kind not in ("", found):
            raise DataError(f"some ids are {kind} and some are {found}: make them one or the other")
        kind = found
        parts = [
            [_normal(str(value), start + i, each == FOLDED) for i, value in enumerate(values)]
            for each, values in zip(kinds, columns, strict=True)
        ]
        texts = parts[0] if len(parts) == 1 else list(map(_joined, zip(*parts, strict=True)))
        hashed.append(hash_to_field(texts, (DOMAIN + kind).encode()))
    return _unique(Ids(kind, np.concatenate(hashed), np.arange(len(ids))), duplicates)


def _chunks(ids: Any) -> Iterator[tuple[int, list[Sequence[Any]]]]:  # noqa: ANN401
    """Yield pieces of the columns as Python objects, and where they start."""
    several = getattr(getattr(ids, "type", None), "num_fields", 0)
    columns = ids.flatten() if several else [ids]
    for start in range(0, len(ids), CHUNK):
        yield start, [_objects(each[start : start + CHUNK]) for each in columns]


def _objects(piece: Any) -> Sequence[Any]:  # noqa: ANN401
    as_list = getattr(piece, "to_pylist", None) or getattr(piece, "tolist", None)
    found: Sequence[Any] = as_list() if as_list else piece
    return found


def _kind(values: Sequence[Any], start: int, case: str) -> str:
    types = set(map(type, values))
    if all(issubclass(each, str) for each in types):
        return FOLDED if case == "fold" else TEXT
    if all(issubclass(each, int | np.integer) and each is not bool for each in types):
        return WHOLE
    missing = [i for i, value in enumerate(values) if value is None or value != value]
    if missing:
        raise DataError("a row has no id", f"row {start + missing[0]}, counted from 0")
    names = ", ".join(sorted(each.__name__ for each in types))
    raise DataError(f"ids must be all text or all whole numbers, not {names}: cast the column")


def _normal(text: str, row: int, fold: bool) -> bytes:
    """Return the canonical bytes that equal ids share."""
    stripped = normalize("NFC", text).strip()
    if not stripped:
        raise DataError("a row has no id, only blanks", f"row {row}, counted from 0")
    try:
        return (folded(stripped) if fold else stripped).encode()
    except UnicodeEncodeError as error:
        raise DataError("an id is no Unicode text", f"row {row}, counted from 0") from error


def _joined(parts: Sequence[bytes]) -> bytes:
    """Join the parts of an id, each behind its length."""
    return b"".join(b"%d:%b" % (len(part), part) for part in parts)


def _unique(ids: Ids, duplicates: str) -> Ids:
    _, first = np.unique(tags(ids.hashed), return_index=True)
    if len(first) == len(ids):
        return ids
    if duplicates == "refuse":
        raise DataError(
            f"{len(ids) - len(first)} of {len(ids)} rows repeat an id of an earlier one: remove "
            "them, or choose that the first row of each id counts"
        )
    first.sort()
    return Ids(ids.kind, ids.hashed[first], ids.rows[first])
