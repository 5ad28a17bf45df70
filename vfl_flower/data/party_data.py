"""Data of one party, loaded once and passed on."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from vfl_flower.common.codec import Array
from vfl_flower.config.catalog import MULTI_CLASS, MULTI_LABEL, REGRESSION
from vfl_flower.data.byte_rows import Held
from vfl_flower.data.partition.shares import NOTHING, Share
from vfl_flower.data.preprocessing.encoder import Encoder
from vfl_flower.data.preprocessing.scaling import noised
from vfl_flower.data.preprocessing.target import Target
from vfl_flower.data.splitting.record import Split

if TYPE_CHECKING:
    from vfl_flower.data.tables.row_ids import Ids  # pyarrow is slow to import

Rows = dict[str, Array]
"""Numbers of the rows in ``train``, ``validation`` and ``test``, (n,) int32 each."""


@dataclass(frozen=True, eq=False)
class PartyData:
    """Data of one party.

    Attributes
    ----------
    rank : int
        0 is the active party, k the k-th passive one.
    x : Tensor or ByteRows
        Columns as the party's network gets them, (N, ...) float32; images are made when they are
        asked for.
    rows : dict of str to ndarray
        The split of all rows, the same at every party.
    classes : int
        C, or 1 of a regression; of several labels their number.
    target : Target or None
        Task and class names; of the active party only.
    y : Tensor or None
        Labels, (N,) int64, or of a regression float32, standardised; of several labels (N, C)
        float32, 0 and 1; of the active party only, and only where it learns or is evaluated.
    weights : ndarray of float64 or None
        Weights of rows, (N,), none negative, as the active party's table has them; of the
        active party only, and None where rows count alike.
    whole : tuple of int
        Shape of a row with the columns of all parties; empty for tables of the parties' own.
    share : tuple of slice, or ndarray
        Which of them the party holds; empty for tables of the parties' own.
    alignment : str
        Nonce of the alignment of the party's own table; empty without one.
    encoder : Encoder or None
        Encoder of the party's own table; None without one.
    split : Split or None
        The split that the active party has told; None where every party draws it.
    ids : array of pyarrow, or None
        Ids of all rows of the active party's own table, where rows are to be predicted.
    index : ndarray of int64, or None
        (N,), the table's row of each row of the run; None where there are no ids.
    several : bool
        Whether each of the C outputs is of a label of its own.
    unseen : mapping of str to ndarray of bool
        Rows, (N,), with a category that no training row had, by the column's name.
    presence : ndarray of bool, or None
        Of a passive party whether it has each row, (N,); of the active party whether each passive
        one has it, (N, K). None where all have all.
    keys : ndarray of uint64, or None
        (N,), what names a row at this party whenever it is there; of a passive party that may
        lack rows.
    """

    rank: int
    x: Held
    rows: Rows
    classes: int
    target: Target | None = None
    y: Tensor | None = None
    weights: NDArray[np.float64] | None = None
    whole: tuple[int, ...] = ()
    share: Share = field(default_factory=lambda: NOTHING)
    alignment: str = ""
    encoder: Encoder | None = None
    split: Split | None = None
    ids: "Ids | None" = None
    index: Array | None = None
    several: bool = False
    unseen: Mapping[str, NDArray[np.bool_]] = field(default_factory=dict)
    presence: NDArray[np.bool_] | None = None
    keys: NDArray[np.uint64] | None = None

    @property
    def numbers(self) -> Tensor:
        """All rows of its columns, (N, ...) float32."""
        return self.x if isinstance(self.x, Tensor) else self.x[:]

    def with_noise(self, deviation: float, seed: int) -> "PartyData":
        """Return it with noise in its columns; see `noised`."""
        if not deviation:
            return self
        return replace(self, x=noised(self.numbers, deviation, seed, self.rank))

    @property
    def task(self) -> str:
        """Task of the labels, as far as outputs tell: of classes multi-class."""
        if self.several:
            return MULTI_LABEL
        return REGRESSION if self.classes == 1 else MULTI_CLASS
