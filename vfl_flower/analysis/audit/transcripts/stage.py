"""The scene of an attack: one repeated run and its rows."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from vfl_flower.analysis.audit.transcripts.attacked import AttackedRows
from vfl_flower.analysis.audit.transcripts.recorder import Recorder
from vfl_flower.analysis.audit.transcripts.repetition import (
    Deviation,
    Probe,
    Repetition,
    repeat,
    usual_probe,
)
from vfl_flower.analysis.audit.transcripts.tables import Sent, Table, table_of
from vfl_flower.common.errors import (
    BlindingError,
    PartyError,
    PolicyError,
    PrivacyError,
    ProtocolError,
    TrainingError,
    VflError,
)
from vfl_flower.config.run_config import RunConfig
from vfl_flower.config.settings import UNNOISED
from vfl_flower.crypto.fixed_point import WHOLE, decode_ring
from vfl_flower.data.loading import run_data
from vfl_flower.parties.party import Party
from vfl_flower.parties.passive import PassiveParty
from vfl_flower.workflows.build_parties import build_passive

NO_UPLOADS = "no passive party uploads something about every training row"
NO_SUM = "no sum hides uploads; each is seen by itself"
NO_PREDICTIONS = "no further predictions: the run's budget of uploads, or of rows, has none left"

KINDS = ("embedding", "maps", "logits")
"""Uploads that attacks on columns look at, the first that a method sends."""


NOTICING = (PartyError, ProtocolError, TrainingError, BlindingError, PrivacyError, PolicyError)
"""Errors by which parties end a run with somebody who deviates."""


class EndedRun(VflError):
    """A run with a deviation ended in an error.

    Parameters
    ----------
    error : VflError
        The error, whose kind says which check noticed the deviation.
    """

    def __init__(self, error: VflError) -> None:
        self.kind = type(error).__name__
        super().__init__(f"the run with the deviation ended in an error ({self.kind})")


@dataclass(frozen=True, eq=False)
class Stage:
    """One repeated run under attack.

    Attributes
    ----------
    attacked : AttackedRows
        The rows, and prior knowledge of them.
    run : Repetition
        The parties as trained, and their transcripts.
    """

    attacked: AttackedRows
    run: Repetition

    @classmethod
    def of(cls, cfg: RunConfig, attacked: AttackedRows) -> "Stage":
        """Repeat a run, and predict if no budget forbids it."""
        probe = None if cfg.noised or cfg.spec.alone or cfg.spec.pools else usual_probe
        return cls(attacked, repeat(cfg, attacked, probe=probe))

    @property
    def cfg(self) -> RunConfig:
        """The repetition's configuration."""
        return self.run.cfg

    @property
    def recorders(self) -> list[Recorder]:
        """The transcripts of the passive parties, by rank."""
        return self.run.recorders

    def again(self, deviation: Deviation, probe: Probe | None = None) -> Repetition:
        """Repeat the run once more, with parties that deviate.

        Raises
        ------
        EndedRun
            If it ended in an error.
        """
        try:
            return repeat(self.cfg, self.attacked, deviation, probe)
        except NOTICING as error:
            raise EndedRun(error) from error

    def columns(self, party: Party) -> Table:
        """Return a party's columns of the rows under attack: (n, width).

        Gaps are 0, which is the mean.
        """
        return table_of(party.columns(self.attacked.rows).nan_to_num(0.0))

    def untrained(self, rank: int) -> PassiveParty:
        """Build a party as it is before training, with public initial weights."""
        unnoised: dict[str, Any] = UNNOISED  # it sends nothing
        public = replace(self.cfg, party_randomness="public", **unnoised)
        data = run_data(public, split=self.attacked.split)
        return build_passive(public, rank, data=data.party(rank))

    @cached_property
    def uploads(self) -> list[Sent]:
        """Return each passive party's uploads, if they cover all rows."""
        for kind in KINDS:
            found = [_first_of(each, kind) for each in self.recorders]
            whole = [each for each in found if each is not None and each.whole()]
            if whole and len(whole) == len(found):
                return whole
        return []

    @property
    def lacks_networks(self) -> str:
        """Reason why no bottom model can be looked at, or nothing."""
        networks = [hasattr(each.net, "embed") for each in self.run.passive]
        return "" if all(networks) else "passive parties have no networks"

    @property
    def lacks_uploads(self) -> str:
        """Reason why no upload can be attacked, or nothing."""
        return "" if self.uploads else NO_UPLOADS

    @property
    def lacks_embeddings(self) -> str:
        """Reason why no embedding can be attacked, or nothing."""
        if self.uploads and self.uploads[0].kind != "embedding":
            return "no embeddings are uploaded"
        return self.lacks_uploads

    @property
    def masked(self) -> bool:
        """Whether the active party sees sums of uploads only."""
        return bool(self.uploads) and self.uploads[0].masked

    @cached_property
    def summed(self) -> Table:
        """Sum of all uploads as the active party decodes it."""
        words = [each.words for each in self.uploads]
        limit = self.run.active.row_limit()
        ring = limit.ring(len(words)) if limit else WHOLE
        return table_of(decode_ring(np.add.reduce(words, dtype=ring.dtype), ring))

    def truth(self, rank: int) -> Table:
        """Return one party's uploads before masking: (n, width)."""
        values = self.uploads[rank - 1].values
        table: Table = values.reshape(len(values), -1).astype(np.float64)
        return table

    def seen(self, rank: int) -> Table:
        """Return the active party's view of a party's uploads: (n, width)."""
        return self.summed if self.masked else self.truth(rank)

    def ranks(self) -> Iterator[int]:
        """Yield the ranks of passive parties."""
        yield from range(1, self.cfg.parties)


def _first_of(recorder: Recorder, kind: str) -> Sent | None:
    """Return the uploads of the first phase of a kind."""
    return next((each for each in recorder.sent.values() if each.kind == kind), None)
