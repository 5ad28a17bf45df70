"""Hook that kills process groups at an ordered phase of a protocol.

Python imports this module at its start. ``VFL_STORM_ORDER`` names a file with a phase's name. The
process that reaches the phase first removes the file, and kills its own group and those of all
above it with the same orders: SuperLink, SuperExec and ServerApp, or a SuperNode and its ClientApp.
Nothing is flushed, closed or handed over.
"""

import os
import signal
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

_ORDER = os.environ.get("VFL_STORM_ORDER", "")


def _obey(phase: str) -> None:
    """Kill the groups if this phase was ordered, and nobody else did."""
    order = Path(_ORDER)
    try:
        if order.read_text() != phase:
            return
        order.unlink()
    except OSError:
        return
    for group in _above(os.getpid()):
        os.killpg(group, signal.SIGKILL)


def _above(process: int) -> list[int]:
    """Return the process groups with the same orders, its own last."""
    mine = f"VFL_STORM_ORDER={_ORDER}".encode()
    groups = list[int]()
    while mine in Path(f"/proc/{process}/environ").read_bytes().split(b"\0"):
        if os.getpgid(process) not in groups:
            groups.append(os.getpgid(process))
        process = int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
    return groups[::-1]


def _in_client(module: ModuleType) -> None:
    """Watch the phases that a passive party is asked for."""
    party = module.ProtocolClient
    run = party._run  # noqa: SLF001

    def watched(self: Any, received: Any) -> Any:  # noqa: ANN401
        _obey(received.phase)
        return run(self, received)

    party._run = watched  # noqa: SLF001


def _in_strategy(module: ModuleType) -> None:
    """Watch the phases that the active party asks for."""
    strategy = module.ProtocolStrategy
    configure = strategy.configure_fit

    def watched(self: Any, *arguments: Any) -> Any:  # noqa: ANN401
        asked = configure(self, *arguments)
        if self._open:
            _obey(self._open.phase)
        return asked

    strategy.configure_fit = watched


_WATCHES = {
    "vfl_flower.protocol.client": _in_client,
    "vfl_flower.protocol.strategy": _in_strategy,
}


class _Finder:
    """Finder that changes two modules once they are loaded."""

    @classmethod
    def find_spec(
        cls, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the module's own specification, with a loader that does more."""
        spec = PathFinder.find_spec(name, path, target) if name in _WATCHES else None
        if spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def watched(module: ModuleType) -> None:
            execute(module)
            _WATCHES[name](module)

        spec.loader.exec_module = watched  # type: ignore[method-assign]
        return spec


if _ORDER:
    sys.meta_path.insert(0, _Finder)
