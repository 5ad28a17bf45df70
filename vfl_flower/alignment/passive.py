"""Passive party of an alignment."""

from pathlib import Path

import torch
from flwr.common import Scalar
from torch import Tensor

from vfl_flower.alignment.component import Aligner
from vfl_flower.alignment.messages import alignment_facts, alignment_log, name_digest
from vfl_flower.common.codec import Array
from vfl_flower.common.errors import ProtocolError, RunError
from vfl_flower.common.names import party_log, party_name
from vfl_flower.common.nonce import hex_of
from vfl_flower.config.catalog import TASKS
from vfl_flower.config.run_config import RunConfig
from vfl_flower.crypto.hashed_ids import Ids
from vfl_flower.data.alignment_record import ALIGNMENT, Alignment
from vfl_flower.data.tables.column_profile import MOST_CATEGORIES
from vfl_flower.data.tables.reader import OwnTable, refuse_label
from vfl_flower.protocol.client import ProtocolClient
from vfl_flower.protocol.components import phase


class AlignmentPassive(ProtocolClient):
    """A passive party of an alignment.

    Parameters
    ----------
    cfg : RunConfig
        The run's configuration.
    rank : int
        1 to K.
    table : OwnTable
        As it was read.
    ids : Ids
        Of the rows of its table.
    folder : Path or None
        Its own.

    Attributes
    ----------
    kept : Alignment
        The outcome, once there is one.
    """

    components = (Aligner,)
    sealed = ("metrics", "released")
    aligner: Aligner
    kept: Alignment
    rank = 0  # of the class; each party has its own

    def __init__(
        self, cfg: RunConfig, rank: int, table: OwnTable, ids: Ids, folder: Path | None
    ) -> None:
        self.cfg, self.rank, self.folder = cfg, rank, folder
        self.table, self.ids = table, ids
        super().__init__()

    def facts(self) -> dict[str, Scalar]:
        """Return facts that must be equal everywhere, without the rows."""
        return alignment_facts()

    @phase(training=False)
    def begin_alignment(self, nonce: Tensor, label: Tensor) -> None:
        """Check that the labels are not among the columns.

        (16,) uint8, (32,) uint8 ->
        """
        name = party_name(self.rank)
        refuse_label(self.table, "label", name)
        for column in self.table.columns:
            if torch.equal(_tensor(name_digest(hex_of(nonce), column.name)), label):
                refuse_label(self.table, column.name, name)
        if (_folder(self) / ALIGNMENT).exists():
            raise RunError(f"{name} has an alignment of this name already; choose another run-name")
        alignment_log(self.rank, self.table, self.ids)

    @phase(training=False)
    def keep_alignment(self, nonce: Tensor, facts: Tensor) -> None:
        """Write the alignment to the party's folder.

        (16,) uint8, (3,) int64: K + 1, C, the task's position ->
        """
        rows, told = self.aligner.rows, facts.flatten().tolist()
        sized = facts.shape == (3,) and facts.dtype == torch.int64
        known = sized and 0 < told[1] <= MOST_CATEGORIES and 0 <= told[2] < len(TASKS)
        if not known or not len(rows) or told[0] != self.cfg.parties:
            raise ProtocolError("an alignment is to be kept that was not come to")
        parties, classes, task = told
        task_name, table = TASKS[task], self.table.digest
        self.kept = Alignment(rows, parties, classes, task_name, hex_of(nonce), table)
        self.kept.save(_folder(self))
        party_log(self.rank).info("alignment: %d rows in common", len(rows))


def _folder(party: ProtocolClient) -> Path:
    if party.folder is None:
        raise RunError(f"{party_name(party.rank)} has no folder to keep an alignment in; set out")
    return party.folder


def _tensor(array: Array) -> Tensor:
    return torch.from_numpy(array)
