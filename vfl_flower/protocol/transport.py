"""Transports: how the exchanges of a protocol travel.

The base class stands here, below the transports themselves, because `vfl_flower.api` exports it.
"""

from abc import ABC, abstractmethod
from collections.abc import Collection
from pathlib import Path
from typing import Any, ClassVar, Protocol

from vfl_flower.config.run_config import RunConfig
from vfl_flower.protocol.roster import Roster


class Carried(Protocol):
    """Interface of an active party, beside Flower's `Strategy`, that transports see.

    Attributes
    ----------
    cfg : RunConfig
        The run's configuration.
    folder : Path or None
        Where its checkpoints are.
    roster : Roster
        The passive parties, once the roll call is done.
    stop : bool
        Whether somebody has asked the run to end.
    """

    cfg: RunConfig
    folder: Path | None
    roster: Roster
    stop: bool

    def request_stop(self) -> None:
        """End after the step in hand."""

    def waits_for(self, cids: Collection[str]) -> None:
        """Report the proxies that an exchange has waited for already for a while."""

    def restart_from(self, step: int | None) -> None:
        """Make ready for another roll call, and the protocol from a checkpoint on."""


class Transport(ABC):
    """Runs protocols between one active party and its passive parties."""

    name: ClassVar[str]
    """Key in `vfl_flower.config.transports.TRANSPORTS`."""

    @abstractmethod
    def run(self, active: Carried) -> dict[str, Any]:
        """Run the active party's protocol to its end.

        Parameters
        ----------
        active : Carried
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
