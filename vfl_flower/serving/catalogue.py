"""Catalogue of the rows that a service can score, by id."""

from collections.abc import Sequence
from enum import Enum
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from vfl_flower.parties.active import ActiveParty
from vfl_flower.serving.refusals import IdError

Id = int | str | tuple[int | str, ...]
"""Id of a row; of ids of several columns a tuple in the columns' order."""


class Status(Enum):
    """Outcome for one id of a request."""

    PREDICTED = "predicted"
    UNKNOWN = "unknown"
    """The active party's table has no such id."""
    MISSING = "missing"
    """It has, and some other party lacks the row."""


class Catalogue:
    """Rows of the active party's data by id.

    Parameters
    ----------
    active : ActiveParty
        Of a prediction; its ids are row numbers where the data have no others.
    """

    def __init__(self, active: ActiveParty) -> None:
        self._ids, self._index = active.data.ids, active.data.index
        self.rows = len(active.x)

    def find(self, ids: Sequence[Id]) -> list[int | Status]:
        """Find rows by id.

        Parameters
        ----------
        ids : sequence of int, str or tuple
            As the active party's table has them.

        Returns
        -------
        list of int or Status
            Row number of the run, or why there is none.

        Raises
        ------
        IdError
            If an id is of another type than the table's; the text does not quote it.
        """
        kinds = self._kinds
        if not all(_is(each, kinds) for each in ids):
            raise IdError(f"ids must be {self._told}")
        if self._ids is None:
            return [each if 0 <= each < self.rows else Status.UNKNOWN for each in ids]  # type: ignore[operator,misc]
        return [self._places.get(each, Status.UNKNOWN) for each in ids]

    @cached_property
    def _places(self) -> dict[Any, int | Status]:
        """Row of the run by id, of all rows of the table."""
        assert self._ids is not None and self._index is not None  # noqa: S101  `find` has looked
        places: dict[Any, int | Status] = dict.fromkeys(_python(self._ids), Status.MISSING)
        found = _python(self._ids.take(pa.array(self._index)))
        return places | dict(zip(found, range(len(found)), strict=True))

    @cached_property
    def _kinds(self) -> tuple[type, ...]:
        """Type of each column of ids."""
        if self._ids is None:
            return (int,)
        type_ = self._ids.type
        columns = [each.type for each in type_] if type_.num_fields else [type_]
        return tuple(int if pa.types.is_integer(each) else str for each in columns)

    @property
    def _told(self) -> str:
        """Say of which type ids are."""
        names = ["whole numbers" if kind is int else "texts" for kind in self._kinds]
        if len(names) == 1:
            return f"{names[0]}, as {'rows are numbered' if self._ids is None else 'the table has'}"
        return f"lists of {len(names)} entries, one for each column of ids: {', '.join(names)}"


def _is(given: Id, kinds: tuple[type, ...]) -> bool:
    parts = given if isinstance(given, tuple) else (given,)
    several = isinstance(given, tuple) == (len(kinds) > 1)
    return several and len(parts) == len(kinds) and all(map(_same, parts, kinds))


def _same(part: int | str, kind: type) -> bool:
    return type(part) is kind


def _python(ids: Any) -> list[Any]:  # noqa: ANN401  an array of pyarrow
    """Return ids as Python has them; of several columns as tuples."""
    if not ids.type.num_fields:
        return list(ids.to_pylist())
    return list(zip(*(each.to_pylist() for each in ids.flatten()), strict=True))


def distinct(rows: Sequence[int | Status]) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
    """Return row numbers in ascending order, each once, (n,) int32."""
    return np.unique([row for row in rows if not isinstance(row, Status)]).astype(np.int32)
