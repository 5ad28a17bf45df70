"""Loading of one party's data, or of all parties' data."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from vfl_flower.config.run_config import RunConfig
from vfl_flower.data.alignment_record import Alignment
from vfl_flower.data.party_data import PartyData
from vfl_flower.data.published_data import PublishedData

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


def run_data(cfg: RunConfig, alignments: Alignments | None = None) -> RunData:
    """Open the data of a run, to be loaded party by party.

    Parameters
    ----------
    cfg : RunConfig
        The run's configuration.
    alignments : mapping of int to Alignment, optional
        By rank, of tables that were aligned just now; others are read from their files.
    """
    if cfg.own_tables:
        # pyarrow is slow to import
        from vfl_flower.data.table_data import OwnTables

        return OwnTables(cfg, alignments or {})
    return PublishedData(cfg)


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
        self._source: tuple[RunConfig, RunData] | None = None

    def load(self, cfg: RunConfig, rank: int) -> PartyData:
        """Load one passive party's data, unless they are here; see `load_party`."""
        stamp = _stamp(cfg, rank)
        kept = self._kept.pop(rank, None)
        if kept is None or (kept.cfg, kept.stamp) != (cfg, stamp):
            kept = _Kept(cfg, stamp, self._run_data(cfg).party(rank))
        self._kept[rank] = kept
        for oldest in list(self._kept)[:-MOST]:
            del self._kept[oldest]
        return kept.data

    def _run_data(self, cfg: RunConfig) -> RunData:
        """Open the data of a run once for all parties here."""
        if self._source is None or self._source[0] != cfg:
            self._source = cfg, run_data(cfg)
        return self._source[1]


def _stamp(cfg: RunConfig, rank: int) -> tuple[int, ...]:
    if not cfg.own_tables:
        return ()
    # pyarrow is slow to import
    from vfl_flower.data.table_data import stamp_of

    return stamp_of(cfg, rank)
