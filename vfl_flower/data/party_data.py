"""What one party holds: its own columns, scaled on the training rows; the split of the rows."""

from functools import lru_cache
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from vfl_flower.common.errors import DataError
from vfl_flower.common.names import party_name
from vfl_flower.config.choices import BINARY, MULTI_CLASS
from vfl_flower.config.run_config import RunConfig
from vfl_flower.data.columns import Columns, Features
from vfl_flower.data.datasets import DATASETS
from vfl_flower.data.partition.schemes import shares_by
from vfl_flower.data.partition.shares import NOTHING, Share, mask_of, take, union
from vfl_flower.data.preprocessing.scaling import check_finite, encoded, noised, scaled
from vfl_flower.data.preprocessing.target import Target
from vfl_flower.data.splits import rows_of


@lru_cache(maxsize=128)  # Flower rebuilds a party for every message; it must not load data anew
def columns_of(cfg: RunConfig, rank: int) -> Tensor:
    """Return one party's columns as its network gets them, (N, ...) float32; 0 is the active's.

    Categories are one-hot, gaps filled, numbers scaled, all by the training rows; then comes the
    noise that ``column-noise`` has for the party.

    Raises
    ------
    DataError
        If the data cannot be had or dealt out, or a column holds NaN or infinity that are no gaps,
        or has nothing but gaps.
    """
    if cfg.own_tables:
        from vfl_flower.data import (
            table_data as own,  # pyarrow is slow to import, and others have no use for it
        )

        x = own.columns_of(cfg, rank)
    else:
        x = _prepared(cfg, shares_of(cfg)[rank], party_name(rank))
    return noised(x, cfg.noises().get(rank, 0.0), cfg.seed, rank)


def all_columns(cfg: RunConfig) -> Tensor:
    """Return everybody's columns as one, prepared likewise: for the central bound only.

    Pixels that no party holds are zeros where images stay images.
    """
    if cfg.own_tables:
        from vfl_flower.data import table_data as own

        return own.all_columns(cfg)
    shares = shares_of(cfg)
    x = _prepared(cfg, union(shares), "all parties")
    if x.ndim == 4:
        held = np.any([mask_of(share, x.shape[1:]) for share in shares], axis=0)
        x[:, ~torch.from_numpy(held)] = 0
    return x


def _prepared(cfg: RunConfig, share: Share, party: str) -> Tensor:
    """Return one share of all rows, prepared by its own training rows."""
    features = features_of(cfg)
    if share is NOTHING:
        return torch.empty(len(features), 0)
    own = take(features, share)
    train = rows_of(cfg, len(own))["train"]
    described = described_of(cfg)
    if described and not isinstance(share, tuple):
        return encoded(own, [described[column] for column in share], train, party)
    check_finite(own, party)
    return scaled(own, train)


@lru_cache(maxsize=4)
def shares_of(cfg: RunConfig) -> list[Share]:
    """Deal the columns out, to all parties or the passive ones.

    A correlation split looks at training rows only.

    Raises
    ------
    DataError
        If they cannot be dealt out so.
    """
    features = features_of(cfg)
    deal, sample = cfg.deal(), features
    if deal.name == "correlation":
        sample = features[rows_of(cfg, len(features))["train"]]
    shares = shares_by(deal, sample, cfg.holders, cfg.seed)
    return [NOTHING] * (cfg.parties - cfg.holders) + shares


def features_of(cfg: RunConfig) -> Features:
    """Return all rows of everybody, unscaled: (N, ...), shared and not to be changed."""
    return _features(cfg.dataset, cfg.data_dir, cfg.download)


def described_of(cfg: RunConfig) -> Columns:
    """Return what a table's columns are; nothing for images."""
    columns = DATASETS[cfg.dataset].columns
    return columns(Path(cfg.data_dir), cfg.download) if columns else ()


def labels_of(cfg: RunConfig) -> Tensor:
    """Return the labels, (N,) int64: the active party's alone; of a regression float32.

    Raises
    ------
    DataError
        If the data cannot be had, a label is none of the classes, or a class has no training row.
    """
    if cfg.own_tables:
        from vfl_flower.data import table_data as own

        return own.labels_of(cfg)
    entry = DATASETS[cfg.dataset]
    labels = entry.labels(Path(cfg.data_dir), cfg.download)
    if strange := sorted({*labels.tolist()} - {*range(entry.classes)}):
        raise DataError(
            f"active: a label is {strange[0]}, and classes are 0 to {entry.classes - 1}"
        )
    train = labels[rows_of(cfg, len(labels))["train"]]
    if absent := sorted({*range(entry.classes)} - {*train.tolist()}):
        raise DataError(
            f"active: no training row is of class {entry.names()[absent[0]]}, so that it cannot be "
            "learnt; take another seed, or more rows"
        )
    return torch.from_numpy(labels)


def classes_of(cfg: RunConfig, rank: int) -> int:
    """Return how many numbers a model predicts: the classes, C, or 1 of a regression.

    Parameters
    ----------
    cfg : RunConfig
        The run's configuration.
    rank : int
        Of the party that asks, 0 for the active one: of own tables, each knows from the alignment.
    """
    if cfg.own_tables:
        from vfl_flower.data import table_data as own

        return own.alignment_of(cfg, rank).classes
    return DATASETS[cfg.dataset].classes


def target_of(cfg: RunConfig) -> Target:
    """Return which task the labels set, and what the classes are called: the active party's alone.

    Raises
    ------
    DataError
        If the labels of own tables cannot be had or learnt.
    """
    if cfg.own_tables:
        from vfl_flower.data import table_data as own

        return own.target_of(cfg)
    names = DATASETS[cfg.dataset].names()
    return Target(BINARY if len(names) == 2 else MULTI_CLASS, names)


@lru_cache(maxsize=1)
def _features(dataset: str, data_dir: str, download: bool) -> Features:
    return DATASETS[dataset].features(Path(data_dir), download)
