"""ServerApps and SuperLinks that die in a deployment on loopback."""

import os
import signal

import pytest

from deploy.local import Deployment
from tests.helpers.connections.deployments import EPOCHS, Start, kill, named, weights

pytestmark = pytest.mark.slow


def test_a_serverapp_that_is_killed_is_resumed(
    deployment: Deployment, start: Start, whole: list[bytes]
) -> None:
    """At once, though Flower still waits for its heartbeats."""
    run = start(named("server-killed", f"epochs={EPOCHS}"))
    run.wait_for_epoch("server-killed", 5)
    kill(deployment, "flwr-serverapp")
    run.process.kill()
    log = start('resume="server-killed"').finished()
    assert weights(deployment, "server-killed") == whole, log


def test_a_superlink_that_is_killed_is_started_again_and_the_run_resumed(
    deployment: Deployment, start: Start, whole: list[bytes]
) -> None:
    """Its ServerApp dies with it; the nodes find the new one."""
    run = start(named("link-killed", f"epochs={EPOCHS}"))
    run.wait_for_epoch("link-killed", 5)
    os.killpg(deployment.processes.pop("link").pid, signal.SIGKILL)
    run.process.kill()
    deployment.start_link()
    deployment.wait_online()
    log = start('resume="link-killed"').finished()
    assert weights(deployment, "link-killed") == whole, log
