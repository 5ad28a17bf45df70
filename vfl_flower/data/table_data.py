"""Tables of the parties' own: rows in the alignment's order, columns as networks get them."""

from functools import lru_cache
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from vfl_flower.common.codec import Array
from vfl_flower.common.errors import ConfigError, DataError
from vfl_flower.common.layout import ENCODER, TARGET, model_of
from vfl_flower.common.names import party_log, party_name
from vfl_flower.config.run_config import RunConfig
from vfl_flower.config.validation.rules import check_task
from vfl_flower.data.alignment_record import ALIGNMENT, Alignment
from vfl_flower.data.preprocessing.encoder import Encoder
from vfl_flower.data.preprocessing.target import Target
from vfl_flower.data.tables.description import Description, read_description
from vfl_flower.data.tables.reader import OwnTable, read_table
from vfl_flower.data.tables.row_ids import Ids


def described(cfg: RunConfig, rank: int) -> Description:
    """Read what a party says of its table; 0 is the active party.

    Raises
    ------
    ConfigError
        If it cannot be read, or names labels where they are not, or none where they are.
    """
    description = _described(Path(cfg.table_of(rank)), rank)
    if not rank and not description.label and cfg.task != "predict":
        raise ConfigError(
            f"active: {cfg.table_of(rank)} names no label; say which column it is, or name the "
            "active party's description first"
        )
    return description


def _described(path: Path, rank: int) -> Description:
    try:
        description = read_description(path)
    except ConfigError as error:
        raise ConfigError(f"{party_name(rank)}: {error}") from error
    if rank and description.label:
        raise ConfigError(
            f"{party_name(rank)}: {path.name} names a label, and labels are the active party's; "
            "leave it away, and if it is the same label, say that the column is ignored"
        )
    return description


def _stamp(*paths: Path | None) -> tuple[int, ...]:
    """Return what changes when somebody writes to one of some files."""
    there = [path.stat() for path in paths if path and path.is_file()]
    return tuple(part for each in there for part in (each.st_ino, each.st_size, each.st_mtime_ns))


@lru_cache(maxsize=1)  # columns and labels are asked for one after the other
def _read(path: Path, rank: int, trained: Path | None, stamp: tuple[int, ...]) -> OwnTable:
    encoder = None if trained is None else Encoder.load(trained)
    return read_table(_described(path, rank), party_name(rank), encoder)


def kept_at(cfg: RunConfig, rank: int, file: str) -> Path:
    """Return a file of the model folder that a party predicts with."""
    return model_of(Path(cfg.model) / party_name(rank)) / file


def table_of(cfg: RunConfig, rank: int) -> OwnTable:
    """Return a party's whole table.

    Raises
    ------
    ConfigError
        If its description cannot be used, or the run cannot learn such labels.
    DataError
        If the table cannot be read.
    """
    trained = kept_at(cfg, rank, ENCODER) if cfg.task == "predict" else None
    path, party = Path(cfg.table_of(rank)), party_name(rank)
    table = _read(path, rank, trained, _stamp(path, described(cfg, rank).file, trained))
    if rank or trained:
        return table
    check_task(cfg, table.task)
    if cfg.task == "align":
        return table
    if cfg.active_columns == "none" and table.columns:
        raise ConfigError(
            f"{party}: active-columns is none, and its table has columns to use; say that they are "
            "ignored, or use active-columns = own"
        )
    if cfg.active_columns == "own" and not table.columns:
        raise ConfigError(
            f"{party}: its table has no column beside ids, labels and what is ignored; use "
            "active-columns = none"
        )
    return table


@lru_cache(maxsize=32)
def _kept(folder: Path, written: int) -> Alignment:
    return Alignment.load(folder)


