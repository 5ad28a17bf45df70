"""Alignment with all parties on this machine."""

from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from vfl_flower.alignment.active import AlignmentActive
from vfl_flower.alignment.build import build_alignment_active, build_alignment_passive
from vfl_flower.alignment.psi import Common
from vfl_flower.common.errors import DataError, PartyAway
from vfl_flower.common.names import party_name
from vfl_flower.config.run_config import RunConfig
from vfl_flower.data.alignment_record import Alignment
from vfl_flower.data.splitting.rows import rows_of
from vfl_flower.data.tables.reader import refuse_label
from vfl_flower.protocol.observer import Observer
from vfl_flower.protocol.transport import Transport
from vfl_flower.transport.local import LocalTransport


class Aligned(NamedTuple):
    """Outcome of an alignment.

    Attributes
    ----------
    common : Common
        Which rows all parties have, as the active party knows.
    alignments : dict of int to Alignment
        By rank, of the parties in this process.
    """

    common: Common
    alignments: dict[int, Alignment]


def align_here(cfg: RunConfig, folder: Path, observer: Observer | None = None) -> Aligned:
    """Align all parties' tables; each keeps the outcome in its folder.

    Parameters
    ----------
    cfg : RunConfig
        Names the tables.
    folder : Path
        Of the run; each party gets a folder in it.
    observer : Observer, optional
        Is told of the progress.

    Returns
    -------
    Aligned
        With the alignments of all parties.

    Raises
    ------
    VflError
        If a table cannot be used, or too few rows are common for the run; nothing is kept then.
    """
    passive = [build_alignment_passive(cfg, rank, folder) for rank in cfg.present]
    active = build_alignment_active(cfg, folder, lambda rows: check_enough(cfg, rows))
    for (
        party
    ) in passive:  # their owner is the caller: the name itself can be compared, first of all
        for label in active.labels:
            refuse_label(party.table, label, party_name(party.rank))
    made = carried_out(active, LocalTransport(passive), observer)
    others = {party.rank: party.kept for party in passive}
    return made._replace(alignments=made.alignments | others)


def carried_out(
    active: AlignmentActive, transport: Transport, observer: Observer | None = None
) -> Aligned:
    """Run an alignment over some transport.

    Raises
    ------
    VflError
        Whatever went wrong.
    """
    active.observer = observer or active.observer
    try:
        transport.run(active)
    except PartyAway as away:
        raise PartyAway(f"{away}; resume the run once it is back") from away
    finally:
        active.observer.on_end()
        active.close()
    return Aligned(active.common, {0: active.kept})


def check_enough(cfg: RunConfig, rows: int) -> None:
    """Refuse an alignment with too few common rows for the run.

    Raises
    ------
    DataError
        Says how many there are.
    """
    if cfg.task != "train":
        return
    try:
        rows_of(replace(cfg, split="random", new_parties=0, model=""), rows)
    except DataError as error:
        raise DataError(f"{rows} rows are common to all parties: {error}") from error
