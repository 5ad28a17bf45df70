"""Faults come where planned, and wrong outcomes are noticed."""

import json
import multiprocessing
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.faulty import kills
from benchmarks.faulty.calls import Calls
from benchmarks.faulty.folders import content_of, differing, without_checkpoints
from benchmarks.faulty.forks import KILLED, Ended, Plan
from benchmarks.harness.benchmark import Arguments
from benchmarks.harness.report import Report
from vfl_flower.common.files import make_private, write_atomically

CONTENT = b"0123456789"
CALLS = [
    *("mkdir party", "open party/F", "write party/F", "fsync party/F", "rename party/F"),
    *("open log", "write log", "remove party/f", "rmdir party"),
]


def change(folder: Path) -> None:
    """Change a folder in every way in which runs do."""
    write_atomically(folder / "party" / "f", CONTENT)
    make_private(folder / "party")  # is there
    with (folder / "log").open("a") as file:
        file.write("line\n")
    (folder.parent / "elsewhere").write_text("")
    (folder / "party" / "f").unlink()
    (folder / "party").rmdir()


def counted(folder: Path, point: int) -> None:
    """Change a folder; end at one of the calls."""
    calls = Calls(folder, point, lambda: os.kill(os.getpid(), signal.SIGKILL))
    calls.install()
    change(folder)
    (folder.parent / "calls").write_text(json.dumps(calls.names))


def in_a_fork(work: Callable[..., None], *arguments: object) -> int | None:
    process = multiprocessing.get_context("fork").Process(target=work, args=arguments)
    process.start()
    process.join()
    return process.exitcode


def test_calls_are_counted_in_a_folder(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    assert in_a_fork(counted, folder, 0) == 0
    names = json.loads((tmp_path / "calls").read_text())
    temporary = names[1].removeprefix("open ")
    assert temporary.startswith("party/.f.")
    assert [name.replace(temporary, "party/F") for name in names] == CALLS
    assert (folder / "log").read_text() == "line\n"


@pytest.mark.parametrize(
    ("point", "sizes"),
    [(1, []), (2, []), (3, [5]), (4, [10]), (6, [10]), (7, [2, 10]), (8, [5, 10])],
)
def test_a_kill_comes_before_a_call_or_within_a_write(
    point: int, sizes: list[int], tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    assert in_a_fork(counted, folder, point) == KILLED
    found = sorted(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    assert found == sizes


def run_folder(path: Path, nonces: tuple[str, str], seconds: float, score: float) -> Path:
    (path / "party-1").mkdir(parents=True)
    (path / "party-1" / "run.json").write_text(json.dumps({"run": nonces[0] * 16}))
    card = f"in {path}, 2026-01-0{round(seconds)} 10:00\n| run | {nonces[1] * 16} |"
    (path / "card.md").write_text(card)
    ledger = {"payload": [["party-1", "control", "agree", seconds], ["party-1", "training", 1]]}
    metrics = {"seconds": seconds, "score": score, "control": seconds, "ledger": ledger}
    (path / "metrics.jsonl").write_text(json.dumps(metrics) + "\n")
    return path


def test_folders_are_compared_without_what_differs_between_any_two(tmp_path: Path) -> None:
    expected = content_of(run_folder(tmp_path / "a", ("1", "1"), 1.0, 0.5))
    assert not differing(content_of(run_folder(tmp_path / "b", ("2", "2"), 2.0, 0.5)), expected)
    other = content_of(run_folder(tmp_path / "c", ("2", "2"), 1.0, 0.6))
    assert differing(other, expected) == ["metrics.jsonl"]
    mixed = content_of(run_folder(tmp_path / "d", ("2", "3"), 1.0, 0.5))
    assert differing(mixed, expected) == ["party-1/run.json"]
    (tmp_path / "a" / ".left").touch()
    (tmp_path / "a" / "empty").mkdir()
    assert differing(content_of(tmp_path / "a"), expected) == [".left", "empty/"]
    assert without_checkpoints({"a/checkpoint-000000001.safetensors": 1, "a/b": 2}) == {"a/b": 2}


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ("", ""),
        ("code", "exit code 1: why"),
        ("resume", "exit code 2 of the next command: why"),
        ("weights", "other weights: weights.safetensors"),
    ],
)
def test_wrong_outcomes_are_failures(
    fault: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forked(arguments: list[str], plan: Plan | None = None, noise: int = 0) -> Ended:
        resumes, out = "--resume" in arguments, Path(arguments[-1])
        out.mkdir(exist_ok=True, parents=True)
        begun = out / "config.toml"
        begun.touch()
        wrong = fault == "weights" and resumes
        (out / "weights.safetensors").write_text("others" if wrong else "same")
        if plan and plan.point:
            code = KILLED if plan.number == signal.SIGKILL else 128 + signal.SIGTERM
            return Ended(1 if fault == "code" else code, "why", ["open config.toml"])
        return Ended(2 if fault == "resume" and resumes else 0, "why", ["open", "write"])

    monkeypatch.setattr(kills, "forked", forked)
    report = Report()
    kills.kills(Arguments(runs="easter", every=1, minutes=1), report)
    runs, *failed = report.tables
    row = dict(zip(runs.columns, runs.rows[0], strict=True))
    assert (row["calls"], row["killed"], row["terminated"], row["resumed"]) == (2, 2, 1, 3)
    assert row["failures"] == len(failed[0].rows if failed else [])
    assert [each[2] for table in failed for each in table.rows][:1] == ([says] if says else [])


def test_the_first_points_are_spread_evenly() -> None:
    order = kills.spread(range(1, 101))
    assert sorted(order) == list(range(1, 101))
    first = sorted(order[:8])
    assert max(b - a for a, b in zip(first, [*first[1:], 101], strict=True)) <= 20
