"""Checks of rows that not all parties have."""

from vfl_flower.common.errors import ConfigError
from vfl_flower.config.registry import methods_that
from vfl_flower.config.settings import Settings


def check_missing(cfg: Settings) -> None:
    """Refuse missing parties where sums would be wrong or not hidden."""
    if cfg.row_presence < 1 and cfg.own_tables:
        raise ConfigError(
            f"row-presence is {cfg.row_presence:g}, and with dataset = own the tables say which "
            "rows a party has; leave it at 1"
        )
    if not cfg.uses_missing:
        if cfg.least_parties:
            raise ConfigError(
                f"least-parties is {cfg.least_parties}, and missing-parties is refuse, so that all "
                "must have a row; use missing-parties = use"
            )
        if cfg.draws_subsets:
            raise ConfigError(
                "subset-training is on, and missing-parties is refuse, so that all parties add to "
                "each row; use missing-parties = use"
            )
        return
    if cfg.spec.alone:  # nobody sends anything
        return
    if reason := _unable(cfg):
        why, remedy = reason
        raise ConfigError(f"missing-parties is use, and {why}; use {remedy}")
    passive = cfg.parties - 1
    if cfg.least_present > passive:
        raise ConfigError(
            f"{cfg.least_present} passive parties must have a row, and there are {passive}; "
            "change least-parties, or use missing-parties = refuse"
        )


def _unable(cfg: Settings) -> tuple[str, str] | None:
    """Return why rows need all parties in a run, and the remedy."""
    if not cfg.spec.allows_missing:
        able = methods_that(lambda spec: spec.allows_missing)
        return f"{cfg.method} needs something of every party for each row", f"one of {able}"
    if cfg.options.share_asked < 1:
        return "a round asks some of the parties alone", "participation = 1"
    if cfg.blinded and cfg.colluding_share < 1:
        why = f"colluding-share is {cfg.colluding_share:g}, so that not all parties have pair keys"
        return why, "colluding-share = 1"
    for key, changed in (
        ("dp-sigma or target-epsilon", cfg.noised),
        ("share-check", cfg.shares_checked),
        ("embedding-scale", cfg.standardized),
        ("embedding-defence", cfg.embeddings_defended),
    ):
        if changed:
            return f"{key} is set, which counts on all rows at every party", f"no {key}"
    return None
