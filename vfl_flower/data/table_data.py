"""Aligned rows of the parties' own tables, with encoded columns."""

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from vfl_flower.common.codec import Array
from vfl_flower.common.errors import ConfigError, DataError, RunError
from vfl_flower.common.layout import ALIGNMENT, ENCODER, TARGET, model_of
from vfl_flower.common.names import party_log, party_name
from vfl_flower.config.catalog import MULTI_LABEL, REGRESSION
from vfl_flower.config.run_config import RunConfig
from vfl_flower.config.validation.tasks import check_task
from vfl_flower.data.alignment_record import Alignment
from vfl_flower.data.columns import Labels
from vfl_flower.data.party_data import PartyData, Rows
from vfl_flower.data.preprocessing.encoder import Encoder
from vfl_flower.data.preprocessing.target import Target, task_of
from vfl_flower.data.preprocessing.unseen import unseen_rows
from vfl_flower.data.splitting.columns import split_column
from vfl_flower.data.splitting.record import Split
from vfl_flower.data.splitting.rows import rows_of
from vfl_flower.data.table_columns import encoded_columns, joined
from vfl_flower.data.tables.description import described, described_at
from vfl_flower.data.tables.reader import OwnTable, read_table
from vfl_flower.data.tables.summary import left_out


def _stamp(*paths: Path | None) -> tuple[int, ...]:
    """Fingerprint files, for cache invalidation."""
    there = [path.stat() for path in paths if path and path.is_file()]
    return tuple(part for each in there for part in (each.st_ino, each.st_size, each.st_mtime_ns))


@lru_cache(maxsize=1)  # a party that aligns its table needs it again at once
def _read(
    at: tuple[Path, int, str, str], trained: Path | None, learns: bool, stamp: object
) -> OwnTable:
    encoder = None if trained is None else Encoder.load(trained)
    return read_table(described_at(*at), party_name(at[1]), encoder, learns=learns)


def _kept_at(cfg: RunConfig, rank: int, file: str) -> Path:
    """Return a file of the model folder that a party predicts with."""
    return model_of(Path(cfg.model) / party_name(rank)) / file


def _trained(cfg: RunConfig, rank: int) -> bool:
    """Tell whether a party reads its table as a model's training did."""
    return cfg.predicts or cfg.frozen(rank)


def table_of(cfg: RunConfig, rank: int) -> OwnTable:
    """Return a party's whole table.

    Raises
    ------
    ConfigError
        If its description cannot be used, or the run cannot learn such labels.
    DataError
        If the table cannot be read.
    """
    trained = _kept_at(cfg, rank, ENCODER) if _trained(cfg, rank) else None
    path, party = Path(cfg.table_of(rank)), party_name(rank)
    stamp = _stamp(path, described(cfg, rank).file, trained)
    table = _read((path, rank, cfg.id, cfg.label), trained, not cfg.predicts, stamp)
    if rank or cfg.predicts:
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


