"""Loading of one party's data, or of all parties' data."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from vfl_flower.common.errors import RunError
from vfl_flower.config.run_config import RunConfig
from vfl_flower.data.alignment_record import Alignment
from vfl_flower.data.columns import Labels
from vfl_flower.data.party_data import PartyData
from vfl_flower.data.published_data import PublishedData
from vfl_flower.data.splitting.record import Split

MOST = 128
"""Parties that a cache holds at most."""

Alignments = Mapping[int, Alignment]
"""Alignments by rank, of parties whose alignment is at hand."""


class RunData(Protocol):
    """Data of a run, as far as this process may load them."""

    def party(self, rank: int, *, labelled: bool = True) -> PartyData:
        """Load the data of one party."""

    def pooled(self, *, labelled: bool = True) -> PartyData:
        """Load the columns of all parties as one, for the central baseline."""


class SplitData(RunData, Protocol):
    """Data of a run whose rows can be split."""

    def size(self, rank: int) -> tuple[int, int]:
        """Return the numbers of rows and classes."""

    def classes(self) -> tuple[Labels, tuple[str, ...]]:
        """Read each row's class, (N,) int64, and the classes' names."""

    def column(self, key: str) -> NDArray[np.float64]:
        """Read the column that a split goes by, (N,)."""


def run_data(
    cfg: RunConfig, alignments: Alignments | None = None, split: Split | None = None
) -> SplitData:
    """Open the data of a run, to be loaded party by party.

    Parameters
    ----------
    cfg : RunConfig
        The run's configuration.
    alignments : mapping of int to Alignment, optional
        By rank, of tables that were aligned just now; others are read from their files.
    split : Split, optional
        See `split_of`.
    """
    if cfg.own_tables:
        # pyarrow is slow to import
        from vfl_flower.data.table_data import OwnTables

        return OwnTables(cfg, alignments or {}, split)
    return PublishedData(cfg, split)


def split_of(cfg: RunConfig, party: Path | None) -> Split | None:
    """Read the split that a party was told.

    None where every party draws it.

    Parameters
    ----------
    cfg : RunConfig
        The run's configuration.
    party : Path or None
        The party's folder in the run.

    Raises
    ------
    RunError
        If the party has no folder, or the record is missing or damaged.
    """
    if not cfg.split_told:
        return None
    if party is None:
        raise RunError(f"split is {cfg.split}, and the run has no folder to keep it in; set out")
    return Split.load(party)


def load_party(cfg: RunConfig, rank: int, *, labelled: bool = True) -> PartyData:
    """Load the data of one party, as a node does.

    Categories are one-hot, gaps filled, numbers scaled, all by the training rows; then comes the
    noise that ``column-noise`` has for the party.

    Parameters
    ----------
    cfg : RunConfig
        The run's configuration.
    rank : int
        0 for the active party, k for the k-th passive one.
    labelled : bool
        Whether the active party's labels are read.

    Raises
    ------
    DataError
        If the data cannot be read or split, a column holds NaN or infinity that are no gaps or has
        nothing but gaps, or a class has no training row.
    """
    return run_data(cfg).party(rank, labelled=labelled)


def load_parties(cfg: RunConfig, alignments: Alignments | None = None) -> list[PartyData]:
    """Load the data of all parties, the active one first.

    See `load_party` and `run_data`.
    """
    data = run_data(cfg, alignments)
    return [data.party(rank) for rank in range(cfg.parties)]


@dataclass(frozen=True)
class _Kept:
    cfg: RunConfig
    stamp: tuple[int, ...]
    data: PartyData


class PartyCache:
    """Data of the parties that one process serves, kept between their messages.

    One entry a party: that of its last run, as long as neither configuration nor files change.
    """

    def __init__(self) -> None:
        self._kept: dict[int, _Kept] = {}
        self._source: tuple[RunConfig, Split | None, RunData] | None = None

    def load(self, cfg: RunConfig, rank: int, party: Path | None = None) -> PartyData:
        """Load one passive party's data, unless they are here.

        See `load_party`, and `split_of` for its folder.
        """
        split, stamp = split_of(cfg, party), _stamp(cfg, rank)
        kept = self._kept.pop(rank, None)
        if kept is None or (kept.cfg, kept.stamp, kept.data.split) != (cfg, stamp, split):
            kept = _Kept(cfg, stamp, self._run_data(cfg, split).party(rank))
        self._kept[rank] = kept
        for oldest in list(self._kept)[:-MOST]:
            del self._kept[oldest]
        return kept.data

    def _run_data(self, cfg: RunConfig, split: Split | None) -> RunData:
        """Open the data of a run once for all parties here."""
        if self._source is None or self._source[:2] != (cfg, split):
            self._source = cfg, split, run_data(cfg, split=split)
        return self._source[2]


def _stamp(cfg: RunConfig, rank: int) -> tuple[int, ...]:
    if not cfg.own_tables:
        return ()
    # pyarrow is slow to import
    from vfl_flower.data.table_data import stamp_of

    return stamp_of(cfg, rank)