def alignment_of(cfg: RunConfig, rank: int) -> Alignment:
    """Return what a party keeps of the alignment that the run names.

    Raises
    ------
    ConfigError
        If the run names none.
    DataError
        If it was made by more or fewer parties.
    RunError
        If it is missing or damaged.
    """
    if not cfg.alignment:
        raise ConfigError("alignment is empty; name the folder that task = align has filled")
    folder = Path(cfg.alignment) / party_name(rank)
    path = folder / ALIGNMENT
    kept = _kept(folder, path.stat().st_mtime_ns if path.is_file() else 0)
    if kept.parties != cfg.parties:
        raise DataError(
            f"{party_name(rank)}: {path} is an alignment of {kept.parties} parties, and the run "
            f"has {cfg.parties}; align again, or name another alignment"
        )
    return kept


def _aligned(cfg: RunConfig, rank: int) -> tuple[OwnTable, Array, Array]:
    """Return a party's table, its rows in the alignment's order, and which of these train."""
    from vfl_flower.data.splits import rows_of  # it builds on this module

    kept, table = alignment_of(cfg, rank), table_of(cfg, rank)
    if table.digest != kept.table:
        raise DataError(
            f"{party_name(rank)}: {described(cfg, rank).file.name}, or what is said of its ids, "
            "has changed since the tables were aligned; put it back, or align again"
        )
    return table, kept.index, rows_of(cfg, len(kept.index))["train"]


@lru_cache(maxsize=128)  # as columns are, which are made with it
def encoder_of(cfg: RunConfig, rank: int) -> Encoder:
    """Return what makes a party's columns of its table: fitted on the training rows, or kept.

    Raises
    ------
    DataError
        If the table has changed since the alignment, or a column has no value to be fitted on.
    """
    if cfg.task == "predict":
        return Encoder.load(kept_at(cfg, rank, ENCODER))
    table, index, train = _aligned(cfg, rank)
    party = party_name(rank)
    return Encoder.fit(table.features, table.columns, index[train], party, table.ignored)


def columns_of(cfg: RunConfig, rank: int) -> Tensor:
    """Return a party's columns as its network gets them, (n, m) float32; see `encoder_of`."""
    table, index, _ = _aligned(cfg, rank)
    if cfg.active_columns == "none" and rank == 0:
        return torch.empty(len(index), 0)
    encoder = encoder_of(cfg, rank)
    features = table.features[index]
    for name, count in encoder.unseen(features, table.columns).items():
        party_log(rank).info(
            "column %s has a value that no training row had in %d of %d rows; it counts as none of "
            "the known ones",
            *(name, count, len(features)),
        )
    return torch.from_numpy(encoder.apply(features, table.columns))


def all_columns(cfg: RunConfig) -> Tensor:
    """Return all parties' columns side by side: for the central bound only."""
    places = range(cfg.parties - cfg.holders, cfg.parties)
    return torch.cat([columns_of(cfg, rank) for rank in places], dim=1)


def ids_of(cfg: RunConfig) -> Ids:
    """Return the ids of the active party's rows, in the alignment's order."""
    table, index, _ = _aligned(cfg, 0)
    return table.ids.take(index)


def target_of(cfg: RunConfig) -> Target:
    """Return what the labels of the training rows are, or were: the active party's alone.

    Raises
    ------
    DataError
        If a class has no training row, or of numbers there are parts of the rows where all are
        alike.
    """
    if cfg.task == "predict":
        return Target.load(kept_at(cfg, 0, TARGET))
    table, index, train = _aligned(cfg, 0)
    if table.labels is None or table.label is None:
        raise DataError("active: its table has no labels")
    return Target.fit(table.labels, table.label, index[train], "active")


def labels_of(cfg: RunConfig) -> Tensor:
    """Return the labels: (n,) int64, or of a regression float32, standardised; see `target_of`."""
    from vfl_flower.data.splits import rows_of  # it builds on this module

    target = target_of(cfg)
    table, index, _ = _aligned(cfg, 0)
    assert table.labels is not None and table.label is not None  # noqa: S101  a target is made of them
    y = target.apply(table.labels[index], table.label, "active")
    for part, rows in rows_of(cfg, len(y)).items() if target.task == "regression" else ():
        if np.ptp(y[rows]) == 0:
            raise DataError(
                f"active: all {part} rows have the same {table.label.name}, so that no prediction "
                "can be judged; take another seed, or more rows"
            )
    return torch.from_numpy(y)
