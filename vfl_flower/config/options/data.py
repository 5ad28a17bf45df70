"""Options of data: location, partition of columns, rows."""

from dataclasses import dataclass

from vfl_flower.config.options.split_specs import SPLITS
from vfl_flower.config.partition_spec import SCHEMES
from vfl_flower.config.schema import option

MOST_TAIL = 1e6


@dataclass(frozen=True, kw_only=True)
class DataOptions:
    """Source, vertical partition and rows."""

    data_dir: str = option(
        "data",
        "folder with data sets as published",
        path="dir",
        circumstance=True,
    )
    download: bool = option(True, "fetch missing images through torchvision", circumstance=True)
    partition: str = option(
        "auto",
        "split of columns: strips[:rows], grid:RxC, columns, overlapping:N, listed:0-3,7;4-6;..., "
        "importance:ALPHA, correlation:BETA; auto: strips of images, columns of tables, unless the "
        "method says otherwise. @0,3-5/14 behind it: of 14 shares only these",
        suggested=SCHEMES,
    )
    active_columns: str = option(
        "own",
        "none: labels only; local is a guess",
        choices=("own", "none"),
    )
    pixel_scaling: str = option(
        "own",
        "scale of pixels: own, or whole images'",
        choices=("own", "whole"),
    )
    column_noise: str = option(
        "",
        "Gaussian noise on parties' scaled columns, rank:deviation, as in 3:0.5,7:10; rank 0 is "
        "the active party. central has none",
    )
    missing_parties: str = option(
        "refuse",
        "rows that some lack: refuse, or use",
        choices=("refuse", "use"),
    )
    least_parties: int = option(0, "passive ones that must have a row", least=0)
    subset_training: str = option(
        "off",
        "steps draw who adds to a row",
        choices=("off", "on"),
    )
    row_presence: float = option(
        1.0,
        "simulated share of rows at a party",
        above=0,
        most=1,
    )
    long_tail: float = option(
        1.0,
        "imbalance ratio of classes that training rows are thinned to; 1: all rows stay",
        least=1,
        most=MOST_TAIL,
    )
    split: str = option(
        "random",
        "how rows are held out: random; stratified by class; grouped, no group in two parts; time, "
        "the latest rows; the last two by a column of the active party's description",
        choices=SPLITS,
    )
    fold: str = option(
        "",
        "test rows are this one of K folds, from 0, as in 0/5, in the place of test-share",
    )
    test_share: float = option(
        0.2,
        "share of rows held out for the test, where a data set has none of its own; 0: none",
        least=0,
        below=1,
    )
    validation: float = option(
        0.1,
        "share of the others, to validate; 0: none",
        least=0,
        below=1,
    )
    train_rows: int = option(0, "training rows, drawn by the seed; 0: all", least=0)
    test_rows: int = option(0, "the same of test rows", least=0)

    @property
    def uses_missing(self) -> bool:
        """Whether rows are used that some passive parties lack."""
        return self.missing_parties == "use"

    @property
    def draws_subsets(self) -> bool:
        """Whether training draws who adds to a row."""
        return self.subset_training == "on"
