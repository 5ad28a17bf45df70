"""Record of an alignment at each party: its rows and the task."""

import secrets
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

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
        (n,): row i of the run is row index[i] of the party's table.
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
    """

    index: Array
    parties: int
    classes: int
    task: str
    nonce: str
    table: str

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
        rows = index.ndim == 1 and index.dtype == np.int64 and len(index) and index.min() >= 0
        if not fits(kept, _SHAPE) or not rows:
            raise RunError(f"{path} is damaged, or of another version; align the tables again")
        return cls(index=index, **{key: kept[key] for key in _SHAPE})


def drawn_nonce() -> str:
    """Draw the nonce of an alignment."""
    return secrets.token_hex(NONCE)
