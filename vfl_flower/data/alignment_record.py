"""Record of an alignment at each party: its rows and the task."""

import secrets
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vfl_flower.common.codec import Array, to_array
from vfl_flower.common.errors import RunError
from vfl_flower.common.json_schema import fits
from vfl_flower.common.layout import ALIGNMENT
from vfl_flower.common.state import read_state, write_state

NONCE = 16  # bytes

_SHAPE = {"parties": int, "classes": int, "task": str, "nonce": str, "table": str}


@dataclass(frozen=True)
class Alignment:
    """One party's part of an alignment.

    Attributes
    ----------
    index : ndarray of int64
        (n,): row i of the run is row index[i] of the party's table; -1 if it has none.
    parties : int
        How many took part, the active one included.
    classes : int
        C; 1 of a regression.
    task : str
        ``binary``, ``multi-class`` or ``regression``.
    nonce : str
        The same at all parties, and in no other alignment.
    table : str
        A digest of the party's table as it was.
    presence : ndarray of bool, or None
        (n, K), which passive party has which row; of the active party, None if all have all.
    names : ndarray of int64, or None
        (n,), what names each row at the party, whatever table it is in; of a passive party that may
        lack rows.
    """

    index: Array
    parties: int
    classes: int
    task: str
    nonce: str
    table: str
    presence: NDArray[np.bool_] | None = None
    names: Array | None = None

    @property
    def keys(self) -> NDArray[np.uint64] | None:
        """The names of rows as keys, (n,)."""
        return None if self.names is None else self.names.view(np.uint64)

    @property
    def partly(self) -> bool:
        """Whether some party lacks some row, as far as the party knows."""
        return self.presence is not None or bool((self.index < 0).any())

    def save(self, folder: Path) -> None:
        """Write it into a party's folder; its owner alone may read it."""
        write_state(folder / ALIGNMENT, asdict(self))

    @classmethod
    def load(cls, folder: Path) -> "Alignment":
        """Read the record in a party's folder.

        Raises
        ------
        RunError
            If it is missing or damaged.
        """
        path = folder / ALIGNMENT
        if not path.is_file():
            raise RunError(f"{path} is missing: align the tables first, or name where they were")
        kept = read_state(path)
        index = to_array(kept.pop("index", np.empty(0)))
        presence, names = kept.pop("presence", None), kept.pop("names", None)  # new in this version
        rows = index.ndim == 1 and index.dtype == np.int64 and len(index) and index.min() >= -1
        rows = rows and index.max() >= 0
        if not fits(kept, _SHAPE) or not rows:
            raise _damaged(path)
        size = len(index)
        return cls(
            index=index,
            presence=_optional(path, presence, np.bool_, (size, kept["parties"] - 1)),
            names=_optional(path, names, np.int64, (size,)),
            **{key: kept[key] for key in _SHAPE},
        )


def _optional(path: Path, value: Any, kind: Any, shape: tuple[int, ...]) -> Any:  # noqa: ANN401
    """Return an optional array of a record, of a dtype and shape."""
    if value is None:
        return None
    array = to_array(value)
    if array.dtype != kind or array.shape != shape:
        raise _damaged(path)
    return array


def _damaged(path: Path) -> RunError:
    return RunError(f"{path} is damaged, or of another version; align the tables again")


def drawn_nonce() -> str:
    """Draw the nonce of an alignment."""
    return secrets.token_hex(NONCE)
