"""Search spaces of options, as they are written: choices and ranges.

``embedding-dim=16,32,64``, ``learning-rates=log:1e-4..1e-1``, ``models=mlp|mlp,mlp,cnn,cnn``.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import Field, dataclass
from typing import Any, Protocol

from vfl_flower.common.errors import ConfigError
from vfl_flower.config.registry import method_options
from vfl_flower.config.schema import (
    FLOAT32_MAX,
    Scalar,
    check_name,
    declaration,
    kebab,
    split_list,
)
from vfl_flower.config.settings import COMMON

_LOG = "log:"
_FORM = "write choices, as in 16,32,64, or a range, as in 0.1..0.5 or log:1e-4..1e-1"
_DIGITS = 4
"""Significant digits of a number that is drawn from a range."""


class Trial(Protocol):
    """Part of Optuna's trial that draws values."""

    def suggest_categorical(self, name: str, choices: Any) -> Any: ...  # noqa: ANN401, D102
    def suggest_int(self, name: str, low: int, high: int, *, log: bool) -> int: ...  # noqa: D102
    def suggest_float(self, name: str, low: float, high: float, *, log: bool) -> float: ...  # noqa: D102


class Space(Protocol):
    """Values that one option may have."""

    def first(self) -> Scalar:
        """Return one of them."""

    def drawn(self, trial: Trial, key: str) -> Scalar:
        """Return the one that a trial has."""

    def all(self) -> tuple[Scalar, ...]:
        """Return every value; nothing if they are not listed."""


@dataclass(frozen=True)
class Choices:
    """Single values."""

    values: tuple[Scalar, ...]

    def first(self) -> Scalar:
        """Return the first one."""
        return self.values[0]

    def drawn(self, trial: Trial, key: str) -> Scalar:
        """Return the choice of a trial."""
        value: Scalar = trial.suggest_categorical(key, self.values)
        return value

    def all(self) -> tuple[Scalar, ...]:
        """Return the choices."""
        return self.values


@dataclass(frozen=True)
class Range:
    """All numbers between two, both included.

    Attributes
    ----------
    low, high : float
    log : bool
        Whether their logarithm is drawn evenly.
    kind : type
        Of the option: int, float, or str for one that takes other words too.
    """

    low: float
    high: float
    log: bool
    kind: type

    def first(self) -> Scalar:
        """Return the lower end."""
        return self._written(self.low)

    def drawn(self, trial: Trial, key: str) -> Scalar:
        """Return the number of a trial, short enough to be read."""
        if self.kind is int:
            return trial.suggest_int(key, int(self.low), int(self.high), log=self.log)
        return self._written(trial.suggest_float(key, self.low, self.high, log=self.log))

    def all(self) -> tuple[Scalar, ...]:
        """Return nothing: a range is drawn from."""
        return ()

    def _written(self, number: float) -> Scalar:
        if self.kind is int:
            return int(number)
        short = min(max(float(f"{number:.{_DIGITS}g}"), self.low), self.high)
        return short if self.kind is float else f"{short:g}"


def spaces_of(texts: Iterable[str]) -> dict[str, str]:
    """Split ``name=space`` into names and spaces.

    Raises
    ------
    ConfigError
        If there is none, one has no name, or one comes twice.
    """
    found: dict[str, str] = {}
    for text in texts:
        key, equals, space = text.partition("=")
        if not equals:
            raise ConfigError(f"--over must be NAME=SPACE, not '{text}'; {_FORM}")
        if key in found:
            raise ConfigError(f"--over names {key} twice")
        found[key] = space
    if not found:
        raise ConfigError(f"--over is missing: name an option, and {_FORM}")
    return found


def present_spaces(over: Mapping[str, str]) -> dict[str, str]:
    """Return search spaces by the present names of their options.

    Raises
    ------
    ConfigError
        If one option comes under two names.
    """
    known = (COMMON | method_options()).values()
    names = {
        kebab(n): kebab(each.name) for each in known for n in declaration(each).further_names()
    }
    made: dict[str, str] = {}
    for key, text in over.items():
        name = names.get(key, key)
        if name in made:
            raise ConfigError(f"over names {name} twice, once by its second name; name it once")
        made[name] = text
    return made


def read_space(key: str, text: str) -> Space:
    """Read the space of one option.

    Raises
    ------
    ConfigError
        If there is no such option, it says where a run happens and not what it is, or the space is
        none for its type.
    """
    fields = {kebab(name): each for name, each in (COMMON | method_options()).items()}
    check_name("over", key, fields)
    each = fields[key]
    if declaration(each).circumstance or key == "task":
        raise ConfigError(f"over: {key} is not what a run is; set it for the whole sweep")
    kind = type(each.default)
    if ".." in text and kind is not bool:
        return _range(key, text, kind)
    listed = [part.strip() for part in text.split("|") if part] if "|" in text else split_list(text)
    return Choices(tuple(dict.fromkeys(_value(each, key, entry) for entry in listed)))


def _range(key: str, text: str, kind: type) -> Range:
    """Read a range of numbers."""
    log = text.startswith(_LOG)
    number = int if kind is int else float
    try:
        low, high = (number(end) for end in text.removeprefix(_LOG).split(".."))
    except ValueError as error:
        what = "whole numbers" if kind is int else "numbers"
        raise ConfigError(f"over: {key}={text} is no range of {what}; {_FORM}") from error
    if not (-FLOAT32_MAX <= low < high <= FLOAT32_MAX) or (log and low <= 0):
        above = ", both above 0" if log else ""
        raise ConfigError(f"over: {key}={text}: the first end must be below the second{above}")
    return Range(low, high, log, kind)


def _value(each: "Field[Any]", key: str, entry: str) -> Scalar:
    """Read one choice in the option's type."""
    kind: type[Any] = type(each.default)
    declared = declaration(each)
    for name in (split_list(entry) if declared.listed else [entry]) if declared.choices else ():
        check_name(key, name, declared.choices)
    if kind is bool:
        if entry not in ("true", "false"):
            raise ConfigError(f"over: {key} takes true and false, not '{entry}'")
        return entry == "true"
    try:
        value: Scalar = kind(entry)
    except ValueError as error:
        raise ConfigError(f"over: {key} takes {kind.__name__}, not '{entry}'; {_FORM}") from error
    if kind is float and not math.isfinite(float(value)):
        raise ConfigError(f"over: {key} takes finite numbers, not '{entry}'")
    return value
