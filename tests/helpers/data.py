"""The parties' columns and labels of a run, for tests and references."""

from torch import Tensor

from vfl_flower.config.run_config import RunConfig
from vfl_flower.data.loading import load_party, run_data


def columns_of(cfg: RunConfig, rank: int) -> Tensor:
    """Load one party's columns, without labels."""
    return load_party(cfg, rank, labelled=False).x


def all_columns(cfg: RunConfig) -> Tensor:
    """Load the columns of all parties as one."""
    return run_data(cfg).pooled(labelled=False).x


def labels_of(cfg: RunConfig) -> Tensor:
    """Load the active party's labels."""
    y = load_party(cfg, 0).y
    assert y is not None
    return y
