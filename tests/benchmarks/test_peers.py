"""Other systems side by side: works, environments, processes, and their tables."""

import json
import sys
import time
import venv
from pathlib import Path

import numpy as np
import pytest
import torch

from benchmarks.peers import __main__ as peers
from benchmarks.peers import environment, processes
from benchmarks.peers.contest import Outcome
from benchmarks.peers.errors import PeerError
from benchmarks.peers.inside import our_trees
from benchmarks.peers.inside.table import Meter, TableWork
from benchmarks.peers.inside.work import OUTCOME, Columns, Work
from benchmarks.peers.kind import ROUNDS, SPLIT_LEARNING, TREES
from benchmarks.peers.peer import DIGITS, Peer
from benchmarks.peers.prepare import prepare
from benchmarks.peers.prepare_trees import prepare_trees
from benchmarks.peers.registry import PEERS
from docs.peer_numbers import contests, steps, trees
from vfl_flower.data.byte_rows import ByteRows, scale_of

NVFLARE = PEERS["nvflare"]
KINDS = (SPLIT_LEARNING, TREES, ROUNDS)


def outcome(peer: Peer, *more: object) -> Outcome:
    return Outcome(float(len(more)), None, 0.5, 1 << 20)  # ours gets a folder only


def test_work_is_read_as_it_was_written(tmp_path: Path) -> None:
    prepare(tmp_path, {**DIGITS, "models": "mlp", "data-dir": "data"}, warm_up=3)
    work = Work(tmp_path)
    assert (work.passive, work.batch, work.warm_up) == (1, 64, 3)
    rows = np.concatenate(work.batches())
    assert len(set(rows)) == len(rows) > 1000 and not set(rows) & set(work.test)
    logits = work.network("top")(work.network("bottom-1")(work.columns(1)(rows[:5])))
    assert logits.shape == (5, 10) and work.labels()[rows].max() == 9


def test_all_rows_are_one_batch(tmp_path: Path) -> None:
    options = {**PEERS["flower"].tiny, "models": "mlp", "data-dir": "data"}
    prepare(tmp_path, options, warm_up=1)
    work = Work(tmp_path)
    assert len(work.batches()) == options["epochs"] and work.passive == 2


def test_images_are_standardised_as_ours(tmp_path: Path) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (9, 1, 4, 4), np.uint8)
    held = ByteRows.scaled(pixels, *scale_of(pixels, np.arange(9, dtype=np.int32)))
    np.save(tmp_path / "x-1.npy", pixels)
    np.save(tmp_path / "moments-1.npy", np.stack([held.mean.numpy(), held.deviation.numpy()]))
    rows = np.array([3, 1], np.int32)
    assert torch.equal(Columns(tmp_path, 1)(rows), held[rows])


def test_trees_are_read_as_they_were_written(tmp_path: Path) -> None:
    given = {"dataset": "breast-cancer", "parties": 3, "epochs": 2, "bins": 16, "data-dir": "data"}
    prepare_trees(tmp_path, given, warm_up=1)
    work = TableWork(tmp_path)
    assert work.parties == 3 and work.rules["rounds"] == 2 and work.rules["bins"] == 16
    assert work.rules["base"] == pytest.approx(work.labels("train").mean())
    shapes = [work.columns(rank, "test").shape for rank in range(3)]
    assert {rows for rows, _ in shapes} == {len(work.labels("test"))}
    assert sum(width for _, width in shapes) == 30


def test_our_trees_write_their_outcome(tmp_path: Path) -> None:
    given = {**PEERS["nvflare-trees"].tiny, "dataset": "breast-cancer", "data-dir": "data"}
    prepare_trees(tmp_path, given, warm_up=1)
    our_trees.main(tmp_path, "simulated")
    told = json.loads((tmp_path / OUTCOME).read_text())
    assert told["ms"] > 0 and told["bytes"] > 1000 and 0.9 < told["score"] <= 1


def test_first_round_is_not_counted() -> None:
    assert Meter([(5.0, 700), (6.0, 800), (9.0, 1000)]).outcome() == {"ms": 2000.0, "bytes": 150.0}


def test_auc_counts_ties_as_half(tmp_path: Path) -> None:
    np.save(tmp_path / "y-test.npy", np.array([0, 1, 1, 0], np.float32))
    (tmp_path / "work.json").write_text('{"parties": 2}')
    work = TableWork(tmp_path)
    assert work.auc(np.array([0.1, 0.1, 0.9, 0.5], np.float32)) == pytest.approx(2.5 / 4)


