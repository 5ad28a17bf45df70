"""A run between two hosts: network namespaces with a bad link."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict
from functools import partial
from pathlib import Path

import pytest
import torch
from flwr.common import FitIns, FitRes, Parameters

from tests.helpers.connections.streams import FakeGrid, run_stream
from vfl_flower.config.run_config import RunConfig
from vfl_flower.transport.endpoint import OK
from vfl_flower.transport.local import run_local
from vfl_flower.transport.stream.invitation import invitation_in
from vfl_flower.workflows.build_parties import build_active, build_passive

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("ip"), reason="needs root and ip"),
]

ROOT = Path(__file__).resolve().parents[2]
CFG = RunConfig(models="mlp", epochs=2, batch_size=200, embedding_dim=16)
OTHER, NEAR, FAR = "vfl-other", "vfl-near", "vfl-far"
HERE, THERE = "10.213.77.1", "10.213.77.2"


def tool(*words: str, inside: bool = False) -> bool:
    """Run ip or tc on a host; tell whether it worked."""
    command = [*(("ip", "netns", "exec", OTHER) if inside else ()), *words]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0  # noqa: S603


@pytest.fixture
def wire() -> Iterator[None]:
    """Make the other host, and a wire to it."""
    made = (
        tool("ip", "netns", "add", OTHER)
        and tool("ip", "link", "add", NEAR, "type", "veth", "peer", "name", FAR)
        and tool("ip", "link", "set", FAR, "netns", OTHER)
        and tool("ip", "addr", "add", f"{HERE}/24", "dev", NEAR)
        and tool("ip", "link", "set", NEAR, "up")
        and tool("ip", "addr", "add", f"{THERE}/24", "dev", FAR, inside=True)
        and tool("ip", "link", "set", FAR, "up", inside=True)
    )
    try:
        if not made:
            pytest.skip("network namespaces are not allowed here")
        yield
    finally:
        tool("ip", "link", "del", NEAR)
        tool("ip", "netns", "del", OTHER)


def visit_from_there(k: int, ins: FitIns) -> FitRes:
    """Let a party of the other host keep a session."""
    opened = invitation_in(ins.config)
    assert opened is not None
    invitation = asdict(opened[0])
    for key in ("certificate", "token"):
        invitation[key] = invitation[key].hex()
    told = {"invitation": invitation, "rank": k + 1, "options": CFG.to_mapping()}
    subprocess.run(  # noqa: S603
        ["ip", "netns", "exec", OTHER, sys.executable, "-m", "tests.helpers.connections.visitor"],  # noqa: S607
        input=json.dumps(told),
        text=True,
        cwd=ROOT,
        check=True,
        timeout=240,
    )
    return FitRes(OK, Parameters([], "numpy.ndarray"), 0, {})


@pytest.mark.parametrize("trouble", [(), ("delay", "10ms", "loss", "1%")], ids=["good", "bad"])
@pytest.mark.usefixtures("wire")
def test_parties_of_another_host_come_to_the_same_weights(trouble: tuple[str, ...]) -> None:
    """With 20 ms round trip and one percent packet loss, too."""
    if trouble:
        netem = ("root", "netem", *trouble)
        worked = tool("tc", "qdisc", "add", "dev", NEAR, *netem)
        if not worked or not tool("tc", "qdisc", "add", "dev", FAR, *netem, inside=True):
            pytest.skip("this kernel has no netem")
    grid = FakeGrid({100 + k: partial(visit_from_there, k) for k in range(3)})
    active, expected = build_active(CFG), build_active(CFG)
    facts = run_stream(active, grid, f"{HERE}:0", {})
    run_local(expected, [build_passive(CFG, k) for k in range(1, 4)])
    for ours, theirs in zip(active.net.parameters(), expected.net.parameters(), strict=True):
        assert torch.equal(ours, theirs)
    assert all(THERE in address for address in facts["addresses"].values())
