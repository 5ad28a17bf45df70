"""Networks by name, split into a bottom (`embed`) and a top (`decide`).

`embed` maps a party's columns to the common width D, `decide` maps D to class logits. All take any
shape of columns that leaves something to convolve; the decision net starts with a ReLU, so that
the global embedding, a mean of linear outputs, meets a non-linearity.
"""

from importlib import import_module
from typing import Any

from torch import Tensor, nn

from vfl_flower.common.errors import NetworkError, last_line
from vfl_flower.common.names import load_object
from vfl_flower.config.catalog import NETWORKS
from vfl_flower.config.run_config import RunConfig
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


def top_model(cfg: RunConfig, rank: int, width: int, classes: int, layers: int) -> nn.Module:
    """Build a top model, of a party's network or the usual one.

    The usual one has a party with a network of its own, or with columns and several layers.

    Parameters
    ----------
    cfg : RunConfig
        The run's.
    rank : int
        The party.
    width, classes : int
        Width of the embeddings that it takes, and C.
    layers : int
        Linear layers; 1 is what the network has.
    """
    name = cfg.listed_model(rank)
    usual = cfg.top_model == "usual" if cfg.blank(rank) else layers > 1
    if usual or ":" in name:
        return head(width, classes, layers)
    spec = NETWORKS[name]
    sizes = (width, classes, layers) if layers > 1 else (width, classes)
    built: nn.Module = load_object(spec.deep if layers > 1 else spec.top)(*sizes)
    return built


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
