"""Networks by name, split into a bottom (`embed`) and a top (`decide`).

`embed` maps a party's columns to the common width D, `decide` maps D to class logits. All take any
shape of columns that leaves something to convolve; the decision net starts with a ReLU, so that
the global embedding, a mean of linear outputs, meets a non-linearity.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any

from torch import Tensor, nn

from vfl_flower.common.errors import NetworkError, last_line
from vfl_flower.common.names import load_object
from vfl_flower.config.catalog import NETWORKS
from vfl_flower.learning.networks.base import Build, head, trying
from vfl_flower.learning.networks.given import MODULE, found
from vfl_flower.learning.networks.plain import adapted


def network(name: str) -> Build:
    """Find the constructor of a network: built-in, or a user's ``package.module:Class``.

    Raises
    ------
    NetworkError
        If the user's own cannot be imported, or is no network; see `adapted`.
    """
    if ":" in name:
        return adapted(imported(name), name)
    build: Build = load_object(NETWORKS[name].build)
    return build


def top(name: str) -> Callable[[int, int], nn.Module]:
    """Find the builder of a network's top model.

    It takes embedding width and classes. That of a user's own network is the usual one.
    """
    built: Callable[[int, int], nn.Module] = head
    return built if ":" in name else load_object(NETWORKS[name].top)


def imported(name: str) -> Any:  # noqa: ANN401
    """Import a user's own ``package.module:Class``.

    Raises
    ------
    NetworkError
        If it cannot be imported.
    """
    module, _, attribute = name.partition(":")
    if module == MODULE:
        return found(name)
    try:
        return getattr(import_module(module), attribute)
    except Exception as error:  # whatever a user's module raises
        raise NetworkError(
            f"network '{name}' cannot be imported; its folder must be on PYTHONPATH, or its "
            "package installed",
            last_line(error),
        ) from error


def check_halves(
    net: nn.Module, name: str, x: Tensor, width: int, joint: int, classes: int
) -> None:
    """Try both halves of a user's network on some made rows.

    What `decide` takes is `joint` numbers wide: `width`, or that of all embeddings side by side.

    Raises
    ------
    NetworkError
        If they are missing, fail, or give other shapes than (B, D) and (B, C).
    """
    try:
        with trying(net):
            embedding = net.embed(x)  # type: ignore[operator]
            logits = net.decide(embedding.repeat(1, joint // width))  # type: ignore[operator]
        shapes = tuple(embedding.shape), tuple(logits.shape)
    except Exception as error:  # whatever a user's network raises
        raise NetworkError(f"network '{name}' failed on two rows", last_line(error)) from error
    if shapes != ((len(x), width), (len(x), classes)):
        raise NetworkError(
            f"network '{name}' gives shapes {shapes[0]} and {shapes[1]} for two rows; embed must "
            f"give (2, {width}) and decide (2, {classes})"
        )
