"""Transport of Flower messages: each exchange is one message to every party."""

from typing import Any

from flwr.common import FitIns, FitRes
from flwr.server import ServerConfig, SimpleClientManager
from flwr.server.compat import start_grid

from vfl_flower.common.errors import PartyError
from vfl_flower.protocol.strategy import Coordinator
from vfl_flower.transport.flower_transport import FlowerTransport, Host, cut_short
from vfl_flower.transport.protocol_server import ProtocolServer


class MessageTransport(FlowerTransport):
    """Sends each exchange through Flower, which rebuilds the passive parties for it."""

    name = "messages"

    def run(self, active: Coordinator) -> dict[str, Any]:
        """Run the protocol in one call of Flower's grid."""
        server = ProtocolServer(client_manager=SimpleClientManager(), strategy=active.strategy)
        try:
            start_grid(grid=self.grid, server=server, config=ServerConfig(num_rounds=1))
        except PartyError as error:  # Flower turns messages of a stopped run away
            if active.stop:
                raise cut_short(error) from error
            raise
        return {}

    @staticmethod
    def answer(ins: FitIns, host: Host) -> FitRes | None:
        """Answer one exchange."""
        return host.rebuilt().fit(ins) if "exchange" in ins.config else None
