"""Vocabulary of a phase's arrays, in request and reply.

=============  ==================================================================================
`rows`         row numbers: of the step, of a part of the split, or to be predicted
`floats`       finite numbers, in a range if it is said
`activations`  the same, of a forward pass
`gradient`     finite numbers, the loss's gradient; a defence of gradients changes them
`gradients`    the same, in a layout that a method of the party returns
`integers`     whole numbers, in a range if it is said
`number`       one whole number, such as an epoch
`octets`       bytes: keys, salts, digests
`labels`       training labels as the run publishes them
`weights`      the weights of a network that the party has
`messages`     arrays in a layout that a method of the party returns
=============  ==================================================================================

Lengths are numbers or symbols: B rows of the request, D embedding width, C classes, K passive
parties, N training rows, V validation rows. Any other symbol is free in each request.
"""

from vfl_flower.protocol.automaton.gradients import Activations, Gradient, Gradients
from vfl_flower.protocol.automaton.rules import (
    Bounded,
    Counter,
    Declared,
    Labels,
    Layout,
    Numbers,
    Part,
    Rows,
    Several,
)
from vfl_flower.protocol.automaton.scope import Size


def rows(part: Part) -> Rows:
    """Declare row numbers, int32, each once.

    ``batch``: those of the step. ``train``, ``validation``: all of that part. ``held-out``:
    validation or test rows, in a prediction any. ``chunk``: training rows of one message.
    """
    return Rows(part)


def floats(
    *shape: Size,
    low: float | None = None,
    high: float | None = None,
    most: str = "",
    name: str = "",
) -> Numbers:
    """Declare finite float32 numbers.

    Parameters
    ----------
    *shape : int or str
        Lengths.
    low, high : float, optional
        Their range.
    most : str, optional
        Path to the party's attribute that is `high` in its run; `low` is its negative unless said.
    name : str, optional
        For readers.
    """
    layout = Layout("float32", shape)
    return Bounded(layout, low, name=name, most=most) if most else Numbers(layout, low, high, name)


def activations(
    *shape: Size, low: float | None = None, high: float | None = None, name: str = ""
) -> Activations:
    """Declare float32 numbers of a forward pass, such as embeddings."""
    return Activations(Layout("float32", shape), low, high, name)


def gradient(*shape: Size, name: str = "") -> Gradient:
    """Declare a gradient of the loss, float32, a row for each sample."""
    return Gradient(Layout("float32", shape), name=name)


def gradients(name: str, path: str) -> Gradients:
    """Declare gradients whose layout a method of the party returns."""
    return Gradients(name, path)


def integers(
    *shape: Size,
    dtype: str = "int64",
    low: float | None = None,
    high: float | None = None,
    name: str = "",
) -> Numbers:
    """Declare whole numbers, in a range if it is said."""
    return Numbers(Layout(dtype, shape), low, high, name)


def number(below: str = "", following: str = "") -> Declared:
    """Declare one whole number from 0 on, int64.

    Parameters
    ----------
    below : str
        Path to the party's attribute that is the limit, such as ``options.views``.
    following : str
        Path to the attribute that is the number due, or None where any is.
    """
    return Counter(below, following) if below else integers(low=0)


def octets(*shape: Size, name: str = "") -> Numbers:
    """Declare bytes."""
    return Numbers(Layout("uint8", shape), name=name)


def labels(size: Size) -> Labels:
    """Declare training labels as the run publishes them."""
    return Labels(size)


def weights(name: str, path: str) -> Several:
    """Declare the weights of a network, or a list of tensors."""
    return Several(name, path)


def messages(name: str, path: str) -> Several:
    """Declare arrays whose layout a method of the party returns."""
    return Several(name, path)
