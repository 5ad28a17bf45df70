"""Checks of networks, optimizers, learning rates and the loss."""

import re
from collections.abc import Collection

from vfl_flower.common.errors import ConfigError
from vfl_flower.config.catalog import NETWORKS
from vfl_flower.config.optimization.optimizers import check_optimizer
from vfl_flower.config.optimization.schedules import read_schedule
from vfl_flower.config.schema import FLOAT32_MAX, check_name, declared_in, kebab
from vfl_flower.config.settings import Settings
from vfl_flower.config.validation.lists import check_list

OWN_NETWORK = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")
"""A user's network: ``package.module:Class``."""


def check_lists(cfg: Settings) -> None:
    """Refuse unknown networks, optimizers and schedules, and wrong learning rates."""
    if cfg.models != "mixed":
        check_list(cfg, "models", _check_model)
    check_list(cfg, "weights")
    check_list(cfg, "optimizers", check_optimizer)
    read_schedule(cfg.schedule)
    check_list(cfg, "learning_rates", check_rate)
    if cfg.spec.network and cfg.top_layers > 1:
        raise ConfigError(
            f"top-layers is {cfg.top_layers}, and {cfg.method} has {cfg.spec.network} networks; "
            "use 0"
        )


def check_unused(cfg: Settings) -> None:
    """Refuse options of all methods that this one has no use for."""
    check_usual(cfg, cfg.spec.unused, f"{cfg.method} has no use for it")
    if cfg.spec.own_decisions and cfg.active_columns == "none" and cfg.top_layers:
        raise ConfigError(
            f"top-layers is {cfg.top_layers}, and would change no network of {cfg.method}: it is "
            "of the active party's decision net, which it has not with active-columns = none; use 0"
        )


def check_usual(cfg: Settings, names: Collection[str], why: str) -> None:
    """Refuse values of options that would change nothing.

    Parameters
    ----------
    cfg : Settings
        The run's configuration.
    names : collection of str
        Options of all methods, by field name.
    why : str
        Why they would change nothing.

    Raises
    ------
    ConfigError
        Names the first that is not as usual.
    """
    for each in declared_in(cfg):
        value = getattr(cfg, each.name)
        if each.name in names and value != each.default:
            raise ConfigError(
                f"{kebab(each.name)} is {value}, and would change nothing: {why}; leave it at "
                f"{each.default}"
            )


def check_weights(cfg: Settings, weighted: bool | None = None) -> None:
    """Refuse weights of rows where labels are given away, or private.

    Parameters
    ----------
    cfg : Settings
        The run's configuration.
    weighted : bool, optional
        Whether rows have weights; unless given, whether the run expects some.

    Raises
    ------
    ConfigError
        Says why.
    """
    if not (cfg.largest_weight > 1 if weighted is None else weighted):
        return
    told = "rows have weights (weight of the active party's description, largest-weight)"
    if cfg.labels_given:
        raise ConfigError(
            f"{told}, and with {cfg.method} passive parties learn by themselves from labels that "
            "they are given; remove the weights, or use another method"
        )
    if cfg.label_noise:
        raise ConfigError(
            f"{told}, which may tell the labels, and label-privacy is {cfg.label_noise}: "
            "label-epsilon would not be true; remove the weights, or use label-privacy = none"
        )


def _check_model(entry: str) -> None:
    if "." in entry and not OWN_NETWORK.fullmatch(entry):
        raise ConfigError(
            f"unknown model '{entry}'; a network of your own is written package.module:Class"
        )
    if not OWN_NETWORK.fullmatch(entry):
        check_name("models", entry, NETWORKS, listed=True)


def check_rate(entry: str, key: str = "learning-rates") -> None:
    """Refuse a learning rate that is not finite and positive, or auto.

    Raises
    ------
    ConfigError
        Names the option.
    """
    try:
        good = entry == "auto" or 0 < float(entry) <= FLOAT32_MAX
    except ValueError:
        good = False
    if not good:
        raise ConfigError(f"{key} must be finite and positive, or auto, not '{entry}'")
