"""Networks from Python: names, classes, functions and instances."""

import re
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from vfl_flower.common.errors import ConfigError
from vfl_flower.config.schema import split_list
from vfl_flower.config.validation.training import OWN_NETWORK
from vfl_flower.interface.folders import Place
from vfl_flower.learning.networks.given import MODULE, give, give_as

if TYPE_CHECKING:
    from torch import nn

    Model = str | type[nn.Module] | nn.Module | Any
    """A name, a class, an instance, or a function that makes a network."""


def names_of(models: "Model | Sequence[Model]") -> str:
    """Return the option `models` for one network or several."""
    several = models if isinstance(models, list | tuple) else [models]
    return ",".join(each if isinstance(each, str) else _name_of(each) for each in several)


def named(options: Mapping[str, Any], place: Place) -> dict[str, Any]:
    """Return options with names of networks, which a place holds."""
    if options.get("models") is None:
        return dict(options)
    names = names_of(options["models"])
    place.hold(names)
    return {**options, "models": names}


def give_again(names: str, models: "Model | Sequence[Model]") -> None:
    """Give networks under the names that they have in an earlier run.

    Raises
    ------
    ConfigError
        If they are more or fewer than the run has, or a text is another network's name.
    """
    known, several = split_list(names), models if isinstance(models, list | tuple) else [models]
    if len(known) != len(several):
        raise ConfigError(
            f"models has {len(several)} entries, and the run has {len(known)}: {names}"
        )
    for name, each in zip(known, several, strict=True):
        if isinstance(each, str) and each != name:
            raise ConfigError(
                f"models has '{each}', and the run has '{name}' there; give the same network, "
                "itself if it was an object"
            )
        if name.startswith(f"{MODULE}:") and not isinstance(each, str):
            give_as(name, each)


def _name_of(network: Any) -> str:  # noqa: ANN401
    """Return a class's import path, or a name in this process."""
    module, name = getattr(network, "__module__", ""), getattr(network, "__qualname__", "")
    path = f"{module}:{name}"
    here = getattr(sys.modules.get(module), name, None) is network
    if here and module != "__main__" and re.fullmatch(OWN_NETWORK, path):
        return path
    return give(network)
