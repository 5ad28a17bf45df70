"""Check of options that list a value for each party."""

from collections.abc import Callable

from vfl_flower.common.errors import ConfigError
from vfl_flower.config.schema import kebab, split_list
from vfl_flower.config.settings import Settings


def check_list(cfg: Settings, key: str, check_entry: Callable[[str], None] | None = None) -> None:
    """Refuse lists of a wrong length, or with a wrong entry.

    Raises
    ------
    ConfigError
        Names the option.
    """
    entries = split_list(getattr(cfg, key))
    if len(entries) not in (1, cfg.parties):
        raise ConfigError(
            f"{kebab(key)} lists {len(entries)} values for {cfg.parties} parties; give one for "
            "all, or one for each, the active party's first"
        )
    for entry in entries if check_entry else ():
        check_entry(entry)  # type: ignore[misc]
