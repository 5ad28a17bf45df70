"""``vfl-flower deploy local``: a deployment on loopback for one run.

A SuperLink with TLS and SuperNode authentication, four SuperNodes, their certificates and keys made
on the spot; then ``flwr run . local-deployment``, its log, and the end of all that was started.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Self

import click

from vfl_flower.cli.main import guarded
from vfl_flower.cli.options import FILE, FOLDER
from vfl_flower.common.errors import Interrupted, RunError
from vfl_flower.common.files import write_atomically
from vfl_flower.common.signals import raise_at_signals, stopped_by
from vfl_flower.common.sources import INSTALLED, ROOT, write_app
from vfl_flower.config.policy.file import read_policy
from vfl_flower.config.policy.record import OPEN
from vfl_flower.config.policy.text import text_of

from .certificates import make_ca, make_node_key, make_server
from .groups import end_groups, groups_below
from .ports import free_port, listens

CONNECTION = "local-deployment"
SMALL = 'models="mlp"'  # one party of five holds a single column of pixels, too narrow for a CNN
QUIET = {
    "FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION": "1",
    "FLWR_DISABLE_UPDATE_CHECK": "1",
    "FLWR_TELEMETRY_ENABLED": "0",
}
START, _ONLINE, _ENDING = 60.0, 60.0, 5.0  # seconds
_POLICY = "policy.toml"
_PROGRAMS = Path(sys.executable).parent
TRIAL = replace(OPEN, name="trial")
"""Policy of the nodes unless another is named: all parties are this user's, who allows all runs."""


