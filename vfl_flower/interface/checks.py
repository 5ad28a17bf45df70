"""Types of arguments from Python, where an annotation alone refuses nothing."""

import os
from collections.abc import Sequence
from numbers import Integral, Real
from pathlib import Path

from vfl_flower.common.errors import ConfigError


def path_of(value: object, name: str) -> Path:
    """Return a path that stays the same when the working folder changes.

    Raises
    ------
    ConfigError
        If it is no text and no path, or empty.
    """
    if not isinstance(value, str | os.PathLike) or value == "":
        raise ConfigError(f"{name} must be the path of a file or a folder, not {value!r}")
    return Path(value).absolute()


def check_number(value: object, name: str, *, whole: bool = False) -> None:
    """Refuse other things than numbers.

    Raises
    ------
    ConfigError
        If it is none, or has to be whole and is not.
    """
    if isinstance(value, bool) or not isinstance(value, Integral if whole else Real):
        raise ConfigError(f"{name} must be a {'whole ' * whole}number, not {value!r}")


def check_text(value: object, name: str) -> None:
    """Refuse other things than texts.

    Raises
    ------
    ConfigError
        Says so.
    """
    if not isinstance(value, str):
        raise ConfigError(f"{name} must be a text, not {value!r}")


def check_tables(tables: object, parties: int = 0) -> None:
    """Refuse other things than a list of the parties' tables.

    Parameters
    ----------
    tables : object
        The caller's.
    parties : int, optional
        How many there must be; 0: two or more.

    Raises
    ------
    ConfigError
        Says what is wanted.
    """
    wanted = "a list with a Table for each party, the active party's first"
    if isinstance(tables, str) or not isinstance(tables, Sequence):
        told = repr(tables) if isinstance(tables, str) else type(tables).__name__
        raise ConfigError(f"tables must be {wanted}, not {told}")
    if len(tables) < 2 or (parties and len(tables) != parties):
        raise ConfigError(
            f"tables must be {wanted}: {len(tables)} given for {parties or 'two or more'} parties"
        )
