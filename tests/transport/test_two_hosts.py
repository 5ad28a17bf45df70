"""A run between two hosts: network namespaces with a bad link."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
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
TROUBLES: list[tuple[str, ...]] = [(), ("delay", "10ms", "loss", "1%")]
PATIENCE = 10
"""Seconds until the other host reaches this one."""


@dataclass(frozen=True)
class Wire:
    """A wire to another host, with names of this test's own.

    Nobody else's are touched, whatever runs beside it.
    """

    number: int

    @property
    def other(self) -> str:
        """Network namespace that is the other host."""
        return f"vfl-{os.getpid()}-{self.number}"

    @property
    def ends(self) -> tuple[str, str]:
        """Interfaces, here and there; Linux allows 15 letters."""
        return f"vn{os.getpid()}-{self.number}", f"vf{os.getpid()}-{self.number}"

    @property
    def addresses(self) -> tuple[str, str]:
        """IP addresses, here and there."""
        net = f"10.{200 + os.getpid() // 250 % 50}.{os.getpid() % 250}"
        return f"{net}.{4 * self.number + 1}", f"{net}.{4 * self.number + 2}"

    def tool(self, *words: str, inside: bool = False) -> bool:
        """Run ip or tc on a host; tell whether it worked."""
        command = [*(("ip", "netns", "exec", self.other) if inside else ()), *words]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0  # noqa: S603

    def made(self) -> bool:
        """Make the other host and the wire; tell whether they are allowed."""
        (near, far), (here, there) = self.ends, self.addresses
        return (
            self.tool("ip", "netns", "add", self.other)
            and self.tool("ip", "link", "add", near, "type", "veth", "peer", "name", far)
            and self.tool("ip", "link", "set", far, "netns", self.other)
            and self.tool("ip", "addr", "add", f"{here}/30", "dev", near)
            and self.tool("ip", "link", "set", near, "up")
            and self.tool("ip", "addr", "add", f"{there}/30", "dev", far, inside=True)
            and self.tool("ip", "link", "set", far, "up", inside=True)
        )

    def reaches_here(self) -> bool:
        """Wait for a route from the other host; tell whether one came."""
        deadline = time.monotonic() + PATIENCE
        while not self.tool("ip", "route", "get", self.addresses[0], inside=True):
            if time.monotonic() > deadline:
                return False
            time.sleep(0.1)
        return True

    def cut(self) -> None:
        """Take the wire and the other host away."""
        self.tool("ip", "link", "del", self.ends[0])
        self.tool("ip", "netns", "del", self.other)


@pytest.fixture
def wire(request: pytest.FixtureRequest) -> Iterator[Wire]:
    """Make the other host, and a wire to it."""
    made = Wire(TROUBLES.index(request.getfixturevalue("trouble")))
    try:
        if not made.made():
            pytest.skip("network namespaces are not allowed here")
        if not made.reaches_here():
            pytest.skip("network namespaces do not reach each other here")
        yield made
    finally:
        made.cut()


def visit_from_there(other: str, k: int, ins: FitIns) -> FitRes:
    """Let a party of the other host keep a session."""
    opened = invitation_in(ins.config)
    assert opened is not None
    invitation = asdict(opened[0])
    for key in ("certificate", "token"):
        invitation[key] = invitation[key].hex()
    told = {"invitation": invitation, "rank": k + 1, "options": CFG.to_mapping()}
    subprocess.run(  # noqa: S603
        ["ip", "netns", "exec", other, sys.executable, "-m", "tests.helpers.connections.visitor"],  # noqa: S607
        input=json.dumps(told),
        text=True,
        cwd=ROOT,
        check=True,
        timeout=240,
    )
    return FitRes(OK, Parameters([], "numpy.ndarray"), 0, {})


@pytest.mark.parametrize("trouble", TROUBLES, ids=["good", "bad"])
def test_parties_of_another_host_come_to_the_same_weights(
    trouble: tuple[str, ...], wire: Wire
) -> None:
    """With 20 ms round trip and one percent packet loss, too."""
    (near, far), (here, there) = wire.ends, wire.addresses
    if trouble:
        netem = ("root", "netem", *trouble)
        worked = wire.tool("tc", "qdisc", "add", "dev", near, *netem)
        if not worked or not wire.tool("tc", "qdisc", "add", "dev", far, *netem, inside=True):
            pytest.skip("this kernel has no netem")
    grid = FakeGrid({100 + k: partial(visit_from_there, wire.other, k) for k in range(3)})
    active, expected = build_active(CFG), build_active(CFG)
    facts = run_stream(active, grid, f"{here}:0", {})
    run_local(expected, [build_passive(CFG, k) for k in range(1, 4)])
    for ours, theirs in zip(active.net.parameters(), expected.net.parameters(), strict=True):
        assert torch.equal(ours, theirs)
    assert all(there in address for address in facts["addresses"].values())
