"""Rules for the probability from which on the positive class is predicted."""

import math
from typing import NamedTuple

from vfl_flower.common.errors import ConfigError

USUAL = 0.5
"""Threshold at which the likelier class is predicted."""

_FORMS = "0.5 (any number between 0 and 1), f1, recall:0.9 or cost:10:1"


class ThresholdRule(NamedTuple):
    """A threshold, or how validation rows choose one.

    Attributes
    ----------
    name : str
        ``number``; ``f1``: the highest F1; ``recall``: the fewest alarms that find a share of the
        positive rows; ``cost``: the least cost of errors.
    values : tuple of float
        The number; the share; costs of a missed positive row and of a false alarm.
    """

    name: str
    values: tuple[float, ...] = ()

    @property
    def chosen(self) -> bool:
        """Whether validation rows choose it."""
        return self.name != "number"

    @property
    def number(self) -> float:
        """The threshold, until one is chosen."""
        return USUAL if self.chosen else self.values[0]


def read_threshold(text: str) -> ThresholdRule:
    """Read the option `threshold`.

    Raises
    ------
    ConfigError
        If it is none of the forms.
    """
    name, *given = text.split(":")
    try:
        values = tuple(map(float, given if name in ("f1", "recall", "cost") else [text]))
    except ValueError:
        values = ()
    match name, values:
        case "f1", () if not given:
            return ThresholdRule(name)
        case "recall", (share,) if 0 < share <= 1:
            return ThresholdRule(name, values)
        case "cost", (missed, alarm) if 0 < missed < math.inf and 0 < alarm < math.inf:
            return ThresholdRule(name, values)
        case _, (number,) if name not in ("f1", "recall", "cost") and 0 < number < 1:
            return ThresholdRule("number", values)
    raise ConfigError(f"threshold must be {_FORMS}, not '{text}'")
