"""Alignment with all parties on this machine."""

from collections.abc import Callable
from pathlib import Path

from vfl_flower.alignment.active import AlignmentActive
from vfl_flower.alignment.build import build_alignment_active, build_alignment_passive
from vfl_flower.alignment.psi import Common
from vfl_flower.common.errors import DataError
from vfl_flower.config.run_config import RunConfig
from vfl_flower.data import table_data as own
from vfl_flower.data.party_data import columns_of
from vfl_flower.data.splits import rows_of
from vfl_flower.protocol.observer import Observer
from vfl_flower.transport.local import run_local

Carry = Callable[[AlignmentActive], object]


def align_here(cfg: RunConfig, folder: Path, observer: Observer | None = None) -> Common:
    """Align the tables of all parties, which keep the outcome in their folders.

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
    Common
        What the active party knows of its rows now.

    Raises
    ------
    VflError
        If a table cannot be used, or too few rows are common for the run; nothing is kept then.
    """
    passive = [build_alignment_passive(cfg, index, folder) for index in range(cfg.parties - 1)]
    active = build_alignment_active(cfg, folder, lambda rows: check_enough(cfg, rows))
    return carried_out(active, lambda active: run_local(active, passive), observer)


def carried_out(active: AlignmentActive, carry: Carry, observer: Observer | None = None) -> Common:
    """Run an alignment over some carrier, and return what the active party knows then."""
    active.observer = observer or active.observer
    try:
        carry(active)
    finally:
        active.observer.on_end()
        active.close()
    columns_of.cache_clear()  # of an earlier alignment in the same folder, perhaps
    own.encoder_of.cache_clear()
    return active.common


def check_enough(cfg: RunConfig, rows: int) -> None:
    """Refuse so few common rows that a run cannot be made of them.

    Raises
    ------
    DataError
        Says how many there are.
    """
    if cfg.task != "train":
        return
    try:
        rows_of(cfg, rows)
    except DataError as error:
        raise DataError(f"{rows} rows are common to all parties: {error}") from error
