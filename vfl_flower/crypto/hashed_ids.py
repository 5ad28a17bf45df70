"""Hashed row ids for entity alignment, with one rule of equality.

Text is compared in Unicode's form NFC and without the blanks around it, whole numbers as numbers.
Text never equals a number: the parties tell each other which of the two they have. What is kept of
an id is its hash, 32 bytes; the intersection goes on from there.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal
from unicodedata import normalize

import numpy as np

from vfl_flower.common.codec import Array
from vfl_flower.common.errors import DataError
from vfl_flower.crypto.curve25519 import hash_to_field, tags

KINDS = ("text", "whole numbers")
"""Types of ids; a message names one by its position here."""

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
) -> Ids:
    """Read a column of ids.

    Parameters
    ----------
    ids : sequence of str or int
        One for each row: a list, or a one-dimensional array of NumPy or pyarrow. Nothing is taken
        for another type: 1 and "1" differ.
    duplicates : {"refuse", "first"}
        What becomes of rows with the same id: an error, or only the first of them counts.

    Raises
    ------
    DataError
        If there are no ids, one is missing, or they are not all text or all whole numbers; if one
        is there twice and duplicates are refused.
    """
    if len(ids) == 0:
        raise DataError("there are no ids: a table without rows has nothing in common with others")
    kind, hashed = "", []
    for start, values in _chunks(ids):
        found = _kind(values, start)
        if kind not in ("", found):
            raise DataError(f"some ids are {kind} and some are {found}: make them one or the other")
        kind = found
        texts = [_normal(str(value), start + i) for i, value in enumerate(values)]
        hashed.append(hash_to_field(texts, (DOMAIN + kind).encode()))
    return _unique(Ids(kind, np.concatenate(hashed), np.arange(len(ids))), duplicates)


def _chunks(ids: Any) -> Iterator[tuple[int, Sequence[Any]]]:  # noqa: ANN401
    """Yield pieces of a column as Python objects, and where they start."""
    for start in range(0, len(ids), CHUNK):
        piece = ids[start : start + CHUNK]
        as_list = getattr(piece, "to_pylist", None) or getattr(piece, "tolist", None)
        yield start, as_list() if as_list else piece


def _kind(values: Sequence[Any], start: int) -> str:
    types = set(map(type, values))
    if all(issubclass(each, str) for each in types):
        return "text"
    if all(issubclass(each, int | np.integer) and each is not bool for each in types):
        return "whole numbers"
    missing = [i for i, value in enumerate(values) if value is None or value != value]
    if missing:
        raise DataError("a row has no id", f"row {start + missing[0]}, counted from 0")
    names = ", ".join(sorted(each.__name__ for each in types))
    raise DataError(f"ids must be all text or all whole numbers, not {names}: cast the column")


def _normal(text: str, row: int) -> bytes:
    """Return the canonical bytes that equal ids share."""
    stripped = normalize("NFC", text).strip()
    if not stripped:
        raise DataError("a row has no id, only blanks", f"row {row}, counted from 0")
    try:
        return stripped.encode()
    except UnicodeEncodeError as error:
        raise DataError("an id is no Unicode text", f"row {row}, counted from 0") from error


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
