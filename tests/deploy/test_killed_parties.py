"""SuperNodes and ClientApps that die in a deployment on loopback."""

import os
import signal
import subprocess
import threading
import time

import pytest

from deploy.local import Deployment
from tests.helpers.connections.deployments import EPOCHS, Start, kill, named, result, weights

pytestmark = pytest.mark.slow


def supervise(deployment: Deployment, k: int, until: "subprocess.Popen[bytes]") -> None:
    """Restart a SuperNode until the SuperLink admits it.

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


def test_a_supernode_and_a_clientapp_that_are_killed_come_back(
    deployment: Deployment, start: Start, whole: list[bytes]
) -> None:
    """Within an epoch: a SuperNode with its ClientApp, and a ClientApp alone.

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
    assert result(deployment, "killed")["connections"]["returns_to_a_checkpoint"] >= 1
    watcher.join()


def test_a_run_goes_on_without_a_supernode_that_stays_away(
    deployment: Deployment, start: Start
) -> None:
    """It is the last test: the SuperNode stays away."""
    leaving = f'epochs={EPOCHS} method="splitnn" return-timeout=15.0 on-leave="continue"'
    run = start(named("gone", leaving))
    run.wait_for_epoch("gone", 5)
    os.killpg(deployment.processes.pop("node2").pid, signal.SIGKILL)
    log = run.finished()
    assert "party-2 did not come back" in log
    assert result(deployment, "gone")["without"] == ["party-2"], log
