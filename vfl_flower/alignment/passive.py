"""Passive party of an alignment."""

from pathlib import Path

import numpy as np
from flwr.common import Scalar
from torch import Tensor

from vfl_flower.alignment.component import Aligner
from vfl_flower.alignment.label_check import LabelCheck
from vfl_flower.alignment.messages import alignment_facts, alignment_log
from vfl_flower.common.errors import ProtocolError, RunError
from vfl_flower.common.layout import is_aligned, is_split, steps_kept
from vfl_flower.common.names import party_log, party_name
from vfl_flower.common.nonce import hex_of
from vfl_flower.common.state import State
from vfl_flower.config.catalog import TASKS
from vfl_flower.config.policy.record import OPEN, Policy
from vfl_flower.config.run_config import RunConfig
from vfl_flower.crypto.hashed_ids import Ids
from vfl_flower.crypto.identity import Identity
from vfl_flower.data.alignment_record import Alignment
from vfl_flower.data.tables.column_profile import MOST_CATEGORIES
from vfl_flower.data.tables.reader import OwnTable
from vfl_flower.parties.persistence.run_identity import known_run
from vfl_flower.privacy.client_dp.upload_log import FILE
from vfl_flower.protocol.automaton.arrays import integers, octets
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
    identity : Identity, optional
        Its long-term key, and those that it pins; an alignment signs nothing.
    policy : Policy
        Of its owner.
    root : Path or None
        The node's folder of all runs; None where all parties are on one machine.

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
        self,
        cfg: RunConfig,
        rank: int,
        table: OwnTable,
        ids: Ids,
        folder: Path | None,
        identity: Identity | None = None,
        policy: Policy = OPEN,
        root: Path | None = None,
    ) -> None:
        self.cfg, self.rank, self.folder = cfg, rank, folder
        self.identity, self.policy = identity, policy
        self.table, self.ids = table, ids
        self.check = LabelCheck(rank, root)
        super().__init__()

    def facts(self) -> dict[str, Scalar]:
        """Return facts that must be equal everywhere, without the rows."""
        return alignment_facts()

    @phase(training=False, takes=(octets(16), octets(32)))
    def begin_alignment(self, nonce: Tensor, label: Tensor) -> None:
        """Check that the labels are not among the columns.

        (16,) uint8, (32,) uint8 ->
        """
        _check_free(self, nonce)
        self.check.answer(self.table, nonce, label, _folder(self))
        alignment_log(self.rank, self.table, self.ids, self.cfg.task)

    def check_begun(self) -> None:
        """Refuse to announce ids in an alignment that has not begun."""
        if not self.check.asked:
            raise ProtocolError("phase 'announce_ids' must follow 'begin_alignment'")

    @phase(training=False, takes=(octets(16), integers(3)))
    def keep_alignment(self, nonce: Tensor, facts: Tensor) -> None:
        """Write the alignment to the party's folder.

        (16,) uint8, (3,) int64: K + 1, C, the task's position ->
        """
        _check_free(self, nonce)
        rows, told = self.aligner.rows, facts.flatten().tolist()
        known = 0 < told[1] <= MOST_CATEGORIES and 0 <= told[2] < len(TASKS)
        if not known or not len(rows) or told[0] != self.cfg.parties:
            raise ProtocolError("an alignment is to be kept that was not come to")
        self.check.check_same(nonce)
        parties, classes, task = told
        task_name, table = TASKS[task], self.table.digest
        names = self.aligner.names if self.cfg.uses_missing else None
        facts_kept = (parties, classes, task_name, hex_of(nonce), table)
        self.kept = Alignment(rows, *facts_kept, names=names)
        folder = _folder(self)
        if is_aligned(folder) and not np.array_equal(Alignment.load(folder).index, rows):
            raise _kept_already(self)
        self.kept.save(folder)
        here = np.count_nonzero(rows >= 0)
        party_log(self.rank).info("alignment: %d rows in common", here)
        if here < len(rows):
            party_log(self.rank).info("alignment: %d more rows, of others", len(rows) - here)

    def durable(self) -> State:
        """Return the question of this alignment, which is answered once."""
        return {"asked": self.check.asked}

    def recall(self, state: State) -> None:
        """Take a state back."""
        self.check.asked = state["asked"]
        super().recall({name: value for name, value in state.items() if name != "asked"})


def _folder(party: ProtocolClient) -> Path:
    if party.folder is None:
        raise RunError(f"{party_name(party.rank)} has no folder to keep an alignment in; set out")
    return party.folder


def _check_free(party: ProtocolClient, nonce: Tensor) -> None:
    """Refuse to align a second time under one name.

    The active party may not have written its part of the first time, and begins it again.
    """
    folder = _folder(party)
    if not is_aligned(folder):
        return
    used = is_split(folder) or known_run(folder) or steps_kept(folder) or (folder / FILE).exists()
    if used or Alignment.load(folder).nonce != hex_of(nonce):
        raise _kept_already(party)


def _kept_already(party: ProtocolClient) -> RunError:
    name = party_name(party.rank)
    return RunError(f"{name} has an alignment of this name already; choose another run-name")
