"""Flower server that ends with its protocol, not after some rounds."""

import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import count

from flwr.common import Code, FitIns, FitRes
from flwr.server import ClientManager, Server
from flwr.server.client_proxy import ClientProxy
from flwr.server.history import History

from vfl_flower.common.worker import Worker
from vfl_flower.protocol.strategy import ProtocolStrategy
from vfl_flower.transport.proxy import Pending, SendingProxy

SLOW = 5.0  # seconds of an exchange after which the parties that it waits for are named

LOOK = 0.5  # seconds that one of them is waited for before all are looked at

Fit = tuple[ClientProxy, FitRes]
Begun = tuple[ClientProxy, Pending]


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
                begun = [
                    (proxy, _begin(proxy, ins, timeout, exchange, workers, self.strategy.in_turn))
                    for proxy, ins in instructions
                ]
                self._wait(begun)
                self.strategy.aggregate_fit(exchange, *_gather(begun))
        finally:
            for worker in workers.values():
                worker.close()
        return History(), time.monotonic() - started

    def _wait(self, begun: Sequence[Begun]) -> None:
        """Wait for all answers; report late parties."""
        started, told = time.monotonic(), False
        for _, pending in reversed(begun):  # who was asked last mostly answers last
            while not pending.wait(LOOK):
                late = {proxy.cid for proxy, each in begun if not each.wait(0)}
                if late and not told and time.monotonic() - started > SLOW:
                    self.strategy.waits_for(late)
                    told = True


def _begin(
    proxy: ClientProxy,
    ins: FitIns,
    timeout: float | None,
    exchange: int,
    workers: Mapping[str, Worker],
    in_turn: bool,
) -> Pending:
    """Begin an exchange, in a thread where a proxy only waits."""
    if isinstance(proxy, SendingProxy):
        return proxy.begin(ins)
    worker = workers[proxy.cid]
    worker.submit(partial(proxy.fit, ins, timeout, exchange), in_turn)
    return worker


def _gather(begun: Sequence[Begun]) -> tuple[list[Fit], list[Fit | BaseException]]:
    """Gather the answers to one exchange."""
    results: list[Fit] = []
    failures: list[Fit | BaseException] = []
    for proxy, pending in begun:
        try:
            res = pending.result()
        except Exception as failure:
            failures.append(failure)
        else:
            (results if res.status.code == Code.OK else failures).append((proxy, res))
    return results, failures
