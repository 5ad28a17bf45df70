"""Active party of an alignment."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from flwr.common import Scalar

from vfl_flower.alignment.messages import alignment_facts, name_digest
from vfl_flower.alignment.psi import Common, align
from vfl_flower.common.nonce import bytes_of
from vfl_flower.config.choices import TASKS
from vfl_flower.data.alignment_record import Alignment
from vfl_flower.parties.active import ActiveParty
from vfl_flower.parties.party import Party
from vfl_flower.protocol.exchange import Protocol, ask
from vfl_flower.protocol.observer import Stage


class AlignmentActive(ActiveParty):
    """The active party of an alignment.

    Parameters
    ----------
    member : Member
        With the table's ids.
    kept : Alignment
        What it is to keep, but for the rows.
    label : str
        What its labels are called.
    out : Path
        Its own folder.
    enough : callable
        Is told how many rows are common, before anybody keeps them; may raise.

    Attributes
    ----------
    common : Common
        The outcome, once there is one.
    """

    common: Common

    def __init__(
        self, member: Party, kept: Alignment, label: str, out: Path, enough: Callable[[int], None]
    ) -> None:
        super().__init__(member, torch.empty(0, dtype=torch.int64), {})
        self.kept, self.label, self.out, self.enough = kept, label, out, enough

    def facts(self) -> dict[str, Scalar]:
        """Return what all parties must hold equal: not the rows."""
        return alignment_facts(super().facts())

    def protocol(self) -> Protocol:
        """Align, and let everybody keep the outcome; the active party's makes it valid."""
        assert self.ids is not None  # noqa: S101  it was built for them
        nonce = bytes_of(self.kept.nonce)
        yield ask(
            "begin_alignment", nonce, name_digest(self.kept.nonce, self.label), purpose="upkeep"
        )
        self._show(0, len(self.ids))
        self.common = yield from align(self.ids, len(self.roster), self._show)
        self.enough(len(self.common.rows))
        facts = np.array([self.kept.parties, self.kept.classes, TASKS.index(self.kept.task)])
        yield ask("keep_alignment", nonce, facts, purpose="upkeep")
        self.kept = replace(self.kept, index=self.common.rows)
        self.kept.save(self.out)

    def _show(self, done: int, total: int) -> None:
        self.observer.on_stage(Stage("alignment", done, total, seconds=self.progress.elapsed()))
