"""Latency of an exchange on each transport, measured side by side.

    python -m benchmarks.carriers [--large 64]

Four parties answer with what they are sent, each in a process of its own but for the local
transport. *Bare gRPC* sends the same bytes over the same TLS streams with nothing of ours in
between. `benchmarks.runtimes` measures the same between Flower's processes.
"""

import multiprocessing
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from queue import SimpleQueue
from threading import Thread
from typing import Any

import grpc
import numpy as np
from flwr.server import SimpleClientManager

from benchmarks.harness.benchmark import Arguments, Benchmark, Option
from benchmarks.harness.echo import Caller, echo
from benchmarks.harness.report import Report
from vfl_flower.common.codec import Array
from vfl_flower.config.run_config import RunConfig
from vfl_flower.crypto.tls_certificate import NAME, make_certificate
from vfl_flower.transport.endpoint import Endpoint
from vfl_flower.transport.local import run_local
from vfl_flower.transport.protocol_server import ProtocolServer
from vfl_flower.transport.stream.client import StreamClient
from vfl_flower.transport.stream.invitation import Invitation
from vfl_flower.transport.stream.proxy import StreamProxy
from vfl_flower.transport.stream.server import OPTIONS, StreamServer
from vfl_flower.transport.stream.session import Session

PROCESSES = multiprocessing.get_context("spawn")


def config(parties: int) -> RunConfig:
    """Return the configuration of so many passive parties."""
    return RunConfig(models="mlp", device="cpu", blinding="none", parties=parties + 1)


def local(x: Array, parties: int, times: int) -> list[float]:
    """Return seconds an exchange on the local transport."""
    cfg = config(parties)
    active = Caller.of(cfg, x, times)
    run_local(active, [echo(cfg, k) for k in range(1, parties + 1)])
    return list(active.strategy.latencies)


def visit(k: int, parties: int, invitation: Invitation) -> None:
    """Run a passive party in a separate process."""
    StreamClient(invitation, Endpoint(echo(config(parties), k))).serve()


def join(manager: SimpleClientManager, session: Session) -> None:
    """Let a party take part."""
    manager.register(StreamProxy(session))


def stream(x: Array, parties: int, times: int) -> list[float]:
    """Return seconds an exchange on the stream."""
    manager = SimpleClientManager()
    server = StreamServer(
        "127.0.0.1:0",
        "",
        1,
        parties,
        60.0,
        600.0,
        lambda session: join(manager, session),
        lambda session: None,
    )
    clients = [
        PROCESSES.Process(target=visit, args=(k, parties, server.invite(k)[0]))
        for k in range(1, parties + 1)
    ]
    with started(clients):
        active = Caller.of(config(parties), x, times)
        ProtocolServer(client_manager=manager, strategy=active.strategy).fit(0, None)
        server.close()
    return list(active.strategy.latencies)


def answer(address: str, certificate: bytes) -> None:
    """Echo every message of a bare stream, in a separate process."""
    credentials = grpc.ssl_channel_credentials(certificate)
    options = (*OPTIONS, ("grpc.ssl_target_name_override", NAME))
    out: SimpleQueue[bytes | None] = SimpleQueue()
    with grpc.secure_channel(address, credentials, options) as channel:
        for message in channel.stream_stream("/bare.Echo/Join")(iter(out.get, None)):
            out.put(message)
        out.put(None)


Line = tuple[SimpleQueue[bytes | None], SimpleQueue[bytes]]
"""Down to a process, and up from it."""


def round_trip(lines: list[Line], content: bytes) -> float:
    """Send some bytes to all processes and wait for theirs; return seconds."""
    begun = time.perf_counter()
    for down, _ in lines:
        down.put(content)
    for _, up in lines:
        up.get()
    return time.perf_counter() - begun


