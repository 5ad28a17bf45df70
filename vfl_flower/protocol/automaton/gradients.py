"""Declarations of gradients and of activations, for defences of gradients.

A run with a defence changes the arrays of `Gradient` and `Gradients`. It sends no array to a phase
of training that is neither one of these nor harmless: a gradient that a method does not declare as
such is refused, not forgotten.
"""

from dataclasses import dataclass

from vfl_flower.protocol.automaton.rules import Counter, Declared, Numbers, Rows, Several


@dataclass(frozen=True)
class Gradient(Numbers):
    """A gradient of the loss, a row for each sample."""


@dataclass(frozen=True)
class Gradients(Several):
    """Gradients in a layout that the party knows."""


@dataclass(frozen=True)
class Activations(Numbers):
    """Values of a forward pass, such as embeddings."""


def is_gradient(declared: Declared) -> bool:
    """Tell whether arrays are gradients, which a defence changes."""
    return isinstance(declared, Gradient | Gradients)


def is_harmless(declared: Declared) -> bool:
    """Tell whether arrays are rows, counts, bytes or activations."""
    whole = isinstance(declared, Numbers) and declared.layout.kind.kind != "f"
    return whole or isinstance(declared, Rows | Counter | Activations)
