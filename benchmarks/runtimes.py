"""Latency of EASTER's exchanges on Flower's runtimes, over each transport.

    python -m benchmarks.runtimes

A SuperLink with SuperNodes, and Flower's simulation, train on the digits over the stream and over
Flower's messages, with batches of 683 rows so that the messages end some day: ten minutes in all.
``--tiny`` takes the simulation with two parties and the stream.
"""

import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.harness.benchmark import OUT, Arguments, Benchmark, Option
from benchmarks.harness.report import Report, Table
from deploy.local import QUIET, Deployment, free_port
from vfl_flower.common.sources import ROOT

OPTIONS = 'models="mlp" validation=0.05 batch-size=683 eval-batch-size=10000'
EPOCHS = {"superlink": {"stream": 20, "messages": 1}, "simulation": {"stream": 20, "messages": 2}}
START = 240.0  # seconds
ATTEMPTS = 3
"""Starts of a simulation: on a busy machine Ray gives up before the app has begun."""


def add(table: Table, runtime: str, path: Path) -> None:
    """Add the row of a run that has ended."""
    result: dict[str, Any] = json.loads((path / "result.json").read_text())
    times = result["exchange_ms"]
    table.add(runtime, result["transport"], result["exchanges"], times["median"], times["p99"])


def superlink(given: Arguments, folder: Path, table: Table) -> None:
    """Train between a SuperLink and SuperNodes."""
    with Deployment(folder, given.passive) as deployment:
        for name in given.transports.split(","):
            epochs = min(EPOCHS["superlink"][name], given.epochs)
            deployment.run(
                f'transport="{name}" epochs={epochs} run-name="{name}" parties={given.passive + 1} '
                + OPTIONS
            )
            add(table, "superlink", folder / "active" / name)


def simulation(given: Arguments, folder: Path, table: Table) -> None:
    """Train on Flower's simulation."""
    with simulated(folder, given.passive) as flwr:
        for name in given.transports.split(","):
            epochs = min(EPOCHS["simulation"][name], given.epochs)
            path = folder / f"simulated-{name}"
            config = f'transport="{name}" epochs={epochs} out="{path}" baselines="off" '
            for _ in range(ATTEMPTS):
                flwr(config + f"parties={given.passive + 1} {OPTIONS}")
                if path.exists():
                    break
            add(table, "simulation", path)


def listening(port: int) -> None:
    """Wait until a port of this machine is listened to."""
    end = time.monotonic() + START
    while time.monotonic() < end:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.2)
    raise TimeoutError(f"nothing listens to port {port} after {START:g} s")


def quietly(command: list[str], env: dict[str, str]) -> "subprocess.Popen[bytes]":
    """Start a program without its output."""
    silent = subprocess.DEVNULL
    return subprocess.Popen(command, cwd=ROOT, env=env, stdout=silent, stderr=silent)  # noqa: S603


@contextmanager
def simulated(folder: Path, parties: int) -> Iterator[Callable[[str], None]]:
    """Start ``flwr run .``'s SuperLink; yield a function that runs the app."""
    port, control = free_port(), free_port()
    programs = Path(sys.executable).parent
    own = {
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",  # it starts others of them
        "FLWR_HOME": str(folder / "simulation"),
        "FLWR_LOCAL_SUPERLINK_HTTP_API_PORT": str(port),
        "FLWR_LOCAL_CONTROL_API_PORT": str(control),
        "RAY_USAGE_STATS_ENABLED": "0",
    }
    env = os.environ | QUIET | own
    words = [
        *("--insecure", "--simulation", "--isolation", "subprocess"),
        *("--control-api-address", f"127.0.0.1:{control}"),
        *("--host", "127.0.0.1", "--port", str(port)),
    ]
    link = quietly([str(programs / "flower-superlink"), *words], env)

    def flwr(config: str) -> None:
        federation = f"num-supernodes={parties} client-resources-num-cpus=1 init-args-num-cpus=4"
        command = [str(programs / "flwr"), "run", ".", "--stream"]
        command += ["--federation-config", federation, "--run-config", config]
        subprocess.run(command, cwd=ROOT, env=env, check=False)  # noqa: S603

    try:
        listening(port)
        yield flwr
    finally:
        link.terminate()
        link.wait(20)


RUNTIMES = {"superlink": superlink, "simulation": simulation}


def measure(given: Arguments, report: Report) -> None:
    """Measure the runtimes one after the other."""
    table = report.table(
        f"EASTER on the digits, {given.passive} passive parties, on Flower's runtimes",
        {"runtime": "", "transport": "", "exchanges": "", "median ms": ".1f", "p99 ms": ".1f"},
    )
    with tempfile.TemporaryDirectory(prefix="vfl-flower-") as temporary:
        folder = Path(given.out or temporary)
        for name in given.runtimes.split(","):
            RUNTIMES[name](given, folder, table)


BENCHMARK = Benchmark(
    measure,
    {
        "out": OUT,
        "runtimes": Option("superlink,simulation", tiny="simulation"),
        "transports": Option("stream,messages", tiny="stream"),
        "passive": Option(4, tiny=2, help="passive parties"),
        "epochs": Option(20, tiny=1, help="epochs at most"),
    },
)

if __name__ == "__main__":
    BENCHMARK.run()
