"""Checks of parties that have left, or join a trained model."""

from vfl_flower.common.errors import ConfigError
from vfl_flower.config.registry import methods_that
from vfl_flower.config.settings import Settings


def check_left(cfg: Settings) -> None:
    """Refuse unknown leavers, and to go on where `check_goes_on` does.

    A prediction's method and protections are those of its model, which are not known yet.
    """
    if cfg.on_leave == "continue" and not cfg.predicts:
        _check_training(cfg, "on-leave is continue")
        if cfg.draws_subsets:
            raise ConfigError(
                "on-leave is continue, and subset-training is on, whose subsets all parties draw "
                "together from the start; use on-leave = refuse"
            )
    if cfg.left and not cfg.predicts:
        check_goes_on(cfg)


def check_goes_on(cfg: Settings) -> None:
    """Refuse to go on with wrong predictions, or columns not hidden."""
    if not cfg.left:
        return
    if not cfg.spec.leaves_out:
        able = methods_that(lambda spec: spec.leaves_out)
        raise ConfigError(
            f"without is {cfg.without}, and no zeros can stand for one party's uploads in the "
            f"predictions of {cfg.method}; that can be done of {able}"
        )
    if cfg.blinded and not cfg.uses_missing:
        raise ConfigError(
            f"without is {cfg.without}, and the sum with a party less the sum without it is the "
            "party's upload; the parties of this model keep no record of whose sums a row was in: "
            "train with missing-parties = use, which keeps one"
        )
    least = max(cfg.least_present, 1)
    if len(cfg.present) < least:
        raise ConfigError(
            f"without is {cfg.without}, which leaves {len(cfg.present)} passive parties, and "
            f"{least} must be there; train anew"
        )


def check_left_in_training(cfg: Settings) -> None:
    """Refuse to train without a party where that tells columns."""
    if cfg.left:
        _check_training(cfg, f"without is {cfg.without}")


def _check_training(cfg: Settings, given: str) -> None:
    if cfg.blinded:
        raise ConfigError(
            f"{given}, and under masks a step that is repeated without a party would tell its "
            "upload: the sum with it less the sum without it; use blinding = none, or train anew"
        )
    if not cfg.spec.leaves_out or not cfg.asks_all:
        able = methods_that(lambda spec: spec.leaves_out)
        raise ConfigError(
            f"{given}, and {cfg.method} as configured trains with all parties only; that can be "
            f"done of {able}, where every step asks every party"
        )


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
