"""Made features, and their partition."""

import numpy as np

from vfl_flower.config.partition_spec import PartitionSpec
from vfl_flower.data.columns import Features
from vfl_flower.data.partition.schemes import shares_by
from vfl_flower.data.partition.shares import Share, take


def table(rows: int, width: int) -> Features:
    return np.random.default_rng(0).normal(3, 5, (rows, width)).astype(np.float32)


def image(rows: int, *shape: int) -> Features:
    return np.random.default_rng(0).normal(3, 5, (rows, *shape)).astype(np.float32)


def deal(text: str, features: Features, parties: int, seed: int = 0) -> list[Share]:
    return shares_by(PartitionSpec.read(text), features, parties, seed)


def dealt(text: str, features: Features, parties: int, seed: int = 0) -> list[Features]:
    return [take(features, share) for share in deal(text, features, parties, seed)]
