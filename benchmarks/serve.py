"""Latency and throughput of the scoring service, over HTTP and the stream.

    python -m benchmarks.serve [--passive 3] [--method easter]

A tiny model predicts rows of the bundled digits. Each passive party is a process of its own, in a
session over TLS on loopback; the active party and its HTTP service are this process, and one
client, or several at once, call it. *Goals* are 15 ms and 60 ms for the median and the 99th
percentile of a single row, and 2,000 rows a second in batches.
"""

import http.client
import json
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from flwr.server import SimpleClientManager

from benchmarks.carriers import PROCESSES, join, started
from benchmarks.harness.benchmark import Arguments, Benchmark, Option
from benchmarks.harness.report import Report
from vfl_flower.config.run_config import RunConfig
from vfl_flower.protocol.strategy import Coordinator
from vfl_flower.protocol.transport import Transport
from vfl_flower.runs.run_folder import RunFolder
from vfl_flower.serving.options import ServiceOptions
from vfl_flower.serving.service import Service, Stamp
from vfl_flower.serving.term import Term
from vfl_flower.transport.endpoint import Endpoint
from vfl_flower.transport.protocol_server import ProtocolServer
from vfl_flower.transport.stream.client import StreamClient
from vfl_flower.transport.stream.invitation import Invitation
from vfl_flower.transport.stream.server import StreamServer
from vfl_flower.workflows.local.train import train_in
from vfl_flower.workflows.local.watch import Watch
from vfl_flower.workflows.trained_parties import predicting_parties

SHARES = (0.5, 0.99)
ROWS = 1797
"""Rows of the digits."""


def visit(run: Path, rank: int, invitation: Invitation) -> None:
    """Keep one passive party in its session."""
    party = predicting_parties(RunFolder.reopen(run, {}))[1][rank - 1]
    StreamClient(invitation, Endpoint(party), rank).serve()


class Sessions(Transport):
    """Stream to passive parties in processes of this machine.

    Parameters
    ----------
    run : Path
        Folder of the run whose parties they are.
    """

    name = "stream"

    def __init__(self, run: Path) -> None:
        self.run_folder = run

    def run(self, active: Coordinator) -> dict[str, Any]:
        """Start the parties, and run the protocol."""
        manager, passive = SimpleClientManager(), active.cfg.parties - 1
        server = StreamServer(
            *("127.0.0.1:0", "", 1, passive, 60.0, 600.0),
            lambda session: join(manager, session),
            lambda session: None,
        )
        parties = [
            PROCESSES.Process(target=visit, args=(self.run_folder, k, server.invite(k)[0]))
            for k in range(1, passive + 1)
        ]
        with started(parties):
            try:
                ProtocolServer(client_manager=manager, strategy=active.strategy).fit(0, None)
            finally:
                server.close()
        return {}


class Streamed:
    """Source of one model, whose passive parties are processes."""

    def __init__(self, run: Path) -> None:
        self._run = run

    def stamp(self) -> Stamp:
        """Return the same fingerprint, always."""
        return ()

    def term(self) -> Term:
        """Load the active party."""
        active, _ = predicting_parties(RunFolder.reopen(self._run, {}))
        return Term(active, Sessions(self._run))


class Client:
    """HTTP client with a connection that stays open."""

    def __init__(self, url: str, token: str) -> None:
        self._http = http.client.HTTPConnection(urlsplit(url).netloc)
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    def seconds(self, ids: Sequence[int]) -> float:
        """Return the seconds that the predictions of some rows take."""
        begun = time.perf_counter()
        self._http.request("POST", "/predict", json.dumps({"ids": [*ids]}), self._headers)
        response = self._http.getresponse()
        content = response.read()
        if response.status != http.HTTPStatus.OK:
            raise RuntimeError(content.decode())
        return time.perf_counter() - begun


@contextmanager
def serving(given: Arguments, folder: Path) -> Iterator[tuple[Service, str]]:
    """Train a tiny model and serve it, once all parties are there."""
    cfg = RunConfig(
        method=given.method, models="mlp", parties=given.passive + 1, epochs=1, baselines="off"
    )
    train_in(RunFolder(folder / "run", cfg), Watch())
    token = folder / "token"
    token.touch(mode=0o600)
    token.write_text(token_hex(32))
    options = ServiceOptions(listen="127.0.0.1:0", token=str(token), window=given.window)
    service = Service(Streamed(folder / "run"), options)
    with service.running():
        while service.scorer.trouble:
            time.sleep(0.05)
        yield service, token.read_text()


def measure(given: Arguments, report: Report) -> None:
    """Measure single rows, several clients at once, and batches."""
    columns = {"requests": "", "rows each": ",", "median ms": ".2f", "p99 ms": ".2f"}
    table = report.table(
        f"{given.method} with {given.passive} passive parties over the stream",
        columns | {"rows/s": ",.0f"},
    )
    random = np.random.default_rng(0)
    with TemporaryDirectory() as folder, serving(given, Path(folder)) as (service, token):
        for name, clients, rows, times in (
            ("one after the other", 1, 1, given.times),
            (f"{given.clients} at a time", given.clients, 1, given.times),
            ("one after the other", 1, given.rows, given.batches),
        ):
            batches = [random.choice(ROWS, rows, replace=False).tolist() for _ in range(times)]
            spent, whole = asked(service, token, batches, clients)
            median, p99 = np.quantile(spent, SHARES)
            table.add(name, rows, 1e3 * median, 1e3 * p99, rows * times / whole)


def asked(
    service: Service, token: str, batches: Sequence[Sequence[int]], clients: int
) -> tuple[list[float], float]:
    """Ask for batches, some by each client; return their seconds."""

    def work(share: Sequence[Sequence[int]]) -> list[float]:
        client = Client(service.http.url, token)
        return [client.seconds(ids) for ids in share]

    work(batches[: max(len(batches) // 10, 1)])  # to warm up
    begun = time.perf_counter()
    with ThreadPoolExecutor(clients) as pool:
        spent = list(pool.map(work, [batches[n::clients] for n in range(clients)]))
    return [each for one in spent for each in one], time.perf_counter() - begun


BENCHMARK = Benchmark(
    measure,
    {
        "method": Option("easter", help="method"),
        "passive": Option(3, tiny=2, help="passive parties"),
        "window": Option(1.0, help="ms that a request waits for others"),
        "times": Option(1000, tiny=10, help="requests of a single row"),
        "clients": Option(16, tiny=2, help="clients at a time"),
        "rows": Option(1000, tiny=100, help="rows of a batch"),
        "batches": Option(30, tiny=2, help="requests of a batch"),
    },
)

if __name__ == "__main__":
    BENCHMARK.run()
