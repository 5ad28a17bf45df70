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
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from safetensors.numpy import load_file

from deploy.local import CONNECTION, Deployment
from tests.commands import train as run
from vfl_flower.checkpoint import steps_kept
from vfl_flower.identity import make_identity
from vfl_flower.names import member_name
from vfl_flower.protections import READABLE

ROOT = Path(__file__).resolve().parents[1]
pytestmark = pytest.mark.slow

KNOBS = 'models="mlp" stream-grace=10.0 batch-size=256 embedding-dim=16 party-randomness="public"'
FLAGS = ["--models", "mlp", "--batch-size", "256", "--embedding-dim", "16", "--bounds", "off"]
ANSI = re.compile(r"\x1b\[[0-9;]*m")


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """Start a SuperLink and three SuperNodes."""
    with Deployment(tmp_path_factory.mktemp("deployment"), 3) as made:
        yield made


def started(deployment: Deployment, name: str, knobs: str) -> "subprocess.Popen[str]":
    """Start a run, and return the process that streams its log."""
    config = f'parties=4 run-name="{name}" stream-listen="127.0.0.1:0" {KNOBS} {knobs}'
    return streaming(deployment, config)


def streaming(deployment: Deployment, config: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(  # noqa: S603
        [
            str(Path(sys.executable).parent / "flwr"),
            *("run", ".", CONNECTION, "--stream", "--run-config", config),
        ],
        cwd=deployment.app,
        env=deployment.env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def finished(process: "subprocess.Popen[str]") -> str:
    """Wait for a run's end, and return its log."""
    return ANSI.sub("", process.communicate(timeout=240)[0])


def weights(deployment: Deployment, name: str) -> list[bytes]:
    """Return every party's weights, each from its own state folder."""
    roots = [deployment.folder / root for root in ("active", "party-1", "party-2", "party-3")]
    files = [r / name / member_name(k) / "model/weights.safetensors" for k, r in enumerate(roots)]
    return [file.read_bytes() for file in files]


def local_weights(folder: Path, epochs: int) -> list[bytes]:
    """Return the weights of the same run on the local carrier."""
    assert run([*FLAGS, "--epochs", str(epochs), "--out", str(folder)]) == 0
    return [(folder / member_name(k) / "model/weights.safetensors").read_bytes() for k in range(4)]


def result(deployment: Deployment, name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(
        (deployment.folder / "active" / name / "result.json").read_text()
    )
    return content


def wait_for_epoch(deployment: Deployment, name: str, epoch: int) -> None:
    """Wait until the run has evaluated the end of an epoch."""
    metrics = deployment.folder / "active" / name / "metrics.jsonl"
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline:
        if metrics.is_file() and metrics.read_text().count("\n") >= epoch:
            return
        time.sleep(0.05)
    raise AssertionError("the run does not get on")


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


def supervise(deployment: Deployment, k: int, until: "subprocess.Popen[str]") -> None:
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


def test_the_stream_equals_the_local_carrier(deployment: Deployment, tmp_path: Path) -> None:
    log = finished(started(deployment, "plain", "epochs=3"))
    assert weights(deployment, "plain") == local_weights(tmp_path / "run", 3), log
    content = result(deployment, "plain")
    assert content["carrier"] == "stream"
    assert content["carriage"]["tls"] is True
    assert set(content["carriage"]["addresses"]) == {"party-1", "party-2", "party-3"}
    for k in (1, 2, 3):
        kept = deployment.folder / f"party-{k}" / "plain" / f"party-{k}"
        assert kept.stat().st_mode & 0o777 == 0o700


def test_a_supernode_that_is_killed_comes_back(deployment: Deployment, tmp_path: Path) -> None:
    """With its ClientApp, in the middle of an epoch; its supervisor starts it again."""
    process = started(deployment, "node-killed", "epochs=150")
    wait_for_epoch(deployment, "node-killed", 10)
    os.killpg(deployment.processes.pop("node2").pid, signal.SIGKILL)
    watcher = threading.Thread(target=supervise, args=(deployment, 1, process), daemon=True)
    watcher.start()
    log = finished(process)
    assert weights(deployment, "node-killed") == local_weights(tmp_path / "run", 150), log
    assert result(deployment, "node-killed")["carriage"]["returns_to_a_checkpoint"] >= 1
    watcher.join()


def test_a_clientapp_that_is_killed_comes_back(deployment: Deployment, tmp_path: Path) -> None:
    process = started(deployment, "app-killed", "epochs=150")
    wait_for_epoch(deployment, "app-killed", 10)
    kill(deployment, "flwr-clientapp", within="node3")
    log = finished(process)
    assert weights(deployment, "app-killed") == local_weights(tmp_path / "run", 150), log


def test_a_serverapp_that_is_killed_is_resumed(deployment: Deployment, tmp_path: Path) -> None:
    process = started(deployment, "server-killed", "epochs=150")
    wait_for_epoch(deployment, "server-killed", 10)
    kill(deployment, "flwr-serverapp")
    finished(process)
    log = finished(streaming(deployment, 'resume="server-killed"'))
    assert weights(deployment, "server-killed") == local_weights(tmp_path / "run", 150), log


def test_a_superlink_that_is_killed_is_started_again_and_the_run_resumed(
    deployment: Deployment, tmp_path: Path
) -> None:
    """Its ServerApp dies with it; the nodes find the new one by themselves."""
    process = started(deployment, "link-killed", "epochs=150")
    wait_for_epoch(deployment, "link-killed", 10)
    os.killpg(deployment.processes.pop("link").pid, signal.SIGKILL)
    process.kill()
    deployment.start_link()
    deployment.wait_online()
    log = finished(streaming(deployment, 'resume="link-killed"'))
    assert weights(deployment, "link-killed") == local_weights(tmp_path / "run", 150), log


def test_a_run_that_is_stopped_leaves_a_checkpoint_and_no_party(deployment: Deployment) -> None:
    process = started(deployment, "stopped", "epochs=3000 checkpoint-every=1000")
    assert process.stdout is not None
    line = next(line for line in process.stdout if "Successfully started run" in line)
    (number,) = re.findall(r"\d{10,}", ANSI.sub("", line))
    wait_for_epoch(deployment, "stopped", 10)
    assert "successfully stopped" in deployment.flwr("stop", number, CONNECTION)
    finished(process)
    deadline = time.monotonic() + 30
    while len(steps_kept(deployment.folder / "active/stopped/active")) < 2:
        assert time.monotonic() < deadline
        time.sleep(0.5)
    kept = steps_kept(deployment.folder / "active/stopped/active")
    assert kept[-1] > 50
    for k in (1, 2, 3):
        assert steps_kept(deployment.folder / f"party-{k}/stopped/party-{k}") == kept


def test_own_networks_and_pinned_identities(deployment: Deployment, tmp_path: Path) -> None:
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
    config = 'parties=4 stream-listen="127.0.0.1:0" models="mlp" epochs=2'
    log = finished(streaming(deployment, f'{config} run-name="own"'))
    assert result(deployment, "own")["unprotected"] == [READABLE], log
    for k in (1, 2, 3):
        folder = deployment.folder / f"party-{k}" / "own" / f"party-{k}"
        assert "first.weight" in load_file(folder / "model/weights.safetensors")
    public = finished(streaming(deployment, f'{config} party-randomness="public"'))
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
