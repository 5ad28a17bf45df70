"""Proxy, curves, hook and judgement of the storm."""

import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from benchmarks.harness.report import Report
from benchmarks.storm import BENCHMARK
from benchmarks.storming import scenario
from benchmarks.storming.curves import Curves, Sample, is_flat, sample
from benchmarks.storming.hooks import HOOKS
from benchmarks.storming.loopback import Clock, Stuck
from benchmarks.storming.proxy import Proxy
from benchmarks.storming.scenario import OTHER, SAME, STUCK, UNCLEAR, Storm, error_in
from vfl_flower.common.errors import RunError


@pytest.fixture
def storm(tmp_path: Path) -> Storm:
    made = Storm(Report(), tmp_path, False, 60.0)
    made.name = "cuts"
    return made


def echoing() -> int:
    """Start a server that sends back whatever comes; return its port."""
    server = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        near, _ = server.accept()
        with near:
            while piece := near.recv(1 << 16):
                near.sendall(piece)

    threading.Thread(target=serve, daemon=True).start()
    return int(server.getsockname()[1])


def test_a_proxy_forwards_slows_and_cuts() -> None:
    proxy = Proxy(echoing())
    with socket.create_connection(("127.0.0.1", proxy.port), 10) as near:
        near.sendall(b"hello")
        assert near.recv(16) == b"hello"
        proxy.rate = 4096.0
        before = time.monotonic()
        near.sendall(bytes(512))
        assert len(near.recv(512, socket.MSG_WAITALL)) == 512
        assert time.monotonic() - before >= 0.2  # an eighth of a second each way
        assert (proxy.carried, proxy.connections) == (2 * (5 + 512), 1)
        proxy.cut()
        assert near.recv(16) == b""
    proxy.close()


def test_a_proxy_that_is_closed_refuses() -> None:
    proxy = Proxy(echoing())
    proxy.closed = True
    with socket.create_connection(("127.0.0.1", proxy.port), 10) as near:
        assert near.recv(16) == b""
    proxy.close()


