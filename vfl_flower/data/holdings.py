"""What one party holds: its own columns, scaled on the training rows; the split of the rows."""

from functools import lru_cache
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from vfl_flower.codec import Array
from vfl_flower.config import RunConfig
from vfl_flower.data.datasets import DATASETS, TEST_SHARE, Features
from vfl_flower.data.partition import PARTITIONS, Share, take, union
from vfl_flower.errors import DataError
from vfl_flower.names import member_name


def rows_of(cfg: RunConfig, total: int) -> dict[str, Array]:
    """Split all rows by seed; every party comes to the same answer.

    Parameters
    ----------
    cfg : RunConfig
        Its seed, data set and share of validation rows.
    total : int
        How many rows there are.

    Returns
    -------
    dict of str to ndarray
        ``train``, ``validation`` and ``test``: int32, disjoint, together all rows.

    Raises
    ------
    DataError
        If a part would be empty, or a batch is larger than the training rows.
    """
    fixed = DATASETS[cfg.dataset].test_rows
    order = np.random.default_rng([cfg.seed, total]).permutation(total - fixed).astype(np.int32)
    drawn = 0 if fixed else round(TEST_SHARE * total)
    validation = round(cfg.validation * (len(order) - drawn))
    test = order[:drawn] if drawn else np.arange(total - fixed, total, dtype=np.int32)
    parts = {
        "train": order[drawn + validation :],
        "validation": order[drawn : drawn + validation],
        "test": test,
    }
    for name, rows in parts.items():
        if len(rows) == 0:
            raise DataError(f"no rows are left for {name}; change validation")
    if cfg.batch_size > len(parts["train"]):
        raise DataError(
            f"batch-size {cfg.batch_size} is more than the {len(parts['train'])} training rows"
        )
    return parts


@lru_cache(maxsize=128)  # Flower rebuilds a party for every message; it must not load data anew
def columns_of(cfg: RunConfig, place: int) -> Tensor:
    """Return the columns of one party, scaled: (N, ...) float32; 0 is the active party.

    Raises
    ------
    DataError
        If the data cannot be had or dealt out, or a column holds NaN or infinity.
    """
    features = features_of(cfg)
    own = take(features, shares_of(cfg)[place])
    check_finite(own, member_name(place))
    return scaled(own, rows_of(cfg, len(own))["train"])


def all_columns(cfg: RunConfig) -> Tensor:
    """Return everybody's columns as one, scaled likewise: for the central bound only."""
    features = features_of(cfg)
    pooled = take(features, union(shares_of(cfg)))
    return scaled(pooled, rows_of(cfg, len(pooled))["train"])


@lru_cache(maxsize=4)
def shares_of(cfg: RunConfig) -> list[Share]:
    """Deal the columns out; a correlation split looks at training rows only.

    Raises
    ------
    DataError
        If they cannot be dealt out so.
    """
    features = features_of(cfg)
    name, argument = cfg.deal()
    sample = features
    if name == "correlation":
        sample = features[rows_of(cfg, len(features))["train"]]
    return PARTITIONS[name].deal(sample, cfg.parties, argument, cfg.seed)


def features_of(cfg: RunConfig) -> Features:
    """Return all rows of everybody, unscaled: (N, ...) float32, shared and not to be changed."""
    return _features(cfg.dataset, cfg.data_dir, cfg.download)


def labels_of(cfg: RunConfig) -> Tensor:
    """Return the labels, (N,) int64: the active party's alone.

    Raises
    ------
    DataError
        If the data cannot be had, or a label is none of the classes.
    """
    entry = DATASETS[cfg.dataset]
    labels = entry.labels(Path(cfg.data_dir), cfg.download)
    if strange := sorted({*labels.tolist()} - {*range(entry.classes)}):
        raise DataError(
            f"active: a label is {strange[0]}, and classes are 0 to {entry.classes - 1}"
        )
    return torch.from_numpy(labels)


def scaled(features: Features, train: Array) -> Tensor:
    """Standardise columns with mean and deviation of the training rows.

    An image has one mean and one deviation per channel, a table one per column; what does not
    vary is centred only.
    """
    axes = (0, 2, 3) if features.ndim == 4 else (0,)
    sample = features[train]
    mean = sample.mean(axes, keepdims=True, dtype=np.float64).astype(np.float32)
    deviation = sample.std(axes, keepdims=True, dtype=np.float64).astype(np.float32)
    deviation[deviation == 0] = 1
    return torch.from_numpy((features - mean) / deviation)


def check_finite(features: Features, party: str) -> None:
    """Refuse NaN and infinity, and name the column.

    Raises
    ------
    DataError
        Names the party, the first bad column and how many there are.
    """
    bad = ~np.isfinite(features).all(axis=0)
    if bad.any():
        first = ", ".join(str(int(i)) for i in np.argwhere(bad)[0])
        where = f"pixel (channel, row, column) = ({first})" if bad.ndim == 3 else f"column {first}"
        others = f", as do {int(bad.sum()) - 1} others" if bad.sum() > 1 else ""
        raise DataError(f"{party}: {where} holds NaN or infinity{others}; clean or impute them")


@lru_cache(maxsize=1)
def _features(dataset: str, data_dir: str, download: bool) -> Features:
    return DATASETS[dataset].features(Path(data_dir), download)