class Deployment:
    """A SuperLink and SuperNodes on loopback during a ``with`` block.

    Parameters
    ----------
    folder : Path
        Where certificates, keys, logs and the parties' state go.
    nodes : int
        How many SuperNodes, one for each passive party.
    app : Path, optional
        The project that is run; by default this one.
    own : sequence of str
        What the nodes' configurations have beside what they need, the first node's first.
    policy : str
        Text of the policy file of all nodes.

    `entry` is the port that the SuperNodes dial: the SuperLink's, unless somebody stands between.
    """

    def __init__(
        self,
        folder: Path,
        nodes: int,
        app: Path | None = None,
        own: Sequence[str] = (),
        policy: str = text_of(TRIAL),
    ) -> None:
        self.folder, self.nodes, self.own = folder, nodes, own
        self.app = app or (folder / "app" if INSTALLED else ROOT)
        self.policy = policy
        self.port = self.entry = free_port()
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.env = os.environ | QUIET
        self.env |= {"FLWR_HOME": str(folder / "flwr"), "VFL_FLOWER_HOME": str(folder / "active")}
        self.env["PATH"] = f"{_PROGRAMS}{os.pathsep}{os.environ.get('PATH', '')}"

    def __enter__(self) -> Self:
        """Start everything, and wait until all nodes are online."""
        try:
            self._prepare()
            self.start_link()
            for k in range(self.nodes):
                public = str(self.folder / f"node{k + 1}.pub")
                self.flwr("supernode", "register", public, CONNECTION)
                self.start_node(k)
            self.wait_online()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        """End all started processes, SuperNodes first, whatever signals come meanwhile."""
        with stopped_by(lambda number, frame: None):
            for name in sorted(self.processes, reverse=True):
                self.end(name)

    def _prepare(self) -> None:
        write_atomically(self.folder / _POLICY, self.policy.encode())
        if not self.app.exists():
            write_app(self.app)
        make_ca(self.folder)
        make_server(self.folder, ["localhost", "127.0.0.1"])
        for k in range(self.nodes):
            make_node_key(self.folder / f"node{k + 1}")
        (self.folder / "flwr").mkdir(exist_ok=True)
        (self.folder / "flwr" / "config.toml").write_text(
            f'[superlink.{CONNECTION}]\naddress = "127.0.0.1:{self.port}"\n'
            f'root-certificates = "{self.folder / "ca.crt"}"\n'
        )

    def start_link(self) -> None:
        """Start the SuperLink; a second one knows the nodes of the first.

        Raises
        ------
        RunError
            If it does not come up.
        """
        certificates = ("ssl-ca-certfile", "ca.crt"), ("ssl-certfile", "server.crt")
        files = [*certificates, ("ssl-keyfile", "server.key")]
        self._start(
            "link",
            "flower-superlink",
            *("--host", "127.0.0.1", "--port", str(self.port), "--enable-supernode-auth"),
            *("--database", str(self.folder / "link.db")),
            *(part for flag, file in files for part in (f"--{flag}", str(self.folder / file))),
        )
        deadline = time.monotonic() + START
        while not listens(self.port):
            if self.processes["link"].poll() is not None or time.monotonic() > deadline:
                raise RunError(f"the SuperLink did not start; see {self.folder / 'link.log'}")
            time.sleep(0.2)

    def start_node(self, k: int, **own: object) -> None:
        """Start the SuperNode of one passive party.

        `own` are keys of its node configuration.
        """
        config = {
            "partition-id": k,
            "state-dir": str(self.folder / f"party-{k + 1}"),
            "policy": str(self.folder / _POLICY),
            **own,
        }
        entries = [(key.replace("_", "-"), value) for key, value in config.items()]
        written = " ".join(f"{key}={_toml(value)}" for key, value in entries)
        written = " ".join([written, *self.own[k : k + 1]])
        self._start(
            f"node{k + 1}",
            "flower-supernode",
            *("--superlink", f"127.0.0.1:{self.entry}", "--port", str(free_port())),
            *("--root-certificates", str(self.folder / "ca.crt")),
            *("--auth-supernode-private-key", str(self.folder / f"node{k + 1}")),
            *("--node-config", written),
        )

    def _start(self, name: str, program: str, *arguments: str) -> None:
        with (self.folder / f"{name}.log").open("ab") as log:
            self.processes[name] = subprocess.Popen(  # noqa: S603
                [*self.command(name, program), *arguments],
                cwd=self.folder,
                env=self.environment(name),
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def command(self, name: str, program: str) -> list[str]:
        """Return the first words of a component's command line."""
        return [str(_PROGRAMS / program)]

    def environment(self, name: str) -> dict[str, str]:
        """Return a component's environment."""
        return self.env

    def wait_online(self) -> None:
        """Wait until the SuperLink has all nodes.

        Raises
        ------
        RunError
            If that takes too long.
        """
        deadline = time.monotonic() + _ONLINE
        while self.flwr("supernode", "list", CONNECTION).count("online") < self.nodes:
            if time.monotonic() > deadline:
                raise RunError(f"the SuperNodes did not come online; see {self.folder}/node*.log")
            time.sleep(1)

    def end(self, name: str) -> None:
        """End one process and its children, and wait until they are gone."""
        process = self.processes.pop(name)
        groups = groups_below(process.pid)  # a SuperLink's SuperExec is in one of its own
        for number in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(process.pid, number)
                process.wait(15)
            except (ProcessLookupError, subprocess.TimeoutExpired):
                continue
        end_groups(groups, _ENDING)

    def flwr(self, *arguments: str) -> str:
        """Run one ``flwr`` command and return its output."""
        done = subprocess.run(  # noqa: S603
            [str(_PROGRAMS / "flwr"), *arguments],
            cwd=self.app,
            env=self.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        return done.stdout

    def run(self, options: str) -> bool:
        """Run the app; tell whether all runs so far completed.

        Its log goes to this terminal.
        """
        listen = f'parties={self.nodes + 1} stream-listen="127.0.0.1:0" {options}'
        command = ["run", ".", CONNECTION, "--stream", "--run-config", listen]
        program = str(_PROGRAMS / "flwr")
        done = subprocess.run([program, *command], cwd=self.app, env=self.env, check=False)  # noqa: S603
        listed = json.loads(self.flwr("list", CONNECTION, "--format", "json"))["runs"]
        good = all(run["status"] == "finished:completed" for run in listed)
        return good and not done.returncode


def _toml(value: object) -> str:
    return str(value).lower() if isinstance(value, bool | int | float) else f'"{value}"'


@click.command()
@click.option("--nodes", default=4, metavar="N", help="passive parties (default: 4)")
@click.option(
    "--node", multiple=True, metavar="KEYS", help="a node's own configuration; first party-1's, ..."
)
@click.option("--policy", type=FILE, help="policy of all nodes; without it they allow all runs")
@click.option(
    "--run-config",
    multiple=True,
    default=[SMALL],
    metavar="OPTIONS",
    help="as for flwr run; several are runs one after the other",
)
@click.option("--keep", type=FOLDER, metavar="DIR", help="keep logs, keys and results there")
def local(
    nodes: int,
    node: Sequence[str],
    policy: Path | None,
    run_config: Sequence[str],
    keep: Path | None,
) -> None:
    """Make a whole deployment on this machine, for one run or several.

    That is a SuperLink with TLS and SuperNode authentication on loopback, SuperNodes, their
    certificates and keys; all of it ends with the run.
    """
    rules = text_of(read_policy(policy) if policy else TRIAL)
    folder = (keep or Path(tempfile.mkdtemp(prefix="vfl-flower-"))).absolute()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        with Deployment(folder, nodes, own=node, policy=rules) as deployment:
            for options in run_config:
                if not deployment.run(options):
                    raise RunError("the run did not complete; its log is above")
    except KeyboardInterrupt:
        raise Interrupted("what was started has ended") from None
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    raise_at_signals()
    sys.exit(guarded(local, "python -m deploy.local", sys.argv[1:]))
