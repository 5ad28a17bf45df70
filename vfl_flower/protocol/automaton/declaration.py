"""Declaration of a phase: order, count, arrays."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from vfl_flower.common.errors import ProtocolError
from vfl_flower.protocol.automaton.rules import Declared, Numbers, Rows

Kind = Literal[
    "embedding", "logits", "maps", "histogram", "directions", "figure", "sealed", "control"
]
"""Meaning of an array that a passive party sends.

``embedding``, ``logits``, ``maps``
    Made of the party's columns; goes through all upload mechanisms.
``histogram``
    Sums of received numbers over rows, by the values of columns: an upload of whole numbers.
``directions``
    Which rows lie on which side of thresholds of columns: an upload of bits.
``figure``
    A number about its columns, such as an error or an accuracy, which is sent as it is; refused
    where uploads are noised, unless it is derived from them.
``sealed``
    For other passive parties, encrypted under keys that the active party does not have.
``control``
    Says nothing of columns: keys, hashed ids under a secret.
"""

UPLOADS: frozenset[Kind] = frozenset(("embedding", "logits", "maps", "histogram", "directions"))


@dataclass(frozen=True)
class Phase:
    """Declaration of a phase; see `vfl_flower.protocol.components.phase`."""

    training: bool
    after: tuple[str, ...]
    sends: tuple[Kind, ...] = ()
    masked: bool = True
    derived: bool = False
    repeatable: bool = False
    optional: bool = False
    takes: tuple[Declared, ...] = ()
    gives: tuple[Numbers, ...] = ()
    most: int | str | None = None
    between_steps: bool = False
    every_row: bool = False

    @cached_property
    def begins(self) -> bool:
        """Whether it begins a step."""
        return any(isinstance(each, Rows) and each.part == "batch" for each in self.takes)

    @cached_property
    def of_columns(self) -> bool:
        """Whether it uploads columns anew; derived uploads do not."""
        return not self.derived and not UPLOADS.isdisjoint(self.sends)

    @cached_property
    def purpose(self) -> Literal["training", "evaluation"]:
        """Purpose of its upload: training, if its mode or its rows are."""
        parts = {each.part for each in self.takes if isinstance(each, Rows)}
        learns = self.training or not parts.isdisjoint(("batch", "chunk", "train"))
        return "training" if learns else "evaluation"

    @cached_property
    def follows(self) -> frozenset[str]:
        """The phases of which one must have come right before, if any."""
        return frozenset(self.after)

    @cached_property
    def names_rows(self) -> bool:
        """Whether the request begins with row numbers."""
        return bool(self.takes) and isinstance(self.takes[0], Rows)


def check_declared(method: Callable[..., Any], declared: Phase) -> None:
    """Refuse a phase whose arrays are not declared.

    Raises
    ------
    ProtocolError
        Names the phase.
    """
    _, *taken = inspect.signature(method).parameters.values()
    several = any(each.kind is each.VAR_POSITIONAL for each in taken)
    fits = len(declared.takes) >= len(taken) if several else len(declared.takes) == len(taken)
    if not fits:
        raise ProtocolError(
            f"phase '{method.__name__}' takes {len(taken)} arrays and declares "
            f"{len(declared.takes)}; declare each with takes="
        )
    if len(declared.gives) != len(declared.sends):
        raise ProtocolError(
            f"phase '{method.__name__}' sends {len(declared.sends)} values and declares the arrays "
            f"of {len(declared.gives)}; declare each with gives="
        )
