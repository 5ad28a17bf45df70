"""Active party of an alignment."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from flwr.common import Scalar

from vfl_flower.alignment.messages import alignment_facts, name_digest
from vfl_flower.alignment.psi import Common, align
from vfl_flower.common.files import write_atomically
from vfl_flower.common.layout import BEGUN
from vfl_flower.common.nonce import bytes_of
from vfl_flower.config.catalog import TASKS
from vfl_flower.config.run_config import RunConfig
from vfl_flower.crypto.hashed_ids import Ids
from vfl_flower.data.alignment_record import Alignment
from vfl_flower.data.splitting.presence import tell_gain
from vfl_flower.protocol.exchange import Protocol, ask
from vfl_flower.protocol.observer import Stage
from vfl_flower.protocol.strategy import Coordinator


class AlignmentActive(Coordinator):
    """The active party of an alignment.

    Parameters
    ----------
    cfg : RunConfig
        The run's configuration.
    ids : Ids
        Of the rows of its table.
    kept : Alignment
        What it is to keep, but for the rows.
    labels : sequence of str
        Names of its labels, one or more. Parties elsewhere compare their columns with the first,
        for each answers for one name.
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
        self,
        cfg: RunConfig,
        ids: Ids,
        kept: Alignment,
        labels: Sequence[str],
        out: Path,
        enough: Callable[[int], None],
    ) -> None:
        self.cfg, self.ids, self.folder = cfg, ids, None  # it keeps no checkpoints
        super().__init__()
        self._started = time.monotonic()
        self.kept, self.labels, self.out, self.enough = kept, labels, out, enough

    def facts(self) -> dict[str, Scalar]:
        """Return facts that must be equal everywhere, without the rows."""
        return alignment_facts()

    def protocol(self) -> Protocol:
        """Align, and store the result at every party.

        The active party's makes it valid.
        """
        nonce = bytes_of(self.kept.nonce)
        write_atomically(self.out / BEGUN, self.kept.nonce.encode())
        yield ask(
            *("begin_alignment", nonce, name_digest(self.kept.nonce, self.labels[0])),
            purpose="control",
            to=self.cfg.present,
        )
        self._show(0, len(self.ids))
        least = self.cfg.least_present if self.cfg.uses_missing else None
        found = yield from align(self.ids, self.cfg.present, self._show, least)
        self.common = found.among(self.cfg.parties - 1, self.cfg.present)
        tell_gain(self.cfg, ~self.common.lacks)
        self.enough(len(self.common.rows))
        facts = np.array([self.kept.parties, self.kept.classes, TASKS.index(self.kept.task)])
        yield ask("keep_alignment", nonce, facts, purpose="control", to=self.cfg.present)
        presence = self.common.presence if self.cfg.uses_missing else None
        self.kept = replace(self.kept, index=self.common.rows, presence=presence)
        self.kept.save(self.out)

    def _show(self, done: int, total: int) -> None:
        seconds = time.monotonic() - self._started
        self.observer.on_stage(Stage("alignment", done, total, seconds=seconds))
