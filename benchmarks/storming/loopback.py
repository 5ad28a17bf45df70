"""A deployment on loopback to be disturbed, and its runs."""

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

from benchmarks.storming.hooks import HOOKS
from deploy.local import CONNECTION, Deployment
from vfl_flower.common.names import party_name

ANSI = re.compile(r"\x1b\[[0-9;]*m")
POLL = 0.1  # seconds
BETWEEN = 2.0  # seconds until a SuperNode that has ended is started again
LISTEN = 'stream-listen="127.0.0.1:0"'
STARTED = "Successfully started run"


class Stuck(Exception):
    """A scenario has not come to its end in time."""


class Clock:
    """Time limit of a scenario.

    Parameters
    ----------
    limit : float
        Seconds.
    """

    def __init__(self, limit: float) -> None:
        self.started, self.limit = time.monotonic(), limit

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.started

    @property
    def left(self) -> float:
        """Seconds until the limit."""
        return self.limit - self.seconds

    def wait(self, reached: Callable[[], object], what: str) -> None:
        """Wait for something.

        Raises
        ------
        Stuck
            If the limit comes first.
        """
        while not reached():
            if self.left <= 0:
                raise Stuck(f"after {self.limit:g} s still waiting for {what}")
            time.sleep(POLL)


class Loopback(Deployment):
    """A deployment whose processes die on order, and whose nodes may differ.

    Parameters
    ----------
    folder : Path
        Where everything goes.
    nodes : int
        How many SuperNodes.
    own : sequence of str
        Their own configurations.
    env : mapping of str to mapping
        What a component has in its environment beside the others, by its name.
    before : mapping of str to sequence of str
        Words before a component's command, by its name.

    Attributes
    ----------
    temporary : Path
        Where all of them put temporary files.
    """

    def __init__(
        self,
        folder: Path,
        nodes: int,
        own: Sequence[str] = (),
        env: Mapping[str, Mapping[str, str]] | None = None,
        before: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        folder.mkdir(mode=0o700, parents=True)
        super().__init__(folder, nodes, own=own)
        self.own_env, self.before = env or {}, before or {}
        paths = [str(HOOKS), os.environ.get("PYTHONPATH", "")]
        self.env["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
        self.temporary = folder / "tmp"
        self.temporary.mkdir()
        self.env["TMPDIR"] = str(self.temporary)
        self.runs: list[Run] = []

    def __exit__(self, *error: object) -> None:
        """End all runs, then everything else."""
        for run in self.runs:
            run.end()
        super().__exit__(*error)

    def environment(self, name: str) -> dict[str, str]:
        """Return a component's environment, with the file of its orders."""
        return super().environment(name) | {
            "VFL_STORM_ORDER": str(self.order(name)),
            **self.own_env.get(name, {}),
        }

    def command(self, name: str, program: str) -> list[str]:
        """Return the first words of a component's command line."""
        return [*self.before.get(name, ()), *super().command(name, program)]

    def order(self, name: str) -> Path:
        """Return the file with the phase in which a component dies."""
        return self.folder / f"{name}.order"

    def to_die(self, name: str, phase: str) -> None:
        """Order that a component dies, with all its children, in a phase."""
        self.order(name).write_text(phase)

    def names(self) -> dict[str, str]:
        """Return each component's name by a line of its environment."""
        components = ["link", *(f"node{k + 1}" for k in range(self.nodes))]
        return {f"VFL_STORM_ORDER={self.order(name)}": name for name in components}

    def home_of(self, name: str) -> Path:
        """Return the folder of a component's files."""
        number = name.removeprefix("node")
        return self.folder / (f"party-{number}" if number != name else "active")

    def dead(self, name: str) -> bool:
        """Tell whether a component has ended; forget it if so."""
        if name in self.processes and self.processes[name].poll() is None:
            return False
        if name in self.processes:
            self.end(name)
        return True

    @contextmanager
    def supervised(self, k: int) -> Iterator[None]:
        """Start a SuperNode again whenever it ends, like a service manager.

        The SuperLink admits it once it has missed the heartbeats of the one before.
        """
        name, over = f"node{k + 1}", Event()

        def keep() -> None:
            while not over.wait(POLL):
                if self.dead(name) and not over.wait(BETWEEN):
                    self.start_node(k)

        supervisor = Thread(target=keep, daemon=True)
        supervisor.start()
        try:
            yield
        finally:
            over.set()
            supervisor.join()

    def start(self, name: str, options: str) -> "Run":
        """Start a run; its number of parties and its address are added."""
        listen = "" if "stream-listen" in options else LISTEN
        return self.going_on(f'parties={self.nodes + 1} run-name="{name}" {listen} {options}', name)

    def going_on(self, options: str, name: str) -> "Run":
        """Start a run with these options and no others."""
        file = self.folder / f"run-{len(self.runs)}.log"
        command = [str(Path(sys.executable).parent / "flwr"), "run", ".", CONNECTION, "--stream"]
        with file.open("wb") as log:
            process = subprocess.Popen(  # noqa: S603
                [*command, "--run-config", options],
                cwd=self.app,
                env=self.env,
                stdout=log,
                stderr=log,
            )
        self.runs.append(Run(self, name, process, file))
        return self.runs[-1]

    def weights(self, name: str) -> list[bytes]:
        """Return the parties' weights of a run, empty where there are none."""
        roots = [self.home_of("link"), *(self.home_of(f"node{k + 1}") for k in range(self.nodes))]
        files = [
            root / name / party_name(k) / "model/weights.safetensors"
            for k, root in enumerate(roots)
        ]
        return [file.read_bytes() if file.is_file() else b"" for file in files]


class Run:
    """A run that ``flwr run --stream`` follows, logged to a file.

    Parameters
    ----------
    scene : Loopback
        Where it happens.
    name : str
        Its name.
    process : Popen
        The command.
    file : Path
        Its log.
    """

    def __init__(
        self, scene: Loopback, name: str, process: "subprocess.Popen[bytes]", file: Path
    ) -> None:
        self.scene, self.name, self.process, self.file = scene, name, process, file

    @property
    def log(self) -> str:
        """Its log so far, without colours."""
        return ANSI.sub("", self.file.read_text(errors="replace"))

    @property
    def epochs(self) -> int:
        """Number of evaluations so far."""
        metrics = self.scene.folder / "active" / self.name / "metrics.jsonl"
        return metrics.read_text().count("\n") if metrics.is_file() else 0

    @property
    def ended(self) -> bool:
        """Whether the command has ended."""
        return self.process.poll() is not None

    @property
    def number(self) -> str:
        """Flower's number of the run, empty as long as it has none."""
        found = re.findall(rf"{STARTED} (\d+)", self.log)
        return str(found[0]) if found else ""

    def finish(self, clock: Clock) -> str:
        """Wait for the end; return the log."""
        clock.wait(lambda: self.ended, f"the end of run {self.name}")
        return self.log

    def reach(self, epoch: int, clock: Clock) -> None:
        """Wait for the end of an epoch, or of the run."""
        clock.wait(lambda: self.epochs >= epoch or self.ended, f"epoch {epoch} of {self.name}")

    def stop(self) -> None:
        """Ask Flower to stop it."""
        if number := self.number:
            self.scene.flwr("stop", number, CONNECTION)

    def end(self) -> None:
        """Free the nodes, and end the command."""
        if not self.ended:
            if "link" in self.scene.processes:
                self.stop()
            self.process.kill()
        self.process.wait()

    def forget(self) -> None:
        """End the command alone."""
        self.process.kill()
        self.process.wait()
