"""Checks of names and addresses."""

import re

from vfl_flower.common.errors import ConfigError
from vfl_flower.common.layout import ACCOUNTS, USERS
from vfl_flower.config.settings import Settings

NAME = re.compile(r"([A-Za-z0-9_][\w.-]{0,99})?", re.ASCII)
"""A run's name becomes a folder's at every party."""

ADDRESS = re.compile(r"([\w.-]+|\[[0-9A-Fa-f:]+\]):\d{1,5}", re.ASCII)


def check_transport(cfg: Settings) -> None:
    """Refuse names that cannot be folders, and addresses that are none."""
    if not NAME.fullmatch(cfg.run_name):
        raise ConfigError(f"run-name must be letters, digits, . - and _, not '{cfg.run_name}'")
    for key, address in (("listen", cfg.stream_listen), ("advertise", cfg.stream_advertise)):
        if address and not ADDRESS.fullmatch(address):
            raise ConfigError(f"stream-{key} must be host:port, not '{address}'")


def check_free(key: str, name: str) -> None:
    """Refuse the name of a run that state folders use otherwise.

    Raises
    ------
    ConfigError
        Names the option.
    """
    if name.casefold() in (ACCOUNTS, USERS):  # one file, where capitals do not count
        raise ConfigError(f"{key} must not be '{name}', which state folders use; choose another")
