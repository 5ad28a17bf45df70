"""Durable record of the contributors to each row's sums.

With the same weights, the sum over k parties less the sum over k - 1 of them is one party's own
upload. So a row is in sums of one set of parties only, whatever asks for it and whenever: each of
them writes the set down before its part leaves, and refuses another set from then on.
"""

import base64
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vfl_flower.common.errors import PrivacyError
from vfl_flower.common.layout import ROW_SETS
from vfl_flower.privacy.accounts.journal import Journal, Record

Keys = NDArray[np.uint64]
_KEY = np.dtype("<u8")


def encode_keys(keys: Keys) -> str:
    """Write row keys as text."""
    return base64.b64encode(keys.astype(_KEY).tobytes()).decode()


def decode_keys(text: str) -> Keys:
    """Read row keys from text.

    Raises
    ------
    ValueError
        If the text is of no keys.
    """
    return np.frombuffer(base64.b64decode(text, validate=True), _KEY).astype(np.uint64)


class RowSets:
    """Set of contributors of each row of one party's model.

    Parameters
    ----------
    folder : Path or None
        The party's own, where it survives a restart; None where no model is kept either.
    """

    def __init__(self, folder: Path | None) -> None:
        self._sets: dict[int, str] = {}
        self._file = None if folder is None else _File(folder / ROW_SETS, self._sets)

    def others(self, keys: Keys, sets: Sequence[str]) -> NDArray[np.bool_]:
        """Mark the rows, (n,), that were in sums of another set.

        Parameters
        ----------
        keys : ndarray of uint64
            (n,), what names the rows at this party.
        sets : sequence of str
            Of each row, as text.
        """
        with self._opened():
            return self._others(keys, sets)

    def settle(self, keys: Keys, sets: Sequence[str]) -> None:
        """Write down the sets of rows, before anything of them leaves.

        Raises
        ------
        PrivacyError
            If a row was in sums of another set; then nothing is written.
        """
        with self._opened():
            if count := np.count_nonzero(self._others(keys, sets)):
                raise PrivacyError(
                    f"{count} rows were in sums of other parties with this model, and the "
                    "difference would be a single party's own; leave these rows out, or train anew"
                )
            new = np.array([key not in self._sets for key in keys.tolist()], bool)
            for text, group in _grouped(keys[new], np.array(sets, object)[new]):
                self._append(text, group)

    def _others(self, keys: Keys, sets: Sequence[str]) -> NDArray[np.bool_]:
        pairs = zip(keys.tolist(), sets, strict=True)
        return np.array([self._sets.get(key, text) != text for key, text in pairs], bool)

    def _append(self, text: str, keys: Keys) -> None:
        if self._file is None:
            self._sets.update(dict.fromkeys(keys.tolist(), text))
        else:
            self._file.append({"set": text, "rows": encode_keys(keys)})

    def _opened(self) -> AbstractContextManager[None]:
        return self._file.opened() if self._file else nullcontext()


class _File(Journal):
    """The record on disk, a line for each group of rows."""

    def __init__(self, path: Path, sets: dict[int, str]) -> None:
        self._sets = sets
        super().__init__(path)

    def clear(self) -> None:
        """Know of no row."""
        self._sets.clear()

    def take(self, record: Record) -> None:
        """Add the rows of a line."""
        self._sets.update(dict.fromkeys(decode_keys(record["rows"]).tolist(), str(record["set"])))


def _grouped(keys: Keys, sets: NDArray[np.object_]) -> Iterator[tuple[str, Keys]]:
    """Yield each set with its rows."""
    for text in sorted({*sets.tolist()}):
        yield text, keys[sets == text]
