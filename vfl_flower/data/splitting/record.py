"""Split of a run, as it is told and kept."""

from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vfl_flower.common.codec import Array, to_array
from vfl_flower.common.errors import RunError
from vfl_flower.common.layout import SPLIT
from vfl_flower.common.state import read_state, write_state

PARTS = ("train", "validation", "test")
"""Parts by number; one more is of rows that are left out."""
LEFT_OUT = len(PARTS)


@dataclass(frozen=True, eq=False)
class Split:
    """Part of each row; equal if all parts are.

    Attributes
    ----------
    parts : ndarray of uint8
        (N,): places in `PARTS`, or `LEFT_OUT`.
    """

    parts: NDArray[np.uint8]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Split) and np.array_equal(self.parts, other.parts)

    def __hash__(self) -> int:
        return hash(self.digest)

    @classmethod
    def of(cls, rows: dict[str, Array], total: int) -> "Split":
        """Return the split of some parts; other rows are left out."""
        parts = np.full(total, LEFT_OUT, np.uint8)
        for number, name in enumerate(PARTS):
            parts[rows[name]] = number
        return cls(parts)

    @cached_property
    def rows(self) -> dict[str, Array]:
        """Rows of each part in order, (n,) int32 each."""
        return {
            name: np.flatnonzero(self.parts == number).astype(np.int32)
            for number, name in enumerate(PARTS)
        }

    @cached_property
    def digest(self) -> str:
        """First hexadecimal digits of its SHA-256, the same at all parties."""
        return sha256(self.parts.tobytes()).hexdigest()[:16]

    def save(self, folder: Path) -> None:
        """Write it into a party's folder; its owner alone may read it."""
        write_state(folder / SPLIT, {"parts": self.parts})

    @classmethod
    def load(cls, folder: Path) -> "Split":
        """Read the record in a party's folder.

        Raises
        ------
        RunError
            If it is missing or damaged.
        """
        path = folder / SPLIT
        if not path.is_file():
            raise RunError(f"{path} is missing: put it back, or start a new run")
        parts = to_array(read_state(path).get("parts", np.empty(0)))
        if parts.ndim != 1 or parts.dtype != np.uint8 or (parts > LEFT_OUT).any():
            raise RunError(f"{path} is damaged, or of another version; start a new run")
        return cls(parts)
