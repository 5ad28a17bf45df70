"""Published data sets, split over parties and preprocessed."""

from dataclasses import replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from vfl_flower.common.codec import Array
from vfl_flower.common.errors import DataError
from vfl_flower.common.names import party_name
from vfl_flower.config.catalog import BINARY, MULTI_CLASS
from vfl_flower.config.run_config import RunConfig
from vfl_flower.config.validation.evaluation import check_decides
from vfl_flower.data.byte_rows import ByteRows, Held, scale_of, unit
from vfl_flower.data.columns import Columns, Features, Labels, Pixels
from vfl_flower.data.datasets import dataset_of
from vfl_flower.data.partition.schemes import shares_by
from vfl_flower.data.partition.shares import NOTHING, Share, mask_of, take, union
from vfl_flower.data.party_data import PartyData, Rows
from vfl_flower.data.preprocessing.scaling import Numbers, check_finite, encoded, scaled_by
from vfl_flower.data.preprocessing.target import Target
from vfl_flower.data.splitting.presence import Presence, drawn_presence, tell_gain
from vfl_flower.data.splitting.record import Split
from vfl_flower.data.splitting.rows import rows_of


class PublishedData:
    """Data set of which each party holds a share of the columns.

    Parameters
    ----------
    cfg : RunConfig
        Names the data set, the parties and the partition.
    split : Split, optional
        As the active party has told it, where it alone can split the rows.

    Attributes
    ----------
    stored : ndarray
        All rows with the columns of all parties, as they are published: (N, ...), images as bytes;
        shared and not to be changed.

    Raises
    ------
    DataError
        If the data set cannot be read.
    """

    def __init__(self, cfg: RunConfig, split: Split | None = None) -> None:
        self.cfg, self.entry, self.split = cfg, dataset_of(cfg.dataset), split
        self.stored: Features = _features(cfg.dataset, cfg.data_dir, cfg.download)

    @cached_property
    def described(self) -> Columns:
        """Columns of a table; nothing for images."""
        columns = self.entry.columns
        return columns(Path(self.cfg.data_dir), self.cfg.download) if columns else ()

    @cached_property
    def rows(self) -> Rows:
        """The split of all rows."""
        return rows_of(self.cfg, len(self.stored), self.split)

    @cached_property
    def presence(self) -> Presence | None:
        """Simulated presence of all rows, where rows that parties lack are used."""
        return drawn_presence(self.cfg, len(self.stored)) if self.cfg.uses_missing else None

    def _present(self, rank: int) -> NDArray[np.bool_] | None:
        """Return the presence of rows that a party knows."""
        if self.presence is None or self.cfg.spec.alone:
            return None
        return self.presence[:, rank - 1] if rank else self.presence

    def _train(self, rank: int) -> Array:
        """Return the training rows that a party has."""
        rows, present = self.rows["train"], self._present(rank)
        return rows if present is None or not rank else rows[present[rows]]

    def size(self, rank: int) -> tuple[int, int]:
        """Return the numbers of rows and classes."""
        return len(self.stored), self.entry.classes

    def classes(self) -> tuple[Labels, tuple[str, ...]]:
        """Read each row's class, (N,) int64, and the classes' names."""
        return self._known_labels(), self.entry.names()

    def column(self, key: str) -> NDArray[np.float64]:
        """Refuse: only tables of the parties' own name columns for the split."""
        raise DataError(f"active: {self.cfg.dataset} has no column that is its {key}")

    @cached_property
    def shares(self) -> list[Share]:
        """Columns of each party; a correlation split uses training rows only."""
        cfg, spec, sample = self.cfg, self.cfg.partition_spec(), self.stored
        if spec.name == "correlation":
            sample = unit(sample[self.rows["train"]])
        shares = shares_by(spec, sample, cfg.holders, cfg.seed)
        return [NOTHING] * (cfg.parties - cfg.holders) + shares

    def party(self, rank: int, *, labelled: bool = True) -> PartyData:
        """Prepare the data of one party; see `load_party`."""
        if rank == 0 and (presence := drawn_presence(self.cfg, len(self.stored))) is not None:
            tell_gain(self.cfg, presence)
        share = self.shares[rank]
        x = self._prepared(share, party_name(rank), self._train(rank))
        made = self._data(rank, x, share, labelled)
        return made.with_noise(self.cfg.noises().get(rank, 0.0), self.cfg.seed)

    def pooled(self, *, labelled: bool = True) -> PartyData:
        """Prepare all parties' columns as one; pixels that nobody holds are zeros."""
        share = union(self.shares)
        x = self._prepared(share, "all parties", self.rows["train"])
        made = self._data(0, x, share, labelled)
        x = made.numbers
        if x.ndim == 4:
            held = np.any([mask_of(each, x.shape[1:]) for each in self.shares], axis=0)
            x[:, ~torch.from_numpy(held)] = 0
        return replace(made, x=x)

    def _data(self, rank: int, x: Held, share: Share, labelled: bool) -> PartyData:
        present = self._present(rank)
        numbered = present is not None and rank
        return PartyData(
            presence=present,
            keys=np.arange(len(self.stored), dtype=np.uint64) if numbered else None,
            rank=rank,
            x=x,
            rows=self.rows,
            classes=self.entry.classes,
            target=None if rank else self._target(),
            y=None if rank or not labelled else self._labels(),
            whole=self.stored.shape[1:],
            share=share,
            split=self.split,
        )

    def _prepared(self, share: Share, party: str, train: Array) -> Held:
        """Scale or encode one share by its training rows."""
        if share is NOTHING:
            return torch.empty(len(self.stored), 0)
        own = take(self.stored, share)
        if self.described and not isinstance(share, tuple):
            columns, gaps = [self.described[each] for each in share], self.cfg.spec.keeps_gaps
            return encoded(unit(own), columns, train, party, gaps=gaps)
        if own.dtype != np.uint8 or not isinstance(share, tuple):
            own = unit(own)
            check_finite(own, party)
        whole = self.cfg.pixel_scaling == "whole"
        mean, deviation = self._scale_within(share) if whole else scale_of(own, train)
        if own.dtype == np.uint8:
            return ByteRows.scaled(cast("Pixels", own), mean, deviation)
        return scaled_by(own, mean, deviation)

    @cached_property
    def _scale(self) -> list[Numbers]:
        """Mean and deviation of each pixel's channel in whole images, (1, ...)."""
        whole = 1, *self.stored.shape[1:]
        known = scale_of(self.stored, self.rows["train"])
        return [np.broadcast_to(each, whole).copy() for each in known]

    def _scale_within(self, share: Share) -> tuple[Numbers, ...]:
        """Return mean and deviation of whole images' channels, for a share's pixels."""
        return tuple(cast("Numbers", take(each, share)) for each in self._scale)

    def _target(self) -> Target:
        names = self.entry.names()
        check_decides(self.cfg, BINARY if len(names) == 2 else MULTI_CLASS)
        if len(names) != 2:
            return Target(MULTI_CLASS, names)
        stated = self.entry.positive
        counts = (0, 0) if stated else np.bincount(self._labels()[self.rows["train"]], minlength=2)
        return Target(BINARY, names).with_positive(np.array(counts), stated, "active")

    def _known_labels(self) -> Labels:
        """Read the labels, (N,) int64: known classes."""
        entry = self.entry
        labels = entry.labels(Path(self.cfg.data_dir), self.cfg.download)
        if len(labels) != len(self.stored):
            raise DataError(f"active: {len(labels)} labels for {len(self.stored)} rows of columns")
        if strange := sorted({*labels.tolist()} - {*range(entry.classes)}):
            raise DataError(
                f"active: a label is none of the classes 0 to {entry.classes - 1}",
                str(strange[0]),
            )
        return labels

    def _labels(self) -> Tensor:
        """Read the labels, (N,) int64: known classes, each with a training row."""
        entry, labels = self.entry, self._known_labels()
        if absent := sorted({*range(entry.classes)} - {*labels[self.rows["train"]].tolist()}):
            raise DataError(
                "active: no training row is of one of the classes, so that it cannot be learnt; "
                "take another seed, or more rows",
                entry.names()[absent[0]],
            )
        return torch.from_numpy(labels)


@lru_cache(maxsize=1)  # parties, baselines and further seeds share the rows that were read
def _features(dataset: str, data_dir: str, download: bool) -> Features:
    return dataset_of(dataset).features(Path(data_dir), download)
