"""A real deployment on loopback: SuperLink and SuperNodes, TLS, authentication."""

import time
from pathlib import Path

import pytest
from safetensors.numpy import load_file

from deploy.local import CONNECTION, Deployment
from tests.helpers.connections.deployments import (
    OPENING,
    PATIENCE,
    Start,
    local_weights,
    named,
    result,
    weights,
)
from tests.helpers.outcomes.pages import own_network
from vfl_flower.common.layout import steps_kept
from vfl_flower.crypto.identity import make_identity
from vfl_flower.privacy.guarantees import READABLE, VARIANCES

pytestmark = pytest.mark.slow


def test_the_stream_equals_the_local_carrier(
    deployment: Deployment, start: Start, tmp_path: Path
) -> None:
    log = start(named("plain", "epochs=3")).finished()
    assert weights(deployment, "plain") == local_weights(tmp_path / "run", 3), log
    content = result(deployment, "plain")
    assert content["transport"] == "stream"
    assert content["connections"]["tls"] is True
    assert set(content["connections"]["addresses"]) == {"party-1", "party-2", "party-3"}
    for k in (1, 2, 3):
        kept = deployment.folder / f"party-{k}" / "plain" / f"party-{k}"
        assert kept.stat().st_mode & 0o777 == 0o700


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
    (tmp_path / "my_networks.py").write_text(own_network())
    for k in (1, 2, 3):
        make_identity(tmp_path / f"identity-{k}")
    lines = [f"party-{k} {(tmp_path / f'identity-{k}.pub').read_text()}" for k in (1, 2, 3)]
    (tmp_path / "peers").write_text("".join(lines))
    (tmp_path / "peers").chmod(0o644)
    deployment.env["PYTHONPATH"] = str(tmp_path)
    for k in range(3):
        deployment.end(f"node{k + 1}")
        files = {"identity": tmp_path / f"identity-{k + 1}", "peers": tmp_path / "peers"}
        deployment.start_node(k, model="my_networks:Mine", learning_rate=0.01, **files)
    deployment.wait_online()
    log = start(f'{OPENING} epochs=2 run-name="own" share-check="on"').finished()
    assert result(deployment, "own")["unprotected"] == [VARIANCES, READABLE], log
    for k in (1, 2, 3):
        folder = deployment.folder / f"party-{k}" / "own" / f"party-{k}"
        assert "first.weight" in load_file(folder / "model/weights.safetensors")
    public = start(f'{OPENING} epochs=2 party-randomness="public"').finished()
    assert "this party pins identities" in public