class OwnTables:
    """Own tables of the parties of a run.

    Parameters
    ----------
    cfg : RunConfig
        Names the tables and the alignment.
    alignments : mapping of int to Alignment
        By rank; those of other parties are read from their files.
    split : Split, optional
        As the active party has told it, where it alone can split the rows.
    """

    def __init__(
        self, cfg: RunConfig, alignments: Mapping[int, Alignment], split: Split | None = None
    ) -> None:
        self.cfg, self.alignments, self.split = cfg, alignments, split

    def party(self, rank: int, *, labelled: bool = True) -> PartyData:
        """Load the data of one party.

        Raises
        ------
        ConfigError
            If the description of the table cannot be used, or the run cannot learn such labels.
        DataError
            If the table cannot be read, has changed since the alignment, or a column has no value
            to be fitted on.
        RunError
            If the alignment is missing or damaged.
        """
        made = self._party(rank, labelled)
        if self.cfg.task == "train":
            for line in left_out(table_of(self.cfg, rank)):
                party_log(rank).info("%s", line)
        return made.with_noise(self.cfg.noises().get(rank, 0.0), self.cfg.seed)

    def pooled(self, *, labelled: bool = True) -> PartyData:
        """Load all parties' columns side by side, for the central baseline."""
        active, first = self._party(0, labelled), self.cfg.parties - self.cfg.holders
        others = [self._party(rank, labelled).numbers for rank in range(1, self.cfg.parties)]
        return replace(active, x=joined([active.numbers, *others][first:]))

    def size(self, rank: int) -> tuple[int, int]:
        """Return the numbers of rows and classes."""
        kept = self._kept(rank)
        return len(kept.index), kept.classes

    def classes(self) -> tuple[Labels, tuple[str, ...]]:
        """Read each row's class, (N,) int64, and the classes' names."""
        kept, table = self._kept(0), self._table(0)
        check_task(self.cfg, kept.task)
        target = aligned_target(self.cfg, table)
        assert table.labels is not None and table.label is not None  # noqa: S101  as in `_labels`
        coded = target.apply(table.labels[kept.index], table.label, "active")
        return coded.astype(np.int64), target.classes

    def column(self, key: str) -> NDArray[np.float64]:
        """Read the column that a split goes by, (N,)."""
        self._table(0)  # and see that it is the table that was aligned
        return split_column(described(self.cfg, 0), key, "active")[self._kept(0).index]

    def _kept(self, rank: int) -> Alignment:
        return self.alignments.get(rank) or _alignment_of(self.cfg, rank)

    def _table(self, rank: int) -> OwnTable:
        """Return a party's table, if it is the one that was aligned."""
        party, kept, table = party_name(rank), self._kept(rank), table_of(self.cfg, rank)
        if table.digest != kept.table:
            raise DataError(
                f"{party}: {described(self.cfg, rank).file.name}, or what is said of its ids, has "
                "changed since the tables were aligned; put it back, or align again"
            )
        if kept.index.max() >= len(table.ids):
            raise RunError(f"{party}: {ALIGNMENT} is damaged; align the tables again")
        return table

    def _here(self, rank: int) -> NDArray[np.bool_]:
        """Mark the rows of the run that a party has, (N,)."""
        kept, cfg = self._kept(rank), self.cfg
        if kept.partly and not cfg.uses_missing:
            raise DataError(
                f"{party_name(rank)}: its alignment has rows that some party lacks; use "
                "missing-parties = use, or align the tables again"
            )
        if rank and kept.names is None and cfg.uses_missing and cfg.blinded:
            raise DataError(
                f"{party_name(rank)}: its alignment names no rows, whose contributors are to be "
                "kept; align again with missing-parties = use"
            )
        return kept.index >= 0

    def _party(self, rank: int, labelled: bool) -> PartyData:
        """Load the data of one party, without noise."""
        cfg, kept = self.cfg, self._kept(rank)
        check_task(cfg, kept.task)
        table = self._table(rank)
        here, rows = self._here(rank), rows_of(cfg, len(kept.index), self.split)
        encoder = _encoder(cfg, rank, table, kept.index[rows["train"][here[rows["train"]]]])
        features, hidden = table.features[kept.index], cfg.active_columns == "none" and not rank
        x = encoded_columns(cfg, rank, features, table, encoder)
        x[torch.from_numpy(~here)] = 0  # of rows that the party lacks
        unseen = {} if hidden else unseen_rows(encoder, features, table.columns, rank)
        made = PartyData(
            rank=rank,
            x=x,
            rows=rows,
            classes=kept.classes,
            several=kept.task == MULTI_LABEL,
            alignment=kept.nonce,
            encoder=encoder,
            unseen={name: each & here for name, each in unseen.items()},
            presence=(here if rank else kept.presence) if cfg.uses_missing else None,
            keys=kept.keys,
            weights=None if table.weights is None else table.weights[kept.index],
            split=self.split,
        )
        if rank:
            return made
        target = _target(cfg, table, kept.index[rows["train"]])
        if not labelled:
            return replace(made, target=target, ids=table.ids, index=kept.index)
        return replace(made, target=target, y=_labels(table, kept.index, target, rows))


def _alignment_of(cfg: RunConfig, rank: int) -> Alignment:
    """Read a party's part of the alignment that the run names.

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
    kept = Alignment.load(folder)
    if kept.parties != cfg.parties:
        raise DataError(
            f"{party_name(rank)}: {folder / ALIGNMENT} is an alignment of {kept.parties} parties, "
            f"and the run has {cfg.parties}; align again, or name another alignment"
        )
    return kept


def stamp_of(cfg: RunConfig, rank: int) -> tuple[int, ...]:
    """Fingerprint the files of a party's table and alignment, for cache invalidation."""
    path, folder = Path(cfg.table_of(rank)), Path(cfg.alignment) / party_name(rank)
    trained = _kept_at(cfg, rank, ENCODER) if _trained(cfg, rank) else None
    return _stamp(path, described(cfg, rank).file, trained, folder / ALIGNMENT)


def trained_target(cfg: RunConfig) -> Target:
    """Read the target of the model that predicts, or that others join."""
    return Target.load(_kept_at(cfg, 0, TARGET))


def aligned_target(cfg: RunConfig, table: OwnTable) -> Target:
    """Return task and classes of labels that are not split yet.

    Those of the active party's table, or of the model that there is.
    """
    if _trained(cfg, 0):
        return trained_target(cfg)
    assert table.label is not None  # noqa: S101  the description names it
    return Target(task_of(table.label), table.label.values or ())


def _encoder(cfg: RunConfig, rank: int, table: OwnTable, train: Array) -> Encoder:
    """Fit an encoder on the training rows, or load the model's."""
    if _trained(cfg, rank):
        return Encoder.load(_kept_at(cfg, rank, ENCODER))
    return Encoder.fit(table.features, table.columns, train, party_name(rank), table.ignored)


def _target(cfg: RunConfig, table: OwnTable, train: Array) -> Target:
    """Fit the target on the training labels, or load the model's."""
    if _trained(cfg, 0):
        return trained_target(cfg)
    if table.labels is None or table.label is None:
        raise DataError("active: its table has no labels")
    positive = described(cfg, 0).positive
    return Target.fit(table.labels, table.label, train, "active", positive)


def _labels(table: OwnTable, index: Array, target: Target, rows: Rows) -> Tensor:
    """Encode the labels of the run's rows, (n,) or (n, C).

    int64, or of a regression or several labels float32.
    """
    assert table.labels is not None and table.label is not None  # noqa: S101  a target is made of them
    y = target.apply(table.labels[index], table.label, "active")
    for part, each in rows.items() if target.task == REGRESSION else ():
        if len(each) and np.ptp(y[each]) == 0:
            raise DataError(
                f"active: all {part} rows have the same {table.label.name}, so that no prediction "
                "can be judged; take another seed, or more rows"
            )
    return torch.from_numpy(y)
