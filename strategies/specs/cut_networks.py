"""Checks of networks that are cut in two, which several methods share."""

from vfl_flower.common.errors import ConfigError
from vfl_flower.config.catalog import cut_networks
from vfl_flower.config.options.shared import CutOptions, ViewOptions
from vfl_flower.config.schema import declared_in, kebab
from vfl_flower.config.settings import COMMON, Settings


def check_cut(cfg: Settings, options: CutOptions) -> None:
    """Refuse networks that cannot be cut in two, alike at all parties."""
    if not options.cut:
        raise ConfigError("cut is empty; use auto, or name where networks are cut, as in 2C+1M")
    if options.width != 1 and ":" in cfg.models:
        raise ConfigError(f"width is {options.width:g}, and the widths of {cfg.models} are its own")
    if not options.cut_at:
        return
    models = {cfg.listed_model(rank) for rank in range(cfg.parties)}
    fit = len(models) == 1 and all(":" in name or name in cut_networks() for name in models)
    if not fit:
        raise ConfigError(
            f"models is {cfg.models}, and {cfg.method} needs one network for all parties that can "
            f"be cut in two: {', '.join(cut_networks())}, or your own package.module:Class"
        )
    for key in ("weights", "top_layers"):
        value, default = getattr(cfg, key), COMMON[key].default
        if value != default:
            raise ConfigError(
                f"{kebab(key)} is {value!r}, which networks that are cut in two do not take; use "
                f"{default!r}"
            )


def check_views(cfg: Settings, options: ViewOptions) -> None:
    """Refuse an augmentation of views that nobody sees."""
    (default,) = (each.default for each in declared_in(ViewOptions) if each.name == "augment")
    if options.augment != default and options.views == 1:
        raise ConfigError("augment would change nothing: there is one view, of rows as they are")
