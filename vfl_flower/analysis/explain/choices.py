"""Rows and repetitions of an explanation."""

from vfl_flower.common.errors import ConfigError
from vfl_flower.config.schema import choices

PARTS = ("validation", "test")
REPEATS, MOST_REPEATS = 10, 1000


def check_choices(part: str, repeats: int) -> None:
    """Refuse rows that no explanation has, and too few or many repetitions.

    Raises
    ------
    ConfigError
        Says which.
    """
    if part not in PARTS:
        raise ConfigError(f"unknown rows '{part}'{choices(part, PARTS)}")
    if not 0 < repeats <= MOST_REPEATS:
        raise ConfigError(f"repeats must be 1 to {MOST_REPEATS}, not {repeats}")
