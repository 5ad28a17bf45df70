"""Schemas of JSON values: required keys and their types."""

import math
from dataclasses import dataclass
from typing import Any

Shape = Any
"""A type (`float` takes finite numbers, `int` whole ones from 0), a list of one shape, a `Named`, a
dict of required keys, or a tuple of alternatives, where None is one."""


@dataclass(frozen=True)
class Named:
    """A dict with any text for keys and one shape for values."""

    each: Shape


def written(number: float) -> float | str:
    """Convert a number to JSON, which has no infinity."""
    return "inf" if math.isinf(number) else number


def fits(value: object, shape: Shape) -> bool:
    """Tell whether a value has a shape; further keys are allowed."""
    if isinstance(shape, tuple):
        return any(fits(value, each) for each in shape)
    if isinstance(shape, Named):
        return isinstance(value, dict) and all(fits(v, shape.each) for v in value.values())
    if isinstance(shape, dict):
        return isinstance(value, dict) and all(
            key in value and fits(value[key], each) for key, each in shape.items()
        )
    if isinstance(shape, list):
        return isinstance(value, list) and all(fits(each, shape[0]) for each in value)
    if shape is float:
        number = isinstance(value, int | float) and not isinstance(value, bool)
        return number and abs(value) < 1e300  # type: ignore[arg-type]  # neither is infinity or NaN
    if shape is int:
        return type(value) is int and 0 <= value < 2**63
    return value is None if shape is None else isinstance(value, shape)
