"""A real deployment on loopback: SuperLink and SuperNodes, TLS, authentication, sudden deaths."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from safetensors.numpy import load_file

from deploy.local import CONNECTION, Deployment
from tests.helpers.commands import train as run
from vfl_flower.common.layout import steps_kept
from vfl_flower.common.names import party_name
from vfl_flower.crypto.identity import make_identity
from vfl_flower.privacy.guarantees import READABLE

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.slow

PATIENCE = 240.0  # seconds: a busy machine takes long to start four processes that import torch
OPENING = f'parties=4 stream-listen="127.0.0.1:0" party-timeout={PATIENCE} models="mlp"'
EPOCHS = 100  # enough for what happens after some of them to happen before the last
KNOBS = 'stream-grace=10.0 batch-size=256 embedding-dim=16 party-randomness="public"'
FLAGS = ["--models", "mlp", "--batch-size", "256", "--embedding-dim", "16", "--bounds", "off"]
ANSI = re.compile(r"\x1b\[[0-9;]*m")


@dataclass
class Run:
    """A run of a deployment: ``flwr run --stream``, its log in a file.

    A pipe that nobody reads gets full, and shows nothing when a test fails.
    """

    deployment: Deployment
    process: "subprocess.Popen[bytes]"
    file: Path

    def log(self) -> str:
        return ANSI.sub("", self.file.read_text(errors="replace"))

    def wait_until(self, reached: Callable[[], bool]) -> None:
        """Wait until the run has got somewhere; tell at once if it has ended before."""
        deadline = time.monotonic() + PATIENCE
        while True:
            ended = self.process.poll() is not None
            if reached():
                return
            assert not ended, f"the run has ended\n{self.told()}"
            assert time.monotonic() < deadline, f"the run does not get on\n{self.told()}"
            time.sleep(0.05)

    def wait_for_epoch(self, name: str, epoch: int) -> None:
        """Wait until the run has evaluated the end of an epoch."""
        metrics = self.deployment.folder / "active" / name / "metrics.jsonl"
        self.wait_until(lambda: metrics.is_file() and metrics.read_text().count("\n") >= epoch)

    def finished(self) -> str:
        """Wait for the run's end, and return its log."""
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"the run does not end\n{self.told()}") from None
        return self.log()

    def number(self) -> str:
        """Wait until Flower has given the run a number."""
        self.wait_until(lambda: "Successfully started run" in self.log())
        (number,) = re.findall(r"Successfully started run (\d+)", self.log())
        return str(number)

    def told(self) -> str:
        """Return what the run, the SuperLink and the SuperNodes have said last."""
        logs = [self.file, *sorted(self.deployment.folder.glob("[ln]*.log"))]
        tails = [file.read_text(errors="replace").splitlines()[-30:] for file in logs]
        components = zip(logs, tails, strict=True)
        return ANSI.sub("", "\n".join(f"== {file.name}\n" + "\n".join(t) for file, t in components))

    def end(self) -> None:
        """Leave the nodes to the next run: they serve one after the other."""
        if self.process.poll() is None:
            for number in re.findall(r"Successfully started run (\d+)", self.log()):
                self.deployment.flwr("stop", number, CONNECTION)
            self.process.kill()
            self.process.wait()


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """Start a SuperLink and three SuperNodes."""
    with Deployment(tmp_path_factory.mktemp("deployment"), 3) as made:
        yield made


Start = Callable[[str], Run]


@pytest.fixture
def start(deployment: Deployment, tmp_path: Path) -> Iterator[Start]:
    """Give what starts a run with a configuration; none outlives its test."""
    with contextlib.ExitStack() as runs:

        def streamed(config: str) -> Run:
            file = tmp_path / f"run-{len(list(tmp_path.glob('run-*.log')))}.log"
            with file.open("wb") as log:
                process = subprocess.Popen(  # noqa: S603
                    [
                        str(Path(sys.executable).parent / "flwr"),
                        *("run", ".", CONNECTION, "--stream", "--run-config", config),
                    ],
                    cwd=deployment.app,
                    env=deployment.env,
                    stdout=log,
                    stderr=log,
                )
            run = Run(deployment, process, file)
            runs.callback(run.end)
            return run

        yield streamed


