"""The checks for releases notice failures, and keep their results."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from benchmarks import faults
from benchmarks import soak as benchmark
from benchmarks.harness.benchmark import Arguments
from benchmarks.harness.digests import Resources, Run
from benchmarks.harness.report import Report
from tests.helpers.examples import examples
from tests.long import __main__ as program
from tests.long import faults as others
from tests.long import kills, soak
from tests.long.check import ROOT, Failed, Job, command, run
from tests.long.ranges import lowest_versions

HELD = Resources(resident=1 << 28, files=5, threads=1)
STEADY = Run("easter", ["a", "b"], HELD, process=7)


@pytest.fixture
def job(tmp_path: Path) -> Job:
    return Job(tiny=True, work=tmp_path, out=tmp_path / "out", data_dir="data")


def result_of(job: Job, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((job.out / f"{name}.json").read_text())
    return found


def test_results_are_data_whether_a_check_passes_or_not(job: Job) -> None:
    def fails(job: Job) -> dict[str, Any]:
        raise Failed("it differs", {"points": 3})

    def breaks(job: Job) -> dict[str, Any]:
        raise KeyError("none")

    assert run("good", lambda job: {"runs": 2}, job)
    assert not run("bad", fails, job)
    assert not run("broken", breaks, job)
    good, bad, broken = (result_of(job, name) for name in ("good", "bad", "broken"))
    assert (good["passed"], good["found"], good["error"]) == (True, {"runs": 2}, "")
    assert (bad["passed"], bad["found"], bad["error"]) == (
        False,
        {"points": 3},
        "Failed: it differs",
    )
    assert broken["error"].startswith("KeyError")
    assert {"date", "seconds", "machine", "versions", "tiny"} <= set(good)


def test_a_failed_check_is_an_exit_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(job: Job) -> dict[str, Any]:
        raise Failed("no")

    monkeypatch.setattr(program, "CHECKS", {"a": lambda job: {}, "b": fails})
    monkeypatch.setattr("sys.argv", ["long", "--out", str(tmp_path), "a"])
    program.main()
    assert f"results are in {tmp_path}" in capsys.readouterr().out
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]
    monkeypatch.setattr("sys.argv", ["long", "--tiny", "--out", str(tmp_path)])
    with pytest.raises(SystemExit, match="failed: b"):
        program.main()
    monkeypatch.setattr("sys.argv", ["long", "c"])
    with pytest.raises(SystemExit):
        program.main()
    assert "no check is called c; there are a, b" in capsys.readouterr().err


def test_a_command_that_fails_has_its_output() -> None:
    assert command(["echo", "one"]) == "one\n"
    with pytest.raises(Failed, match="exit code 3") as failed:
        command(["sh", "-c", "echo reason; exit 3"])
    assert failed.value.found == {"output": "reason\n"}


@pytest.mark.parametrize(
    ("last", "says"),
    [
        ({}, ""),
        ({"digests": ["a", "c"]}, "weights differ"),
        ({"digests": ["a"]}, "weights differ"),
        ({"held": replace(HELD, files=14)}, "files grow from 5 to 14"),
        ({"held": replace(HELD, threads=4)}, "threads grow"),
        ({"held": replace(HELD, resident=(33 << 20) + HELD.resident)}, "resident grow"),
    ],
)
def test_what_piles_up_or_differs_is_noticed(
    last: dict[str, Any], says: str, job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained = iter([*[STEADY] * 7, replace(STEADY, **last)])
    monkeypatch.setattr(benchmark, "train", lambda name: next(trained))
    if not says:
        found = soak.soak(job)
        assert (found["table"], found["differences"]) == ([["easter", "kept", 8, 0]], 0)
        return
    with pytest.raises(Failed, match=says) as failed:
        soak.soak(job)
    assert failed.value.found["table"][0][:3] == ["easter", "kept", 8]


def test_a_soak_names_the_first_step_that_differs() -> None:
    found = benchmark.Soak()
    found.add("kept", STEADY)
    found.add("forked", replace(STEADY, digests=["a", "x"]))
    assert found.differences == [("easter", "forked", 2, 1)]


def test_a_resumed_run_that_differs_is_noticed(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    def measure(given: Arguments, report: Report) -> None:
        assert (given.names, given.every) == (["kills"], 60)
        report.table("killed", {"run": "", "calls": ""}).add("easter", 8)
        if differs:
            report.table("failed", {"run": "", "outcome": ""}).add("easter", "other weights")

    monkeypatch.setattr(kills, "BENCHMARK", replace(faults.BENCHMARK, measure=measure))
    differs = False
    assert kills.kills(job) == {"easter": {"run": "easter", "calls": 8}}
    differs = True
    with pytest.raises(Failed, match="differs") as failed:
        kills.kills(job)
    assert failed.value.found["failed"] == [["easter", "other weights"]]


def test_faults_with_another_outcome_are_noticed(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    def measure(given: Arguments, report: Report) -> None:
        assert (given.names, given.one_in) == ([*others.KINDS], 40)
        report.table("malformed tables", {"tables": ","}).add(60)
        if slow:
            report.table("malformed tables, other ends", {"end": ""}).add("slow")

    monkeypatch.setattr(others, "BENCHMARK", replace(faults.BENCHMARK, measure=measure))
    slow = False
    assert others.faults(job) == {"malformed tables": [[60]]}
    slow = True
    with pytest.raises(Failed, match="other ends"):
        others.faults(job)


def test_lowest_versions_are_those_of_pyproject() -> None:
    text = """
    [project]
    dependencies = ["a[x]>=1.41,<1.42", "b-c==2.13.0", "d>=2,<3", "e>=1.2.3"]
    optional-dependencies.tensorboard = ["f>=2.21,<3"]
    """
    expected = ["a==1.41.0", "b-c==2.13.0", "d==2.0.0", "e==1.2.3", "f==2.21.0"]
    assert lowest_versions(text) == expected
    assert "numpy==2.1.0" in lowest_versions((ROOT / "pyproject.toml").read_text())
    with pytest.raises(Failed, match="no lower bound in a"):
        lowest_versions(text.replace("a[x]>=1.41,<1.42", "a"))


def test_examples_grow_with_the_profile() -> None:
    usual = settings.get_current_profile_name()
    try:
        for profile, most in (("steady", 50), ("long", 50_000), ("sample", 10)):
            settings.load_profile(profile)
            assert examples(50).max_examples == most
    finally:
        settings.load_profile(usual)
