"""Flower server that ends with its protocol, not after some rounds."""

import time
from collections import defaultdict
from collections.abc import Mapping
from functools import partial
from itertools import count

from flwr.common import Code, FitIns, FitRes
from flwr.server import ClientManager, Server
from flwr.server.client_proxy import ClientProxy
from flwr.server.history import History

from vfl_flower.common.worker import Worker
from vfl_flower.protocol.strategy import ProtocolStrategy

SLOW = 5.0  # seconds of an exchange after which the parties that it waits for are named

Fit = tuple[ClientProxy, FitRes]


class ProtocolServer(Server):
    """Drives a `ProtocolStrategy` until its protocol ends.

    It differs from `flwr.server.Server` in three ways: no number of rounds, no log lines and no
    new threads for every exchange.

    Parameters
    ----------
    client_manager : ClientManager
        Knows the passive parties' proxies.
    strategy : ProtocolStrategy
        The active party's.
    """

    strategy: ProtocolStrategy

    def __init__(self, *, client_manager: ClientManager, strategy: ProtocolStrategy) -> None:
        super().__init__(client_manager=client_manager, strategy=strategy)

    def fit(self, num_rounds: int, timeout: float | None) -> tuple[History, float]:
        """Run the protocol.

        Parameters
        ----------
        num_rounds : int
            Ignored.
        timeout : float or None
            Seconds that one message may live; None is Flower's own limit.

        Returns
        -------
        history : History
            Empty: the run folder holds what happened.
        elapsed : float
            Seconds.
        """
        started = time.monotonic()
        self.strategy.initialize_parameters(self._client_manager)
        workers: defaultdict[str, Worker] = defaultdict(Worker)
        try:
            for exchange in count(1):
                instructions = self.strategy.configure_fit(
                    exchange, self.parameters, self._client_manager
                )
                if not instructions:
                    break
                here = self.strategy.in_turn
                for proxy, ins in instructions:
                    workers[proxy.cid].submit(partial(proxy.fit, ins, timeout, exchange), here)
                self._notice(instructions, workers)
                results, failures = _gather(instructions, workers)
                self.strategy.aggregate_fit(exchange, results, failures)
        finally:
            for worker in workers.values():
                worker.close()
        return History(), time.monotonic() - started

    def _notice(
        self, instructions: list[tuple[ClientProxy, FitIns]], workers: Mapping[str, Worker]
    ) -> None:
        """Report the parties that a long exchange waits for."""
        deadline = time.monotonic() + SLOW
        for proxy, _ in instructions:
            if not workers[proxy.cid].wait(deadline - time.monotonic()):
                late = {each.cid for each, _ in instructions if not workers[each.cid].wait(0)}
                self.strategy.waits_for(late)
                return


def _gather(
    instructions: list[tuple[ClientProxy, FitIns]], workers: Mapping[str, Worker]
) -> tuple[list[Fit], list[Fit | BaseException]]:
    """Wait for every answer to one exchange."""
    results: list[Fit] = []
    failures: list[Fit | BaseException] = []
    for proxy, _ in instructions:
        try:
            res = workers[proxy.cid].result()
        except Exception as failure:
            failures.append(failure)
        else:
            (results if res.status.code == Code.OK else failures).append((proxy, res))
    return results, failures
