"""Checks of parties that join a trained model."""

from vfl_flower.common.errors import ConfigError
from vfl_flower.config.registry import methods_that
from vfl_flower.config.settings import Settings


def check_joining(cfg: Settings) -> None:
    """Refuse new parties where the others cannot stay as they are."""
    if not cfg.joins:
        return
    joining = f"new-parties is {cfg.new_parties}"
    if not cfg.spec.joins:
        able = methods_that(lambda spec: spec.joins)
        why = "the others' networks cannot stay as they are: its predictions are no sum of parts"
        if cfg.spec.alone:
            why = "no party sends anything"
        raise ConfigError(f"{joining}, and with {cfg.method} {why}; use one of {able}")
    if cfg.new_parties > cfg.parties - 2:
        raise ConfigError(
            f"{joining}, and there are {cfg.parties} parties, of which the active one and a "
            "passive one at least must be of the model; raise parties, which counts all"
        )
    if not cfg.model:
        raise ConfigError(f"{joining}, and model is empty; name the run that they join")
    if cfg.uses_missing:
        raise ConfigError(
            f"{joining}, and missing-parties is use: a row's sums would be of one set of parties "
            "in the model's run and of another in this one; use missing-parties = refuse"
        )
    if cfg.label_noise and cfg.own_tables:
        raise ConfigError(
            f"{joining}, and labels are noised by {cfg.label_noise}: those of the model are kept "
            "by the rows of its alignment, and labels that are noised once more cost as much again;"
            " use label-privacy = none, or train anew"
        )
