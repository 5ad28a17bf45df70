"""Common part of the transports that Flower's runtimes offer."""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, Protocol

from flwr.client import Client
from flwr.common import FitIns, FitRes
from flwr.serverapp import Grid

from vfl_flower.common.errors import Interrupted, PartyError
from vfl_flower.config.run_config import RunConfig
from vfl_flower.protocol.transport import Transport


class Host(Protocol):
    """Interface of a passive party's node that transports see."""

    rank: int

    def live(self, options: Mapping[str, Any]) -> Client:
        """Return the party for all messages of a run with these options."""

    def rebuilt(self, options: Mapping[str, Any] | None = None) -> Client:
        """Return a node's party for one message.

        Without options, it is the party of the run that Flower names.
        """


def cut_short(error: PartyError) -> Interrupted:
    """Build the error of a stopped run whose step in hand failed."""
    return Interrupted(f"stopped without the step in hand: {error}; checkpoints, if any, stay")


class FlowerTransport(Transport):
    """A transport between the nodes of a Flower run.

    Parameters
    ----------
    grid : Grid
        Flower's, of the run.
    cfg : RunConfig
        The run's configuration.
    options : mapping
        The configuration as the passive parties are told it.
    simulated : bool
        Whether all nodes are on this machine.

    Raises
    ------
    ConfigError
        If the configuration lacks something that the transport needs.
    """

    def __init__(
        self, grid: Grid, cfg: RunConfig, options: Mapping[str, object], simulated: bool
    ) -> None:
        self.grid, self.options = grid, options

    @staticmethod
    @abstractmethod
    def answer(ins: FitIns, host: Host) -> FitRes | None:
        """Answer a message at a passive party's node.

        Parameters
        ----------
        ins : FitIns
            The message.
        host : Host
            The node.

        Returns
        -------
        FitRes or None
            None if the message is of another transport.
        """
