"""Runs that ``flwr stop`` ends in a deployment on loopback."""

import time

import pytest

from deploy.local import CONNECTION, Deployment
from tests.helpers.connections.deployments import EPOCHS, Start, named, running, weights

pytestmark = pytest.mark.slow

SOON = 60.0  # seconds on a busy machine; a run would wait 240 s for its parties


def ends(deployment: Deployment) -> None:
    """Wait until no process of the app is left."""
    deadline = time.monotonic() + SOON
    while left := running(deployment, "flwr-serverapp", "flwr-clientapp"):
        assert time.monotonic() < deadline, left
        time.sleep(0.2)


def test_a_run_that_waits_for_a_party_is_stopped(deployment: Deployment, start: Start) -> None:
    run = start(named("waiting", "").replace("parties=4", "parties=5"))
    run.wait_until(lambda: run.log().count("has joined") == 3)
    deployment.flwr("stop", run.number(), CONNECTION)
    ends(deployment)
    assert not (deployment.folder / "active" / "waiting").exists()


def test_a_run_that_trains_is_stopped_and_resumed(
    deployment: Deployment, start: Start, whole: list[bytes]
) -> None:
    run = start(named("training", f"epochs={EPOCHS}"))
    run.wait_for_epoch("training", 5)
    deployment.flwr("stop", run.number(), CONNECTION)
    ends(deployment)
    log = start('resume="training"').finished()
    assert weights(deployment, "training") == whole, log
