"""Transports by name. One line here makes a transport known everywhere."""

from dataclasses import dataclass
from enum import Enum
from importlib import import_module
from typing import Any

from vfl_flower.common.errors import ConfigError


class Runtime(Enum):
    """Processes of a run's parties, by the command that starts them."""

    ONE_PROCESS = "run_simulation.py"
    FLOWER = "flwr run"


@dataclass(frozen=True)
class TransportEntry:
    """Location of a transport's class.

    Attributes
    ----------
    reference : str
        ``module:Class`` of a `vfl_flower.protocol.transport.Transport`.
    runtime : Runtime
        The runtime that it works in.
    """

    reference: str
    runtime: Runtime

    def load(self) -> Any:  # noqa: ANN401  a class, of which each runtime knows the constructor
        """Import and return the class."""
        module, name = self.reference.split(":")
        return getattr(import_module(module), name)


TRANSPORTS = {
    "local": TransportEntry("vfl_flower.transport.local:LocalTransport", Runtime.ONE_PROCESS),
    "stream": TransportEntry("vfl_flower.transport.stream.run:StreamTransport", Runtime.FLOWER),
    "messages": TransportEntry("vfl_flower.transport.messages:MessageTransport", Runtime.FLOWER),
}
"""The first of a runtime is what ``auto`` means there."""


def transports_of(runtime: Runtime) -> dict[str, TransportEntry]:
    """Return the transports of a runtime by name, the default first."""
    return {name: entry for name, entry in TRANSPORTS.items() if entry.runtime == runtime}


def chosen_transport(name: str, runtime: Runtime) -> TransportEntry:
    """Find a transport of a runtime by name; ``auto`` is the first.

    Raises
    ------
    ConfigError
        If it works in another runtime only.
    """
    here = transports_of(runtime)
    default = next(iter(here))
    chosen = here.get(default if name == "auto" else name)
    if chosen is None:
        needed = TRANSPORTS[name].runtime.value
        raise ConfigError(f"transport is {name}, which needs {needed}; use auto or {default} here")
    return chosen
