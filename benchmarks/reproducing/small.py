"""Tiny versions of experiments with made data."""

import re
from functools import cache
from pathlib import Path

import numpy as np

from benchmarks.reproducing.paper import Flags
from vfl_flower.config.dataset_specs import DATASETS, DataSetSpec
from vfl_flower.config.registry import spec_of
from vfl_flower.config.schema import kebab
from vfl_flower.data.columns import Column, Features, Labels, Pixels
from vfl_flower.data.datasets import DataSet, of_parts

MINUTES = 0.03
"""Estimated time of each."""

ROWS = (80, 20)
"""Training and test rows of images, for every `CLASSES` classes or fewer."""

CLASSES = 20

TABLE_ROWS, COLUMNS = 160, 12

LEAST = {
    "epochs": "1",
    "batch-size": "32",
    "local-steps": "2",
    "local-epochs": "1",
    "pretrain-epochs": "1",
    "width": "0.05",
    "eval-every": "0",
}
"""Values of options, where the method has them."""

LIGHT = "cnn"
"""Stands for residual networks."""


def shrunk(flags: Flags) -> dict[str, str]:
    """Return the flags of an experiment's tiny version."""
    options = spec_of(flags["method"]).options
    known = {kebab(name) for name in options.__dataclass_fields__}
    if not options().cut_at and "cut" not in flags:
        known -= {"width"}  # of networks that are cut only
    common = ("epochs", "batch-size", "eval-every")
    taken = {name: value for name, value in LEAST.items() if name in common or name in known}
    kept = {name: value for name, value in flags.items() if name != "train-rows"}
    if "models" in flags:
        kept["models"] = re.sub(r"resnet\d+", LIGHT, flags["models"])
    return kept | taken


def use_made_data() -> None:
    """Let the names of this process's data sets stand for made ones."""
    for name, spec in DATASETS.items():
        if spec.in_data_dir:
            made = IMAGES[name] if spec.images else TABLE
            source = f"{__name__}:{made}"
            DATASETS[name] = DataSetSpec(source, images=spec.images, in_data_dir=False)


def _images(classes: int, *shape: int) -> DataSet:
    """Describe images whose brightness tells the class."""
    counts = [rows * -(-classes // CLASSES) for rows in ROWS]

    def load(*_: Path | bool) -> list[tuple[Pixels, Labels]]:
        rng = np.random.default_rng(0)
        made = []
        for rows in counts:
            labels = rng.permutation(np.arange(rows) % classes)
            noise = rng.integers(0, 100, (rows, *shape))
            bright = (labels * 150 // classes).reshape(-1, *[1] * len(shape))
            made.append(((noise + bright).astype(np.uint8), labels.astype(np.int64)))
        return made

    return of_parts(classes, counts[1], load)


@cache
def _table() -> tuple[Features, Labels]:
    rng = np.random.default_rng(0)
    labels = rng.permutation(np.arange(TABLE_ROWS) % 2).astype(np.int64)
    return (rng.normal(size=(TABLE_ROWS, COLUMNS)) + labels[:, None]).astype(np.float32), labels


GREY = _images(10, 1, 28, 28)
COLOUR = _images(10, 3, 32, 32)
COLOUR_100 = _images(100, 3, 32, 32)
VIEWS = _images(40, 4, 32, 32)
NUMBERS = DataSet(
    2,
    0,
    lambda *_: _table()[0],
    lambda *_: _table()[1],
    columns=lambda *_: tuple(Column(f"c{n}") for n in range(COLUMNS)),
)

TABLE = "NUMBERS"
IMAGES = {
    "mnist": "GREY",
    "fashion-mnist": "GREY",
    "cifar10": "COLOUR",
    "cifar100": "COLOUR_100",
    "cinic10": "COLOUR",
    "modelnet40": "VIEWS",
}
"""Made images, by the data sets that they stand for."""
