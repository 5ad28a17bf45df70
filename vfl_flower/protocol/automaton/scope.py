"""Public facts of a run: sizes, label format, batch plan."""

from collections.abc import Mapping
from typing import NamedTuple, Protocol

from vfl_flower.config.run_config import RunConfig
from vfl_flower.protocol.automaton.plan import Plan

Size = int | str
"""A length: a number, or a symbol. A symbol that the run does not set is free in each request."""


class LabelFormat(NamedTuple):
    """Wire format of training labels.

    Attributes
    ----------
    dtype : str
        NumPy's name.
    row : tuple of int
        Shape of one label.
    low, high : float
        Range of its numbers: of classes, or of all that the mechanism can be expected to make.
    """

    dtype: str
    row: tuple[int, ...]
    low: float
    high: float


class Scope(Protocol):
    """Interface of a passive party that its automaton sees.

    Attributes
    ----------
    cfg : RunConfig
        The run's configuration.
    plan : Plan or None
        Rows of each step; None without columns.
    """

    cfg: RunConfig
    plan: Plan | None

    def sizes(self) -> Mapping[str, int]:
        """Return the lengths that the run sets, by symbol."""

    def label_format(self) -> LabelFormat:
        """Return the wire format of training labels."""
