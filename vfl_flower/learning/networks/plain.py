"""Users' networks: whole ones, and plain modules as bottom models."""

import inspect
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import torch
from torch import Tensor, nn

from vfl_flower.common.errors import NetworkError, last_line
from vfl_flower.learning.networks.base import Build, Shape, head, trying

_CONTRACT = (
    "a network is a torch.nn.Module whose forward makes embeddings (rows, any width), or one with "
    "embed, (rows, D), and decide, (rows, C); or a class or function that makes one of "
    "(shape of a row, D, C), or of the first of these, as many as it has parameters without default"
)


class PlainNet(nn.Module):
    """A plain module as bottom model, with the usual top model.

    Parameters
    ----------
    bottom : nn.Module
        (B, ...) -> (B, M).
    found, width, classes : int
        M; D, to which a linear layer maps embeddings of another width; C.
    """

    def __init__(self, bottom: nn.Module, found: int, width: int, classes: int) -> None:
        super().__init__()
        fits = found == width
        self.embed = bottom if fits else nn.Sequential(bottom, nn.Linear(found, width))
        self.decide = head(width, classes)


def adapted(given: Any, name: str) -> Build:  # noqa: ANN401
    """Return the constructor of a user's network.

    Parameters
    ----------
    given : nn.Module, class or function
        A module is copied for each use, with its weights.
    name : str
        For errors.

    Raises
    ------
    NetworkError
        If it is no network; the text says what one is. The constructor raises it too.
    """
    make: Callable[..., Any]
    if isinstance(given, nn.Module):
        make = lambda shape, width, classes: deepcopy(given)  # noqa: E731
    elif callable(given):
        make = _called(given, name)
    else:
        raise NetworkError(f"network '{name}' is of type {type(given).__name__}; {_CONTRACT}")

    def build(shape: Shape, width: int, classes: int) -> nn.Module:
        net = make(shape, width, classes)
        halves = [half for half in ("embed", "decide") if hasattr(net, half)]
        if not isinstance(net, nn.Module) or len(halves) == 1:
            has = f"has {halves[0]} alone" if halves else f"is of type {type(net).__name__}"
            raise NetworkError(f"network '{name}' {has}; {_CONTRACT}")
        if halves:
            return net
        return PlainNet(net, _width(net, name, shape), width, classes)

    return build


def _called(make: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Pass as many of three arguments as a callable wants."""
    if hasattr(make, "embed") and hasattr(make, "decide"):
        return make
    try:
        parameters = inspect.signature(make).parameters.values()
    except (TypeError, ValueError):  # of some built-in callables
        return make
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    wanted = sum(each.kind in positional and each.default is each.empty for each in parameters)
    if wanted > 3:
        raise NetworkError(f"network '{name}' wants {wanted} arguments; {_CONTRACT}")
    return lambda *arguments: make(*arguments[:wanted])


def _width(net: nn.Module, name: str, shape: Shape) -> int:
    """Return the width of a plain module's output for two empty rows.

    Raises
    ------
    NetworkError
        If it fails, or its output is no matrix of two rows.
    """
    try:
        with trying(net):
            made = net(torch.zeros(2, *shape))
    except Exception as error:  # whatever a user's network raises
        text = f"network '{name}' failed on two rows of shape {shape}; {_CONTRACT}"
        raise NetworkError(text, last_line(error)) from error
    if not isinstance(made, Tensor) or made.ndim != 2 or len(made) != 2:
        shown = tuple(made.shape) if isinstance(made, Tensor) else type(made).__name__
        raise NetworkError(
            f"the forward of network '{name}' gives {shown} for two rows, and must give (2, any "
            f"width); {_CONTRACT}"
        )
    return int(made.shape[1])
