"""Common part of the transports that Flower's runtimes offer."""

from collections.abc import Mapping

from flwr.serverapp import Grid

from vfl_flower.config.run_config import RunConfig
from vfl_flower.protocol.transport import Transport


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
