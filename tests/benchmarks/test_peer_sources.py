"""Peers that are no packages: files from Git, weights, and rows."""

import json
import shutil
import subprocess
import sys
import time
from argparse import Namespace
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import nn

from benchmarks.peers import __main__ as peers
from benchmarks.peers import environment
from benchmarks.peers.contest import Outcome
from benchmarks.peers.errors import PeerError
from benchmarks.peers.inside.authors import pravfed, vfl_admm
from benchmarks.peers.inside.authors.source import SOURCE, copy_weights, find_source, weights
from benchmarks.peers.inside.work import Clock, Work
from benchmarks.peers.kind import ROUNDS
from benchmarks.peers.peer import Peer
from benchmarks.peers.prepare_weights import prepare_weights
from benchmarks.peers.registry import PEERS
from docs.peer_numbers import contests, rounds

VIM = PEERS["vfl-admm"]


def git(folder: Path, *words: str) -> str:
    command = ["git", "-C", str(folder), "-c", "user.name=A", "-c", "user.email=a@b", *words]
    done = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603
    return done.stdout.strip()


@pytest.fixture
def published(tmp_path: Path) -> Peer:
    """Return a peer whose repository has gone on since its pinned commit."""
    folder = tmp_path / "published"
    folder.mkdir()
    git(folder, "init", "--quiet")
    for version in ("pinned", "newer"):
        (folder / "program_of_a_peer.py").write_text(f"VERSION = {version!r}\n")
        git(folder, "add", ".")
        git(folder, "commit", "--quiet", "-m", version)
    return replace(VIM, repository=str(folder), commit=git(folder, "rev-parse", "HEAD~1"))


@pytest.fixture(autouse=True)
def nothing_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Environments are folders without packages."""

    def make(folder: Path, *more: object) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)

    monkeypatch.setattr(environment, "_install", make)


@pytest.mark.slow
def test_files_of_the_pinned_commit_are_found(
    published: Peer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment.interpreter(published, tmp_path)
    folder = tmp_path / published.environment
    assert "pinned" in (folder / SOURCE / "program_of_a_peer.py").read_text()
    monkeypatch.setattr(sys, "prefix", str(folder))
    monkeypatch.setattr(sys, "path", [*sys.path])
    find_source()
    assert sys.path[0] == str(folder / SOURCE)


@pytest.mark.slow
def test_other_commit_is_fetched_anew(published: Peer, tmp_path: Path) -> None:
    found = tmp_path / published.environment / SOURCE / "program_of_a_peer.py"
    environment.interpreter(published, tmp_path)
    found.write_text("kept")
    environment.interpreter(published, tmp_path)
    assert found.read_text() == "kept"
    environment.interpreter(replace(published, commit="HEAD"), tmp_path)
    assert "newer" in found.read_text()


@pytest.mark.slow
def test_commit_that_is_not_there_is_told(published: Peer, tmp_path: Path) -> None:
    with pytest.raises(PeerError, match="cannot be cloned at 0123456789ab: "):
        environment.interpreter(replace(published, commit="0123456789abcdef" * 2), tmp_path)
    assert not (tmp_path / published.environment / environment.DONE).exists()


@pytest.mark.slow
def test_repository_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(PeerError, match="nowhere cannot be cloned at"):
        environment.interpreter(replace(VIM, repository=str(tmp_path / "nowhere")), tmp_path)


def test_weights_are_read_as_they_were_written(tmp_path: Path) -> None:
    prepare_weights(tmp_path, {**VIM.tiny, "data-dir": "data"}, warm_up=1)
    active, first, *others = weights(tmp_path)
    assert len(others) == Work(tmp_path).passive - 1 == 7
    head, embed = (
        nn.Linear(60, 10, bias=False),
        nn.Sequential(nn.Linear(8, 120), nn.Linear(120, 60)),
    )
    copy_weights(head, active, "heads.0.")
    copy_weights(embed, first, "embed.")
    assert torch.equal(head.weight, active["heads.0.weight"])
    assert torch.equal(embed.state_dict()["1.bias"], first["embed.3.bias"])
    with pytest.raises(ValueError, match="zip"):
        copy_weights(nn.Linear(60, 10), active, "heads.0.")


def test_each_epoch_of_the_authors_has_its_own_batches(tmp_path: Path) -> None:
    prepare_weights(tmp_path, {**VIM.tiny, "epochs": 2, "data-dir": "data"}, warm_up=1)
    work = Work(tmp_path)
    loader = vfl_admm.Loader(work.columns(1), work.labels(), iter(work.epochs()))
    for epoch in work.order:
        assert torch.equal(torch.cat([y for _, y in loader]), work.labels()[epoch])
    assert len(work.order) == 2 and len(work.batches()) == 2 * len(work.epochs()[0])


def test_work_that_fixes_its_method_is_no_option(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("ours", "theirs"):
        monkeypatch.setattr(peers, name, lambda *given: Outcome(3.0, None, 0.5, None))
    monkeypatch.setattr(peers, "begin", lambda *arguments: None)
    monkeypatch.setattr(peers, "interpreter", lambda peer, folder: "python")
    path = tmp_path / "peers.json"
    names = ["vfl-admm", "vfl-admm-split", "vfl-admm-fedbcd"]
    peers.BENCHMARK.run(["--tiny", "--json", str(path), *names])
    found = contests(json.loads(path.read_text()), ROUNDS)
    assert [(each.name, each.work) for each in found] == [
        ("vfl-admm", "vimadmm"),
        ("vfl-admm-split", "splitnn"),
        ("vfl-admm-fedbcd", "fedbcd"),
    ]
    assert "| one program | local transport | splitnn | 3.0 | 3.0 | 1.0 |" in rounds(path)


def test_columns_of_all_parties_are_written(tmp_path: Path) -> None:
    prepare_weights(tmp_path, {**PEERS["pravfed"].tiny, "data-dir": "data"}, warm_up=0)
    work = Work(tmp_path)
    parts = pravfed.parts(work, work.test)
    assert sum(part.tensors[0].shape[1] for part in parts) == 30
    assert all(torch.equal(part.tensors[1], work.labels()[work.test]) for part in parts)


def test_time_of_tests_is_left_out() -> None:
    class Party:
        def test(self, *given: object) -> None:
            time.sleep(0.2)

        def backward_A(self, *given: object) -> None: ...

    program = Namespace(active=Party, passive=Party, test_model=lambda: (97.0, 0.1))
    clock = Clock(0)
    told = pravfed.give_clock(program, clock)
    Party().test()
    Party().backward_A()
    program.test_model()
    assert clock.steps == 1 and clock.away >= 0.2 and told == [None, (97.0, 0.1)]
    assert clock.ended - clock.begun < time.perf_counter() - clock.begun - 0.2


def test_parties_begin_with_the_weights_in_turn() -> None:
    class Party:
        def load(self, width: int) -> nn.Module:
            return nn.Linear(width, 1, bias=False)

    pravfed.give_weights(
        Party, ("load",), iter([{"w": torch.ones(1, 2)}, {"w": torch.zeros(1, 2)}])
    )
    assert [int(Party().load(2)(torch.ones(2))) for _ in range(2)] == [2, 0]


def test_commits_are_whole() -> None:
    for peer in PEERS.values():
        assert bool(peer.repository) == bool(peer.commit) and len(peer.commit) in (0, 40)
