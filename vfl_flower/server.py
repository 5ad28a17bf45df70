"""A Flower server whose length the protocol decides, not a number of rounds."""

import time
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import count

from flwr.common import FitIns, FitRes
from flwr.server import Server
from flwr.server.client_proxy import ClientProxy
from flwr.server.history import History

Fit = tuple[ClientProxy, FitRes]


class ProtocolServer(Server):
    """Drives an `ActiveParty` until its protocol ends.

    It differs from `flwr.server.Server` in three ways: no number of rounds, no log lines and no
    new threads per exchange.
    """

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
        with ThreadPoolExecutor(max(1, self._client_manager.num_available())) as pool:
            for exchange in count(1):
                instructions = self.strategy.configure_fit(
                    exchange, self.parameters, self._client_manager
                )
                if not instructions:
                    break
                results, failures = _fit_all(pool, instructions, timeout, exchange)
                self.strategy.aggregate_fit(exchange, results, failures)
        return History(), time.monotonic() - started


def _fit_all(
    pool: ThreadPoolExecutor,
    instructions: list[tuple[ClientProxy, FitIns]],
    timeout: float | None,
    exchange: int,
) -> tuple[list[Fit], list[Fit | BaseException]]:
    """Send all instructions at once and wait for every answer."""
    futures: list[tuple[ClientProxy, Future[FitRes]]] = [
        (proxy, pool.submit(proxy.fit, ins, timeout, exchange)) for proxy, ins in instructions
    ]
    results: list[Fit] = []
    failures: list[Fit | BaseException] = []
    for proxy, future in futures:
        failure = future.exception()
        if failure is None:
            results.append((proxy, future.result()))
        else:
            failures.append(failure)
    return results, failures