def test_the_hook_kills_its_group_and_those_above(tmp_path: Path) -> None:
    order, code = tmp_path / "order", tmp_path / "vfl_flower" / "protocol"
    code.mkdir(parents=True)
    for folder in (code, code.parent):
        (folder / "__init__.py").touch()
    (code / "client.py").write_text(
        "class ProtocolClient:\n    def _run(self, received):\n        print(received.phase)\n"
    )
    asks = (
        "from types import SimpleNamespace as N; from vfl_flower.protocol.client import *; "
        "[ProtocolClient()._run(N(phase=p)) for p in ('first', 'second', 'third')]"
    )
    order.write_text("second")
    above = subprocess.Popen(  # noqa: S603
        ["setsid", "-w", sys.executable, "-u", "-c", asks],  # noqa: S607
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": f"{HOOKS}:{tmp_path}", "VFL_STORM_ORDER": str(order)},
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    assert above.communicate(timeout=60)[0] == b"first\n"
    assert above.returncode == -9
    assert not order.exists()


def test_a_sample_counts_the_processes_of_a_component(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("benchmarks.storming.curves.PROGRAMS", ("sh",))
    (tmp_path / "file").touch()
    with subprocess.Popen(
        ["sh", "-c", "echo up; read line"],  # noqa: S607
        env=os.environ | {"MINE": str(tmp_path)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        # Until it says something, it may be a process without words and environment yet.
        assert process.stdout is not None
        assert process.stdout.readline() == b"up\n"
        curves = Curves()
        sample(curves, 1.5, {f"MINE={tmp_path}": "node1"}, lambda name: tmp_path)
    (found,) = curves.by_role["node1: sh"]
    assert (found.second, found.processes, found.threads, found.files) == (1.5, 1, 1, 1)
    assert found.handles >= 3
    assert 0 < found.MiB < 50


def test_growth_within_the_usual_is_flat() -> None:
    assert is_flat("MiB", 100, 105)
    assert is_flat("MiB", 1000, 1049)
    assert not is_flat("MiB", 100, 105.1)
    assert not is_flat("threads", 10, 15)


def test_curves_are_cut_and_thinned() -> None:
    curves = Curves()
    curves.by_role["link"] = [Sample(k, 1, 10.0 * k, 0, 0, 0) for k in range(10)]
    assert curves.since(4).mean("link", "MiB") == 65
    assert curves.between(0.8, 1).mean("link", "MiB") == 85
    assert curves.since(9).between(0.1, 0.3).mean("link", "MiB") == 90
    assert not curves.since(10).by_role
    assert [each.second for each in curves.thinned("link", 3)] == [1, 5, 9]


def test_only_errors_of_this_project_are_clear() -> None:
    log = "INFO : x\nERROR :     PartyAway: party-2 is gone\nERROR :  KeyError: 3\nTraceback"
    assert error_in(log) == "PartyAway: party-2 is gone"
    assert error_in("ERROR : KeyError: 3") == ""


def test_a_fault_that_does_not_end_is_stuck(storm: Storm) -> None:
    def waits(clock: Clock) -> tuple[str, str]:
        clock.wait(lambda: False, "nothing")
        raise AssertionError

    storm.tried("nothing happens", waits, limit=1e-6)
    storm.tried("all is well", lambda clock: (SAME, ""))
    assert [row[1:3] for row in storm.outcomes.rows] == [
        ["nothing happens", STUCK],
        ["all is well", SAME],
    ]
    assert "waiting for nothing" in str(storm.outcomes.rows[0][4])
    with pytest.raises(Stuck):
        Clock(-1.0).wait(lambda: False, "nothing")


def test_rows_of_an_earlier_result_are_kept_unless_tried_again(storm: Storm) -> None:
    storm.tried("a", lambda clock: (SAME, "new"))
    row = [["cuts", name, OTHER, 1, "old", "2026"] for name in ("a", "b")]
    title = storm.outcomes.title
    storm.keep({"tables": [{"title": title, "rows": row}]})
    assert [each[1:5:3] for each in storm.outcomes.rows] == [["b", "old"], ["a", "new"]]


@pytest.mark.slow
def test_a_scenario_that_cannot_begin_does_not_stop_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(storm: Storm) -> None:
        raise RunError("the SuperLink did not start")

    def whole(storm: Storm) -> None:
        storm.tried("a fault", lambda clock: (SAME, ""))

    monkeypatch.setattr("benchmarks.storm.SCENARIOS", {"cuts": broken, "full-disk": whole})
    report = BENCHMARK.run(["--out", str(tmp_path), "cuts", "full-disk"])
    rows = [row[:3] for row in report.tables[0].rows]
    assert rows == [["cuts", "its start", UNCLEAR], ["full-disk", "a fault", SAME]]
    assert report.facts == {"faults": 2, SAME: 1, UNCLEAR: 1, "bad": 1}


def test_weights_decide_about_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    class Scene:
        def weights(self, name: str) -> list[bytes]:
            return [b"1", b"2"] if name == "whole" else [b"1", b""]

    class Run:
        def __init__(self, name: str, log: str) -> None:
            self.name, self.log = name, log

    scene, whole = Scene(), Run("whole", "")
    judged = scenario.judged
    assert judged(scene, whole, [b"1", b"2"])[0] == SAME  # type: ignore[arg-type]
    assert judged(scene, whole, [b"1", b"3"])[0] == OTHER  # type: ignore[arg-type]
    broken = Run("broken", "ERROR : PartyAway: party-2 is gone")
    assert judged(scene, broken, [], "party-2")[0] == scenario.ERROR  # type: ignore[arg-type]
    assert judged(scene, broken, [], "party-1")[0] == UNCLEAR  # type: ignore[arg-type]
