"""Seconds of a profiled run by party."""

from collections.abc import Mapping
from typing import Any, NamedTuple

WORK = ("forward", "backward", "masks", "codec")
"""Work with a column of its own."""


class ProfileRow(NamedTuple):
    """Seconds of one party.

    Attributes
    ----------
    party : str
        Its name.
    work : list of float
        In the order of `WORK`.
    other : float
        Rest of its phases: losses, optimizers, checks, and backward passes from a loss.
    waiting : float
        Exchanges in which it did nothing.
    """

    party: str
    work: list[float]
    other: float
    waiting: float


def profile_rows(profile: Mapping[str, Any]) -> list[ProfileRow]:
    """Return a row for each party of a result's ``profile``."""
    return [
        _row(party, kinds["phase"], kinds["work"], profile["exchanges"])
        for party, kinds in profile["parties"].items()
    ]


def _row(
    party: str, phases: Mapping[str, float], work: Mapping[str, float], exchanges: float
) -> ProfileRow:
    """Return one party's row; the codec is outside its phases."""
    columns = [work.get(name, 0.0) for name in WORK]
    within = sum(columns) - work.get("codec", 0.0)
    busy = sum(phases.values()) - phases.get("between exchanges", 0.0) + work.get("codec", 0.0)
    return ProfileRow(
        party, columns, max(sum(phases.values()) - within, 0.0), max(exchanges - busy, 0.0)
    )
