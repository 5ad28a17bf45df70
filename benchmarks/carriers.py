"""Latency of an exchange on each transport, measured side by side.

    python -m benchmarks.carriers [--large 64] [--flower]

Four parties answer with what they are sent, each in a process of its own but for the local carrier.
*Bare gRPC* sends the same bytes over the same TLS streams with nothing of ours in between.
``--flower`` also starts a SuperLink and four SuperNodes, and Flower's simulation, and trains EASTER
on the digits there over the stream and over Flower's messages, with batches of 683 rows so that
the messages end some day.
"""

import argparse
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import Any

import grpc
import numpy as np
from flwr.server import SimpleClientManager
from rich.console import Console
from rich.table import Table
from torch import Tensor

from deploy.local import QUIET, ROOT, Deployment, free_port
from tests.helpers.data import labels_of
from vfl_flower.common.codec import Array
from vfl_flower.config.run_config import RunConfig
from vfl_flower.crypto.tls_certificate import NAME, make_certificate
from vfl_flower.data.loading import load_party
from vfl_flower.parties.active import ActiveParty
from vfl_flower.parties.passive import PassiveParty
from vfl_flower.protocol.components import phase
from vfl_flower.protocol.exchange import Protocol, ask
from vfl_flower.transport.endpoint import Endpoint
from vfl_flower.transport.local import run_local
from vfl_flower.transport.protocol_server import ProtocolServer
from vfl_flower.transport.stream.client import StreamClient
from vfl_flower.transport.stream.invitation import Invitation
from vfl_flower.transport.stream.proxy import StreamProxy
from vfl_flower.transport.stream.server import OPTIONS, StreamServer
from vfl_flower.transport.stream.session import Session
from vfl_flower.workflows.build_learner import build_learner

PARTIES, TIMES, WARM_UP = 4, 1000, 50
RUN_OPTIONS = 'parties=5 models="mlp" validation=0.05 batch-size=683 eval-batch-size=10000'
CFG = RunConfig(models="mlp", device="cpu", parties=PARTIES + 1)
PROCESSES = multiprocessing.get_context("spawn")


class Echo(PassiveParty):
    """Returns every array unchanged."""

    @phase
    def echo(self, x: Tensor) -> Tensor:
        """Return the array."""
        return x


class Caller(ActiveParty):
    """Exchanges one array many times."""

    sent: Array
    times: int

    def protocol(self) -> Protocol:
        """Exchange arrays and append each latency to `latencies`."""
        for _ in range(self.times):
            yield ask("echo", self.sent)


def caller(x: Array, times: int) -> Caller:
    """Make the active party."""
    data = load_party(CFG, 0)
    made = Caller(build_learner(CFG, data), labels_of(CFG), data.rows)
    made.sent, made.times = x, times
    return made


def echo(k: int) -> Echo:
    """Make a passive party."""
    return Echo(build_learner(CFG, load_party(CFG, k + 1)))


def local(x: Array, times: int) -> list[float]:
    """Return seconds an exchange on the local carrier."""
    active = caller(x, times)
    run_local(active, [echo(k) for k in range(PARTIES)])
    return list(active.latencies)


def visit(k: int, invitation: Invitation) -> None:
    """Be a passive party in a process of its own."""
    StreamClient(invitation, Endpoint(echo(k))).serve()


def join(manager: SimpleClientManager, session: Session) -> None:
    """Let a party take part."""
    manager.register(StreamProxy(session))


def stream(x: Array, times: int) -> list[float]:
    """Return seconds an exchange on the stream."""
    manager = SimpleClientManager()
    server = StreamServer(
        "127.0.0.1:0",
        "",
        1,
        PARTIES,
        60.0,
        600.0,
        lambda session: join(manager, session),
        lambda session: None,
    )
    visitors = [
        PROCESSES.Process(target=visit, args=(k, server.invite(k)[0])) for k in range(PARTIES)
    ]
    with started(visitors):
        active = caller(x, times)
        ProtocolServer(client_manager=manager, strategy=active).fit(0, None)
        server.close()
    return list(active.latencies)


def answer(address: str, certificate: bytes) -> None:
    """Echo every message of a bare stream, in a separate process."""
    credentials = grpc.ssl_channel_credentials(certificate)
    options = (*OPTIONS, ("grpc.ssl_target_name_override", NAME))
    out: SimpleQueue[bytes | None] = SimpleQueue()
    with grpc.secure_channel(address, credentials, options) as channel:
        for message in channel.stream_stream("/bare.Echo/Join")(iter(out.get, None)):
            out.put(message)


def bare(size: int, times: int) -> list[float]:
    """Measure the gRPC round trip of `size` bytes to four processes.

    Returns seconds.
    """
    key, certificate = make_certificate()
    lines: list[tuple[SimpleQueue[bytes | None], SimpleQueue[bytes]]] = []

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
    server = grpc.server(ThreadPoolExecutor(2 * PARTIES), options=OPTIONS)
    service = grpc.method_handlers_generic_handler("bare.Echo", {"Join": handler})
    server.add_generic_rpc_handlers((service,))
    port = server.add_secure_port("127.0.0.1:0", grpc.ssl_server_credentials([(key, certificate)]))
    server.start()
    arguments = (f"127.0.0.1:{port}", certificate)
    with started([PROCESSES.Process(target=answer, args=arguments) for _ in range(PARTIES)]):
        while len(lines) < PARTIES:
            time.sleep(0.01)
        content, seconds = bytes(size), []
        for _ in range(times):
            begun = time.perf_counter()
            for down, _ in lines:
                down.put(content)
            for _, up in lines:
                up.get()
            seconds.append(time.perf_counter() - begun)
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


