"""Comparison of the columns' names with that of the labels.

One name is compared in each alignment. Who asks for an alignment can guess the name of a column: a
refusal confirms it, and going on denies it. So a party answers for one name in an alignment, a node
for one under each name of a run and for `MOST_A_DAY` in a day, and its owner reads how many there
were.
"""

import time
from pathlib import Path

from torch import Tensor

from vfl_flower.alignment.messages import name_digest
from vfl_flower.common.codec import to_array
from vfl_flower.common.errors import ProtocolError, RunError
from vfl_flower.common.files import refused, write_once
from vfl_flower.common.layout import BEGUN
from vfl_flower.common.names import party_log, party_name
from vfl_flower.common.nonce import hex_of
from vfl_flower.data.tables.reader import OwnTable, refuse_label
from vfl_flower.privacy.accounts.counters import DAY

MOST_A_DAY = 50
"""Names that a node answers for in 24 hours, over all runs."""


class LabelCheck:
    """One name of the labels, compared with a party's columns.

    Parameters
    ----------
    rank : int
        Rank of the party.
    root : Path or None
        The node's folder of all runs; None where all parties are on one machine.

    Attributes
    ----------
    asked : str
        Nonce and digest of the name, once it was asked for.
    """

    def __init__(self, rank: int, root: Path | None) -> None:
        self.rank, self.root = rank, root
        self.asked = ""

    def answer(self, table: OwnTable, nonce: Tensor, label: Tensor, folder: Path) -> None:
        """Refuse a table with a column of the labels' name.

        Parameters
        ----------
        table : OwnTable
        nonce : Tensor
            (16,) uint8.
        label : Tensor
            (32,) uint8, `name_digest` of the name.
        folder : Path
            The party's own in the run.

        Raises
        ------
        DataError
            If a column has the name, or is called label; the text does not say which.
        RunError
            If another name was asked for already, or too many in a day.
        """
        salt, told, party = hex_of(nonce), to_array(label).tobytes(), party_name(self.rank)
        self._take(f"{salt} {told.hex()}", folder)
        refuse_label(table, "label", party)
        for column in table.columns:
            if name_digest(salt, column.name).tobytes() == told:
                refuse_label(table, column.name, party)

    def check_same(self, nonce: Tensor) -> None:
        """Refuse to keep another alignment than the one that began."""
        if self.asked.partition(" ")[0] != hex_of(nonce):
            raise ProtocolError("an alignment is to be kept that was not come to")

    def _take(self, pair: str, folder: Path) -> None:
        """Use up the party's one answer; the same question may come again."""
        if self.asked not in ("", pair):
            raise self._again()
        if self.root is not None and not self.asked:
            self._note(pair, folder / BEGUN, self.root)
        self.asked = pair

    def _note(self, pair: str, path: Path, root: Path) -> None:
        """Record the answer before it is given, and log the count."""
        with refused(path):
            begun = [each.stat().st_mtime for each in root.glob(f"*/{path.parent.name}/{BEGUN}")]
            count = sum(each > time.time() - DAY for each in begun) + 1
            if path.exists() and path.read_text() == pair:
                return
            if count > MOST_A_DAY:
                raise RunError(
                    f"{party_name(self.rank)} has begun {MOST_A_DAY} alignments in 24 hours, and "
                    "begins no more; wait, or ask its owner"
                )
            try:
                write_once(path, pair.encode())  # of two at once, one is first
            except FileExistsError as error:
                raise self._again() from error
        party_log(self.rank).info(
            "alignment %d of %d in 24 hours: it compares the names of the columns with one name",
            *(count, MOST_A_DAY),
        )

    def _again(self) -> RunError:
        return RunError(
            f"{party_name(self.rank)} has begun another alignment of this name; choose another "
            "run-name"
        )
