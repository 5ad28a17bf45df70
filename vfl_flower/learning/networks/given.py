"""Networks that a Python program gives as objects, by name.

A name such as ``python:Net_1a2b3c4d`` stands in configurations and in run folders. It means
something in the process alone that has given the network, as long as something holds it: no code is
found by it.
"""

import re
import secrets
import weakref
from collections import Counter
from collections.abc import Iterable
from typing import Any

from vfl_flower.common.errors import NetworkError

MODULE = "python"
"""Stands before the colon, where a network that can be imported has its module."""

_given: dict[str, Any] = {}
_holders: Counter[str] = Counter()


def give(network: Any) -> str:  # noqa: ANN401
    """Return the name of a network, the same at every call."""
    for name, each in list(_given.items()):
        if each is network:
            return name
    kind = network if isinstance(network, type) else type(network)
    label = re.sub(r"\W", "", kind.__name__) or "Network"
    name = f"{MODULE}:{label}_{secrets.token_hex(4)}"
    give_as(name, network)
    return name


def give_as(name: str, network: Any) -> None:  # noqa: ANN401
    """Give a network under its name in an earlier run."""
    _given[name] = network


def hold(names: Iterable[str], owner: object) -> list["weakref.finalize[..., Any]"]:
    """Keep given networks as long as an object lives.

    Returns
    -------
    list of finalize
        What lets each of them go; detached, a network stays as long as the process.
    """
    kept = sorted({name for name in names if name in _given})
    _holders.update(kept)
    return [weakref.finalize(owner, _let_go, name) for name in kept]


def _let_go(name: str) -> None:
    """Forget a network that nothing holds any longer."""
    _holders[name] -= 1
    if not _holders[name]:
        del _holders[name]
        _given.pop(name, None)


def found(name: str) -> Any:  # noqa: ANN401
    """Return the network of a name.

    Raises
    ------
    NetworkError
        If this process has not given it, or has let it go.
    """
    if name not in _given:
        raise NetworkError(
            f"network '{name}' was an object of a Python program; give it again, as the run had "
            "it: vfl_flower.load(folder, models=[...])"
        )
    return _given[name]