def small(out: Console) -> None:
    """Print the latency of small arrays."""
    x = np.random.default_rng(0).random((128, 64), np.float32)
    table = Table(title="(128, 64) float32 to 4 parties and back")
    for column in ("carrier", "median ms", "p99 ms", "of bare gRPC"):
        table.add_column(column, justify="right")
    measured: dict[str, list[float]] = {}
    runs: list[tuple[str, Callable[[], list[float]]]] = [
        ("bare gRPC", lambda: bare(x.nbytes, TIMES)),
        ("stream", lambda: stream(x, TIMES)),
        ("local", lambda: local(x, TIMES)),
    ]
    for name, measure in 2 * runs:  # twice in turn: neighbours share what else the machine does
        measured.setdefault(name, []).extend(measure()[WARM_UP:])
    reference = float(np.median(measured["bare gRPC"]))
    for name, times in measured.items():
        median, p99 = np.quantile(times, (0.5, 0.99))
        table.add_row(name, f"{1e3 * median:.2f}", f"{1e3 * p99:.2f}", f"{median / reference:.2f}")
    out.print(table)


def large(out: Console, mebibytes: int) -> None:
    """Print the throughput of large arrays."""
    x = np.zeros(mebibytes << 18, np.float32)
    ours, theirs = stream(x, 6)[1:], bare(x.nbytes, 6)[1:]
    rates = [2 * PARTIES * mebibytes / float(np.median(times)) for times in (ours, theirs)]
    out.print(
        f"{mebibytes} MiB a party, both ways: stream {rates[0]:.0f} MiB/s, bare gRPC "
        f"{rates[1]:.0f} MiB/s, ratio {rates[0] / rates[1]:.2f}"
    )


def deployed(out: Console) -> None:
    """Print the latency of exchanges on Flower's runtimes."""
    table = Table(title="EASTER on the digits, 4 passive parties, on Flower's runtimes")
    for column in ("runtime", "carrier", "exchanges", "median ms", "p99 ms"):
        table.add_column(column, justify="right")
    medians = []
    folder = Path(tempfile.mkdtemp(prefix="vfl-flower-"))
    with Deployment(folder, PARTIES) as deployment:
        for carrier, epochs in (("stream", 20), ("messages", 1)):
            deployment.run(
                f'carrier="{carrier}" epochs={epochs} run-name="{carrier}" {RUN_OPTIONS}'
            )
            row, median = _row("SuperLink", folder / "active" / carrier)
            table.add_row(*row)
            medians.append(median)
    with simulation(folder) as flwr:
        for carrier, epochs in (("stream", 20), ("messages", 2)):
            path = folder / f"simulated-{carrier}"
            flwr(f'carrier="{carrier}" epochs={epochs} out="{path}" bounds="off" {RUN_OPTIONS}')
            table.add_row(*_row("simulation", path)[0])
    out.print(table)
    out.print(f"messages take {medians[1] / medians[0]:.0f} times as long between SuperNodes")


def _row(runtime: str, path: Path) -> tuple[list[str], float]:
    result = json.loads((path / "result.json").read_text())
    times = result["exchange_ms"]
    figures = [f"{times[key]:.1f}" for key in ("median", "p99")]
    return [runtime, result["carrier"], str(result["exchanges"]), *figures], times["median"]


@contextmanager
def simulation(folder: Path) -> Iterator[Callable[[str], None]]:
    """Start ``flwr run .``'s SuperLink; yield a function that runs the app."""
    port, control = free_port(), free_port()
    own = {
        "FLWR_HOME": str(folder / "simulation"),
        "FLWR_LOCAL_SUPERLINK_HTTP_API_PORT": str(port),
        "FLWR_LOCAL_CONTROL_API_PORT": str(control),
        "RAY_USAGE_STATS_ENABLED": "0",
    }
    env, programs = os.environ | QUIET | own, Path(sys.executable).parent
    link = subprocess.Popen(  # noqa: S603
        [
            str(programs / "flower-superlink"),
            *("--insecure", "--simulation", "--isolation", "subprocess"),
            *("--control-api-address", f"127.0.0.1:{control}"),
            *("--host", "127.0.0.1", "--port", str(port)),
        ],
        cwd=ROOT,
        env=env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )

    def flwr(config: str) -> None:
        federation = f"num-supernodes={PARTIES} client-resources-num-cpus=1 init-args-num-cpus=4"
        command = [
            "run",
            ".",
            "--stream",
            "--federation-config",
            federation,
            "--run-config",
            config,
        ]
        subprocess.run([str(programs / "flwr"), *command], cwd=ROOT, env=env, check=True)  # noqa: S603

    try:
        time.sleep(15)  # it listens a while after its start
        yield flwr
    finally:
        link.terminate()
        link.wait(20)


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--large", type=int, default=64, metavar="MIB")
    options.add_argument("--flower", action="store_true", help="also over Flower, ten minutes")
    given = options.parse_args()
    out = Console()
    small(out)
    large(out, given.large)
    if given.flower:
        deployed(out)


if __name__ == "__main__":
    main()