def named(name: str, options: str) -> str:
    """Return the configuration of a run that starts anew."""
    return f'{OPENING} run-name="{name}" {KNOBS} {options}'


def weights(deployment: Deployment, name: str) -> list[bytes]:
    """Return every party's weights, each from its own state folder; nothing, if it has none."""
    roots = [deployment.folder / root for root in ("active", "party-1", "party-2", "party-3")]
    files = [r / name / party_name(k) / "model/weights.safetensors" for k, r in enumerate(roots)]
    return [file.read_bytes() if file.exists() else b"" for file in files]


def local_weights(folder: Path, epochs: int) -> list[bytes]:
    """Return the weights of the same run on the local carrier."""
    assert run([*FLAGS, "--epochs", str(epochs), "--out", str(folder)]) == 0
    return [(folder / party_name(k) / "model/weights.safetensors").read_bytes() for k in range(4)]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    """Return the weights of a run that nothing happens to."""
    return local_weights(tmp_path_factory.mktemp("local") / "run", EPOCHS)


def result(deployment: Deployment, name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(
        (deployment.folder / "active" / name / "result.json").read_text()
    )
    return content


def kill(deployment: Deployment, program: str, within: str = "") -> None:
    """Kill -9 the deployment's processes of a program, all or those of one process group."""
    group = deployment.processes[within].pid if within else 0
    home = f"FLWR_HOME={deployment.env['FLWR_HOME']}".encode()
    killed = 0
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            ours = home in (folder / "environ").read_bytes()
            line = (folder / "cmdline").read_bytes().decode(errors="replace")
            inside = not group or os.getpgid(int(folder.name)) == group
        except OSError:
            continue
        if ours and inside and program in line:
            os.kill(int(folder.name), signal.SIGKILL)
            killed += 1
    assert killed


def supervise(deployment: Deployment, k: int, until: "subprocess.Popen[bytes]") -> None:
    """Start a SuperNode again until the SuperLink lets it in, as a supervisor does.

    It does so once it has missed the heartbeats of the one that was killed.
    """
    while until.poll() is None:
        deployment.start_node(k)
        while (node := deployment.processes[f"node{k + 1}"]).poll() is None:
            if until.poll() is not None:
                return
            time.sleep(0.5)
        node.wait()
        deployment.end(f"node{k + 1}")
        time.sleep(2)


def test_the_stream_equals_the_local_carrier(
    deployment: Deployment, start: Start, tmp_path: Path
) -> None:
    log = start(named("plain", "epochs=3")).finished()
    assert weights(deployment, "plain") == local_weights(tmp_path / "run", 3), log
    content = result(deployment, "plain")
    assert content["carrier"] == "stream"
    assert content["carriage"]["tls"] is True
    assert set(content["carriage"]["addresses"]) == {"party-1", "party-2", "party-3"}
    for k in (1, 2, 3):
        kept = deployment.folder / f"party-{k}" / "plain" / f"party-{k}"
        assert kept.stat().st_mode & 0o777 == 0o700


def test_a_supernode_and_a_clientapp_that_are_killed_come_back(
    deployment: Deployment, start: Start, whole: list[bytes]
) -> None:
    """In the middle of an epoch: a SuperNode with its ClientApp, and another's ClientApp alone.

    The one is started again by its supervisor, the other by its SuperNode.
    """
    run = start(named("killed", f"epochs={EPOCHS}"))
    run.wait_for_epoch("killed", 5)
    os.killpg(deployment.processes.pop("node2").pid, signal.SIGKILL)
    kill(deployment, "flwr-clientapp", within="node3")
    watcher = threading.Thread(target=supervise, args=(deployment, 1, run.process), daemon=True)
    watcher.start()
    log = run.finished()
    assert weights(deployment, "killed") == whole, log
    assert result(deployment, "killed")["carriage"]["returns_to_a_checkpoint"] >= 1
    watcher.join()


def test_a_serverapp_that_is_killed_is_resumed(
    deployment: Deployment, start: Start, whole: list[bytes]
) -> None:
    """At once, though Flower takes its run to go on until it has missed some heartbeats."""
    run = start(named("server-killed", f"epochs={EPOCHS}"))
    run.wait_for_epoch("server-killed", 5)
    kill(deployment, "flwr-serverapp")
    run.process.kill()
    log = start('resume="server-killed"').finished()
    assert weights(deployment, "server-killed") == whole, log


def test_a_superlink_that_is_killed_is_started_again_and_the_run_resumed(
    deployment: Deployment, start: Start, whole: list[bytes]
) -> None:
    """Its ServerApp dies with it; the nodes find the new one by themselves."""
    run = start(named("link-killed", f"epochs={EPOCHS}"))
    run.wait_for_epoch("link-killed", 5)
    os.killpg(deployment.processes.pop("link").pid, signal.SIGKILL)
    run.process.kill()
    deployment.start_link()
    deployment.wait_online()
    log = start('resume="link-killed"').finished()
    assert weights(deployment, "link-killed") == whole, log


def test_a_run_that_is_stopped_leaves_a_checkpoint_and_no_party(
    deployment: Deployment, start: Start
) -> None:
    run = start(named("stopped", "epochs=3000 checkpoint-every=1000"))
    run.wait_for_epoch("stopped", 10)
    assert "successfully stopped" in deployment.flwr("stop", run.number(), CONNECTION)
    run.finished()
    deadline = time.monotonic() + PATIENCE
    while len(steps_kept(deployment.folder / "active/stopped/active")) < 2:
        assert time.monotonic() < deadline
        time.sleep(0.5)
    kept = steps_kept(deployment.folder / "active/stopped/active")
    assert kept[-1] > 50
    for k in (1, 2, 3):
        assert steps_kept(deployment.folder / f"party-{k}/stopped/party-{k}") == kept


def test_own_networks_and_pinned_identities(
    deployment: Deployment, start: Start, tmp_path: Path
) -> None:
    """Each party's own configuration says so; the network lives outside the project."""
    readme = (ROOT / "README.md").read_text().split("```python\n")
    own = next(block for block in readme if block.startswith("# my_networks.py"))
    (tmp_path / "my_networks.py").write_text(own.split("```")[0])
    for k in (1, 2, 3):
        make_identity(tmp_path / f"identity-{k}")
    lines = [f"party-{k} {(tmp_path / f'identity-{k}.pub').read_text()}" for k in (1, 2, 3)]
    (tmp_path / "peers").write_text("".join(lines))
    deployment.env["PYTHONPATH"] = str(tmp_path)
    for k in range(3):
        deployment.end(f"node{k + 1}")
        files = {"identity": tmp_path / f"identity-{k + 1}", "peers": tmp_path / "peers"}
        deployment.start_node(k, model="my_networks:Mine", learning_rate=0.01, **files)
    deployment.wait_online()
    log = start(f'{OPENING} epochs=2 run-name="own"').finished()
    assert result(deployment, "own")["unprotected"] == [READABLE], log
    for k in (1, 2, 3):
        folder = deployment.folder / f"party-{k}" / "own" / f"party-{k}"
        assert "first.weight" in load_file(folder / "model/weights.safetensors")
    public = start(f'{OPENING} epochs=2 party-randomness="public"').finished()
    assert "this party pins identities" in public


def test_a_deployment_that_is_stopped_leaves_no_process(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "deploy.local", "--nodes", "2", "--keep", str(tmp_path)]
    local = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE)  # noqa: S603
    deadline = time.monotonic() + 60
    while len(processes_in(tmp_path)) < 3 and time.monotonic() < deadline:
        time.sleep(0.2)
    assert len(processes_in(tmp_path)) >= 3
    local.terminate()
    assert b"interrupted" in local.communicate(timeout=60)[1]
    assert local.returncode == 130
    assert processes_in(tmp_path) == []


def processes_in(folder: Path) -> list[str]:
    """Return the processes that work in a folder."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended meanwhile, or is not ours
            if (process / "cwd").resolve() == folder:
                found.append(process.name)
    return found
