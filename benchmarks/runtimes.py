"""EASTER's exchanges on Flower's runtimes, and an epoch in deployment.

    python -m benchmarks.runtimes --data-dir DIR

A SuperLink with SuperNodes, and Flower's simulation, train on the digits over the stream and over
Flower's messages, with batches of 683 rows so that the messages end some day. Then the same epochs
are trained between SuperNodes over the stream and in one process on the local transport, in turn.
``--tiny`` takes the simulation with two parties and the stream.
"""

import contextlib
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmarks.harness.benchmark import DATA_DIR, OUT, Arguments, Benchmark, Option
from benchmarks.harness.report import Report, Table
from deploy.local import QUIET, Deployment
from deploy.ports import free_port
from vfl_flower.common.signals import raise_at_signals
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
            deployment.run(f'transport="{name}" epochs={epochs} run-name="{name}" {OPTIONS}')
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


def epochs_of(path: Path) -> list[float]:
    """Return seconds of a run's epochs but the first, which warms up."""
    lines = (path / "metrics.jsonl").read_text().splitlines()
    ends = [json.loads(line)["seconds"] for line in lines]
    return [end - begin for begin, end in pairwise(ends)]


def compare(given: Arguments, report: Report, folder: Path) -> None:
    """Train alike in deployment and on the local transport, in turn."""
    passive, data = given.models.count(","), str(Path(given.data_dir).absolute())
    work = {"dataset": given.dataset, "models": given.models, "epochs": given.compared + 1}
    words = [f"--{name}={value}" for name, value in work.items()]
    options = " ".join(f"{name}={json.dumps(value)}" for name, value in work.items())
    seconds: dict[str, list[float]] = {"local": [], "stream": []}
    with Deployment(folder / "compared", passive, own=[f'data-dir="{data}"'] * passive) as deployed:
        for turn in range(given.turns):
            out = folder / f"local-{turn}"
            train = [str(Path(sys.executable).parent / "vfl-flower"), "train", *words]
            train += [f"--parties={passive + 1}", f"--data-dir={data}", f"--out={out}"]
            train += ["--baselines=off"]
            subprocess.run(train, check=True, stdout=subprocess.DEVNULL)  # noqa: S603
            deployed.run(f'run-name="{turn}" data-dir="{data}" baselines="off" {options}')
            seconds["local"] += epochs_of(out)
            seconds["stream"] += epochs_of(folder / "compared" / "active" / str(turn))
    table = report.table(
        f"an epoch of EASTER on {given.dataset}, {passive + 1} parties: {given.models}",
        {"transport": "", "epochs": "", "median s": ".2f", "of local": ".2f"},
    )
    local = statistics.median(seconds["local"])
    for name, spent in seconds.items():
        median = statistics.median(spent)
        table.add(name, len(spent), median, median / local)


RUNTIMES = {"superlink": superlink, "simulation": simulation}


def measure(given: Arguments, report: Report) -> None:
    """Measure the runtimes one after the other, and compare epochs."""
    table = report.table(
        f"EASTER on the digits, {given.passive} passive parties, on Flower's runtimes",
        {"runtime": "", "transport": "", "exchanges": "", "median ms": ".1f", "p99 ms": ".1f"},
    )
    with tempfile.TemporaryDirectory(prefix="vfl-flower-") as temporary:
        folder = Path(given.out or temporary)
        for name in given.runtimes.split(","):
            RUNTIMES[name](given, folder, table)
        if given.compared:
            compare(given, report, folder)


BENCHMARK = Benchmark(
    measure,
    {
        "out": OUT,
        "runtimes": Option("superlink,simulation", tiny="simulation"),
        "transports": Option("stream,messages", tiny="stream"),
        "passive": Option(4, tiny=2, help="passive parties"),
        "epochs": Option(20, tiny=1, help="epochs at most"),
        "data_dir": DATA_DIR,
        "dataset": Option("mnist", help="data of the compared epochs"),
        "models": Option("cnn,lenet,mlp,mlp", help="networks of their parties"),
        "compared": Option(3, tiny=0, help="compared epochs a turn, 0 for none"),
        "turns": Option(2, help="times that each transport trains them"),
    },
)

if __name__ == "__main__":
    raise_at_signals()  # so that no server stays behind
    BENCHMARK.run()
