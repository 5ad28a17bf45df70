"""Transports: how the exchanges of a protocol travel.

The base class stands here, below the transports themselves, because `vfl_flower.api` exports it.
"""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from vfl_flower.protocol.strategy import Coordinator


class Transport(ABC):
    """Runs protocols between one active party and its passive parties."""

    name: ClassVar[str]
    """Key in `vfl_flower.config.transports.TRANSPORTS`."""

    @abstractmethod
    def run(self, active: Coordinator) -> dict[str, Any]:
        """Run the active party's protocol to its end.

        Parameters
        ----------
        active : Coordinator
            Built, not yet started.

        Returns
        -------
        dict
            Facts about the connections, for the result.

        Raises
        ------
        VflError
            If a party fails or stays away; checkpoints stay.
        """
