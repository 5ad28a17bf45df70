"""Checks of data: partition, the active party's columns, noise, class imbalance."""

from vfl_flower.common.errors import ConfigError
from vfl_flower.config.dataset_specs import DATASETS
from vfl_flower.config.optimization.schedules import read_schedule
from vfl_flower.config.registry import methods_that
from vfl_flower.config.settings import COMMON, Settings

MOST_NOISE = 1e6


def check_partition(cfg: Settings) -> None:
    """Refuse unknown partitions, and wrong numbers of shares."""
    kept = len(cfg.partition_spec().kept)
    if kept not in (0, cfg.holders):
        raise ConfigError(
            f"partition keeps {kept} shares, and {cfg.holders} parties are to hold columns; keep "
            "one for each"
        )


def check_active_columns(cfg: Settings) -> None:
    """Refuse an active party without columns where the method needs them."""
    if cfg.active_columns == "none" and not cfg.spec.label_only:
        able = methods_that(lambda spec: spec.label_only)
        raise ConfigError(
            f"active-columns is none, and {cfg.method} needs columns at the active party; methods "
            f"that do not are {able}"
        )


def check_columns(cfg: Settings) -> None:
    """Refuse scales and noise that the parties' columns do not support."""
    _check_pixel_scaling(cfg)
    _check_column_noise(cfg)


def _check_pixel_scaling(cfg: Settings) -> None:
    """Refuse the scale of whole images of other data, and beside noise."""
    if cfg.pixel_scaling == "own":
        return
    given = f"pixel-scaling is {cfg.pixel_scaling}"
    if not DATASETS[cfg.dataset].images:
        raise ConfigError(
            f"{given}, which is for published images, and dataset is {cfg.dataset}; leave it out"
        )
    if cfg.noised:
        raise ConfigError(
            f"{given}: all parties' pixels, and no noise on uploads, say how one's are scaled, so "
            "that its epsilon would not be true; leave it out, or the noise"
        )


def _check_column_noise(cfg: Settings) -> None:
    """Refuse noise on missing columns, or on columns that are not split."""
    for rank, deviation in cfg.noises().items():
        if not cfg.parties - cfg.holders <= rank < cfg.parties:
            raise ConfigError(
                f"column-noise names rank {rank}; parties with columns are at "
                f"{cfg.parties - cfg.holders} to {cfg.parties - 1}"
            )
        if not 0 < deviation <= MOST_NOISE:
            raise ConfigError(
                f"column-noise has deviation {deviation:g} at rank {rank}; take one above 0 and "
                f"up to {MOST_NOISE:g}"
            )
    if cfg.column_noise and cfg.spec.pools:
        raise ConfigError(
            f"column-noise is on single parties' columns, and {cfg.method} has all of them as one; "
            "leave it empty"
        )


def check_held_out(cfg: Settings) -> None:
    """Refuse options that need rows which are not held out."""
    stops = f"stop-drop is {cfg.stop_drop:g}" if cfg.stop_drop else ""
    stops = stops or (cfg.options.stops_early and f"{cfg.options.stops_early} is set")
    looks = "keep is best" if cfg.keep == "best" else stops
    if looks and not cfg.validation:
        raise ConfigError(f"{looks}, and validation is 0; hold rows out for validation")
    if not cfg.test_share and cfg.baselines == "on":
        raise ConfigError("baselines is on, and test-share is 0; they are compared by test rows")


def check_split(cfg: Settings) -> None:
    """Refuse ways to split rows that the data do not support."""
    if cfg.fold_of and cfg.test_share != COMMON["test_share"].default:
        raise ConfigError(
            f"test-share is {cfg.test_share:g}, and fold {cfg.fold} says which rows are test rows; "
            "leave it as it is"
        )
    if cfg.split_spec.column and not cfg.own_tables:
        raise ConfigError(
            f"split is {cfg.split}, and the rows of {cfg.dataset} have no column for it; use "
            f"dataset = own, and name the column as {cfg.split_spec.column} in the active party's "
            "description"
        )


def check_long_tail(cfg: Settings) -> None:
    """Refuse invalid long tails, and those that reveal labels."""
    if cfg.long_tail > 1 and read_schedule(cfg.schedule).needs_steps:
        raise ConfigError(
            "long-tail leaves fewer training rows, and only the active party knows how many: the "
            f"others' schedule = {cfg.schedule} would not come to its end; use schedule = constant"
        )
    if cfg.long_tail > 1 and cfg.label_noise:
        raise ConfigError(
            "long-tail leaves rows out by their true labels, and label-privacy is "
            f"{cfg.label_noise}: label-epsilon would not be true; use label-privacy = none"
        )