def test_peer_is_not_installed_unless_a_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(PeerError, match="not installed; --environments"):
        environment.interpreter(NVFLARE, None)
    assert environment.interpreter(PEERS["flower"], None) == sys.executable


def test_failed_installation_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: object) -> None:
        raise PeerError("no matching distribution")

    monkeypatch.setattr(environment, "run", fail)
    monkeypatch.setattr(venv, "create", lambda *arguments, **more: None)
    with pytest.raises(PeerError, match="cannot be installed here: no matching distribution"):
        environment.interpreter(NVFLARE, tmp_path)


def test_installed_peer_is_used_again(tmp_path: Path) -> None:
    done = tmp_path / NVFLARE.environment / environment.DONE
    done.parent.mkdir()
    done.write_text("\n".join(environment.packages(NVFLARE)))
    assert environment.interpreter(NVFLARE, tmp_path).startswith(str(tmp_path))


@pytest.mark.slow
def test_failure_is_told_by_its_last_line(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "print('begun'); raise SystemExit('no such site')"]
    with pytest.raises(PeerError, match=r"no such site \(exit code 1\)"):
        processes.run(command, {}, tmp_path / "log", 60)


@pytest.mark.slow
@pytest.mark.skipif(not processes.PROC.exists(), reason="processes are known by /proc")
def test_processes_that_stay_behind_are_counted_and_ended(tmp_path: Path) -> None:
    stay = "import time; print('on', flush=True); time.sleep(60)"
    start = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {stay!r}])"
    command = [sys.executable, "-c", f"import time; {start}; time.sleep(1.5)"]
    begun = time.perf_counter()
    peak = processes.run(command, {}, tmp_path / "log", 60)
    assert peak and peak > 1 << 20
    assert time.perf_counter() - begun < 30


def test_contest_is_a_pair_of_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("ours", "theirs"):
        monkeypatch.setattr(peers, name, outcome)
    monkeypatch.setattr(peers, "begin", lambda *arguments: None)
    monkeypatch.setattr(peers, "interpreter", lambda peer, folder: "python")
    path = tmp_path / "peers.json"
    peers.BENCHMARK.run(["--tiny", "--json", str(path), "nvflare", "fate"])
    first, second = contests(json.loads(path.read_text()))
    assert (first.name, second.name) == ("nvflare", "fate")
    assert first.peer["times ours"] == 2 and first.ours["ms a step"] == 1
    assert "| NVFlare 2.9.0 | simulator | local transport | mlp | 2.0 | 1.0 | 2.0 |" in steps(path)


def test_contests_of_each_kind_have_a_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("ours", "theirs"):
        monkeypatch.setattr(peers, name, outcome)
    monkeypatch.setattr(peers, "begin", lambda *arguments: None)
    monkeypatch.setattr(peers, "interpreter", lambda peer, folder: "python")
    path = tmp_path / "peers.json"
    peers.BENCHMARK.run(["--tiny", "--json", str(path), "nvflare-trees", "nvflare"])
    peers.BENCHMARK.run(["--tiny", "--json", str(path), "fate-trees"])  # others stay
    measured = json.loads(path.read_text())
    assert [each.name for each in contests(measured)] == ["nvflare"]
    assert [each.name for each in contests(measured, TREES)] == ["nvflare-trees", "fate-trees"]
    line = next(line for line in trees(path).splitlines() if "XGBoost" in line)
    assert "| breast-cancer | 0.00 and 0.00 | 2.0 |  | 1 and 1 | 0.5000 and 0.5000 |" in line


def test_peer_that_fails_is_named_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(peer: Peer, *more: object) -> Outcome:
        raise PeerError("no such site")

    monkeypatch.setattr(peers, "ours", outcome)
    monkeypatch.setattr(peers, "theirs", fail)
    monkeypatch.setattr(peers, "begin", lambda *arguments: None)
    monkeypatch.setattr(peers, "interpreter", lambda peer, folder: "python")
    report = peers.BENCHMARK.run(["--tiny", "fate"])
    assert report.facts == {"fate, mlp": "did not run here: no such site"}
    assert [row[1] for row in report.tables[0].rows] == ["vfl-flower"]


def test_every_peer_pins_its_version() -> None:
    for peer in PEERS.values():
        assert all("==" in each for each in peer.packages)


def test_every_peer_has_a_program_for_its_kind() -> None:
    inside = Path(peers.__file__).parent / "inside"
    for peer in PEERS.values():
        assert (inside / f"{peer.module.replace('.', '/')}.py").exists() and peer.kind in KINDS
        assert (inside / f"{peer.kind.ours}.py").exists()
        assert peer.kind.option not in peer.work or peer.kind is ROUNDS