def bare(size: int, parties: int, times: int) -> list[float]:
    """Measure the gRPC round trip of `size` bytes to all processes.

    Returns seconds.
    """
    key, certificate = make_certificate()
    lines: list[Line] = []

    def join(messages: Iterator[bytes], context: object) -> Iterator[bytes]:
        down: SimpleQueue[bytes | None] = SimpleQueue()
        up: SimpleQueue[bytes] = SimpleQueue()

        def read() -> None:
            for message in messages:
                up.put(message)

        Thread(target=read, daemon=True).start()
        lines.append((down, up))
        yield from iter(down.get, None)

    handler = grpc.stream_stream_rpc_method_handler(join)
    server = grpc.server(ThreadPoolExecutor(2 * parties), options=OPTIONS)
    service = grpc.method_handlers_generic_handler("bare.Echo", {"Join": handler})
    server.add_generic_rpc_handlers((service,))
    port = server.add_secure_port("127.0.0.1:0", grpc.ssl_server_credentials([(key, certificate)]))
    server.start()
    arguments = (f"127.0.0.1:{port}", certificate)
    with started([PROCESSES.Process(target=answer, args=arguments) for _ in range(parties)]):
        while len(lines) < parties:
            time.sleep(0.01)
        seconds = [round_trip(lines, bytes(size)) for _ in range(times)]
        for down, _ in lines:
            down.put(None)
        server.stop(1).wait()
    return seconds


@contextmanager
def started(processes: list[Any]) -> Iterator[None]:
    """Start processes, and see them end."""
    for process in processes:
        process.start()
    try:
        yield
    finally:
        for process in processes:
            process.join(10)
            process.kill()


def small(given: Arguments, report: Report) -> None:
    """Measure the latency of small arrays."""
    x = np.random.default_rng(0).random(128 * 64, np.float32)  # an embedding of 128 rows
    measured: dict[str, list[float]] = {}
    times = given.warm_up + given.times
    runs: list[tuple[str, Callable[[], list[float]]]] = [
        ("bare gRPC", lambda: bare(x.nbytes, given.passive, times)),
        ("stream", lambda: stream(x, given.passive, times)),
        ("local", lambda: local(x, given.passive, times)),
    ]
    for name, measure in given.turns * runs:  # in turn: neighbours share what else goes on
        measured.setdefault(name, []).extend(measure()[given.warm_up :])
    reference = float(np.median(measured["bare gRPC"]))
    table = report.table(
        f"(128, 64) float32 to {given.passive} parties and back",
        {"transport": "", "median ms": ".2f", "p99 ms": ".2f", "of bare gRPC": ".2f"},
    )
    for name, spent in measured.items():
        median, p99 = np.quantile(spent, (0.5, 0.99))
        table.add(name, 1e3 * median, 1e3 * p99, median / reference)


def large(given: Arguments, report: Report) -> None:
    """Measure the throughput of large arrays."""
    x = np.zeros(given.large << 18, np.float32)
    table = report.table(
        f"{given.large} MiB to each of {given.passive} parties and back",
        {"transport": "", "MiB/s": ".0f", "of bare gRPC": ".2f"},
    )
    rates = {
        name: 2 * given.passive * given.large / float(np.median(times[1:]))
        for name, times in (
            ("stream", stream(x, given.passive, 6)),
            ("bare gRPC", bare(x.nbytes, given.passive, 6)),
        )
    }
    for name, rate in rates.items():
        table.add(name, rate, rate / rates["bare gRPC"])


def measure(given: Arguments, report: Report) -> None:
    """Measure latency, and throughput unless it is of nothing."""
    small(given, report)
    if given.large:
        large(given, report)


BENCHMARK = Benchmark(
    measure,
    {
        "passive": Option(4, tiny=1, help="passive parties"),
        "times": Option(950, tiny=20, help="exchanges of small arrays"),
        "warm_up": Option(50, tiny=2, help="exchanges before them"),
        "turns": Option(2, tiny=1, help="times that each transport is measured"),
        "large": Option(64, tiny=0, help="MiB of a large array, 0 for none"),
    },
)

if __name__ == "__main__":
    BENCHMARK.run()
