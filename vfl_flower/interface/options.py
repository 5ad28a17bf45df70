"""Options of a run as Python values."""

import os
from collections.abc import Mapping
from typing import Any

from vfl_flower.common.errors import ConfigError
from vfl_flower.config.registry import method_options
from vfl_flower.config.schema import declaration, kebab
from vfl_flower.config.settings import COMMON
from vfl_flower.interface.models import names_of

_SET_BY_DATA = ("task", "tables", "dataset", "id", "label")
"""Options that the data set, or the function, says."""


def values_of(options: Mapping[str, Any]) -> dict[str, Any]:
    """Convert keywords to values of options; None means the default.

    Networks get names. A list becomes a comma list, a number for an option of text its digits, a
    NumPy number Python's, and a path its text.

    Raises
    ------
    ConfigError
        If one of them is not the caller's to set.
    """
    for name in _SET_BY_DATA:
        if options.get(name) is not None:
            raise ConfigError(f"{name} is no keyword: the first argument says which data are used")
    if options.get("models") is not None:
        options = {**options, "models": names_of(options["models"])}
    known = COMMON | method_options()
    texts = {
        name
        for each in known.values()
        if type(each.default) is str
        for name in (each.name, *declaration(each).further_names())
    }
    return {
        name: _text(value) if name in texts else _number(value)
        for name, value in options.items()
        if value is not None
    }


def changes_of(options: Mapping[str, Any]) -> dict[str, object]:
    """Convert keywords to the changes of a resume, by kebab-case keys."""
    return {kebab(name): value for name, value in values_of(options).items()}


def _text(value: object) -> object:
    """Write lists, numbers and paths as an option's text."""
    if isinstance(value, list | tuple):
        return ",".join(str(_text(each)) for each in value)
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    value = _number(value)
    return value if isinstance(value, bool) or not isinstance(value, int | float) else repr(value)


def _number(value: object) -> object:
    """Return a NumPy number as Python's."""
    item = getattr(value, "item", None)
    return item() if callable(item) and getattr(value, "shape", None) == () else value
