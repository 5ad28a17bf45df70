"""Names with arguments, as in ``sgd:momentum=0.9:nesterov=true``.

A colon separates arguments, a slash the numbers of a pair; commas stay between parties.
"""

import math
from collections.abc import Mapping
from typing import NamedTuple

from vfl_flower.common.errors import ConfigError

Value = bool | float | tuple[float | None, ...]


class Argument(NamedTuple):
    """An argument's default and limits.

    Attributes
    ----------
    default : bool, float or tuple of float
        Of the kind that every value must have; None in a tuple is written ``none``.
    least, most : float
        Inclusive limits of each number.
    above, below : float
        Exclusive limits of each number.
    """

    default: Value
    least: float = -math.inf
    most: float = math.inf
    above: float = -math.inf
    below: float = math.inf

    def read(self, text: str) -> Value:
        """Return the value that a text stands for.

        Raises
        ------
        ValueError
            If it is of another kind, or outside the limits; the text says which are right.
        """
        if isinstance(self.default, bool):
            if text not in ("true", "false"):
                raise ValueError("true or false")
            return text == "true"
        if not isinstance(self.default, tuple):
            return self._number(text)
        parts = text.split("/")
        if len(parts) != len(self.default):
            raise ValueError(f"{len(self.default)} numbers with a slash, as in {self.shown()}")
        return tuple(
            None if default is None and part == "none" else self._number(part)
            for part, default in zip(parts, self.default, strict=True)
        )

    def shown(self) -> str:
        """Return the default as it is written."""
        if isinstance(self.default, bool):
            return str(self.default).lower()
        numbers = self.default if isinstance(self.default, tuple) else (self.default,)
        return "/".join("none" if each is None else f"{each:g}" for each in numbers)

    def _number(self, text: str) -> float:
        """Return a finite number within the limits."""
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        within = self.least <= number <= self.most and self.above < number < self.below
        if not (math.isfinite(number) and within):
            raise ValueError(" and ".join(["a number", *self._limits()]))
        return number

    def _limits(self) -> list[str]:
        """Return the limits in words."""
        limits = (
            *(("at least", self.least), ("above", self.above)),
            *(("at most", self.most), ("below", self.below)),
        )
        return [f"{words} {limit:g}" for words, limit in limits if math.isfinite(limit)]


def read_arguments(key: str, text: str, taken: Mapping[str, Argument]) -> dict[str, Value]:
    """Read the arguments behind a name.

    Parameters
    ----------
    key : str
        The option, for messages.
    text : str
        ``name:argument=value:...``.
    taken : mapping
        Arguments that the name takes.

    Returns
    -------
    dict
        The values that are given.

    Raises
    ------
    ConfigError
        Lists all arguments that the name takes, with their defaults.
    """
    name, *given = text.split(":")
    known = ", ".join(f"{each}={argument.shown()}" for each, argument in taken.items())
    values: dict[str, Value] = {}
    for entry in given:
        argument, equals, value = entry.partition("=")
        if argument not in taken or not equals or argument in values:
            wrong = "twice" if argument in values else "which it does not take"
            raise ConfigError(
                f"{key}: '{text}' gives {name} '{entry}', {wrong}; it takes {known}, each as "
                "argument=value with a colon before it"
            )
        try:
            values[argument] = taken[argument].read(value)
        except ValueError as error:
            raise ConfigError(
                f"{key}: '{text}': {argument} must be {error}, not '{value}'; {name} takes {known}"
            ) from error
    return values
