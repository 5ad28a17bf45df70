"""Every benchmark runs at its tiny size and writes its data."""

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks import all as every
from benchmarks.communication import CONTENDERS
from benchmarks.harness import benchmark as harness
from benchmarks.harness import tables
from benchmarks.harness.benchmark import Arguments, Benchmark, Option
from benchmarks.harness.report import Report
from benchmarks.harness.table_runs import REFERENCES, Scores
from benchmarks.tabular import (
    COSTS,
    NETS,
    SHOWN,
    STEPS_ON_ALL_ROWS,
    VARIANTS,
    Key,
    Runs,
    configuration,
    difference,
)
from vfl_flower.config.run_config import RunConfig

ROOT = Path(every.__file__).parent
NO_BENCHMARKS = {"all"}
"""Programs that measure nothing themselves."""


def measure(given: Arguments, report: Report) -> None:
    table = report.table("rows", {"name": "", "n": ",", "ms": ".1f", "none": ""})
    table.add("first", given.rows, 1.26, None)
    table.add("second", 10 * given.rows, float("nan"), float("inf"))
    report.fact("share", 0.5)


EXAMPLE = Benchmark(
    measure,
    {"rows": Option(1000, tiny=1), "data_dir": Option("data"), "loud": Option(False)},
    known=["a", "b"],
    few=["b"],
)


@pytest.mark.slow
@pytest.mark.parametrize("name", every.names())
def test_tiny_benchmark_runs(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)  # where there are no data sets
    path = tmp_path / "result.json"
    every.benchmark(name).run(["--tiny", "--json", str(path)])
    result, told = json.loads(path.read_text()), capsys.readouterr().out
    assert result["benchmark"] == name
    assert result["versions"]["code"] and result["machine"]["cores"]
    assert result["tables"]
    for table in result["tables"]:
        assert table["rows"]
        assert table["title"].split("\n")[0][:20] in told
    assert f"## {name}" in tables.shown(result)
    assert [each.name for each in tmp_path.iterdir()] == ["result.json"]


@pytest.mark.slow
def test_a_benchmark_with_processes_of_its_own_runs_as_a_command() -> None:
    """There its module has another name, which they import."""
    command = [sys.executable, "-m", "benchmarks.scale", "--tiny"]
    subprocess.run(command, check=True, cwd=ROOT.parent, capture_output=True)  # noqa: S603


def test_every_program_is_a_benchmark() -> None:
    paths = [*ROOT.glob("*.py"), *ROOT.glob("*/__main__.py")]
    programs = {harness.name_of(p) for p in paths if '__name__ == "__main__"' in p.read_text()}
    assert programs - NO_BENCHMARKS == set(every.names())
    assert programs >= NO_BENCHMARKS


@pytest.mark.parametrize("options", CONTENDERS.values(), ids=CONTENDERS)
def test_contender_is_understood(options: dict[str, object]) -> None:
    RunConfig.from_mapping(options)


@pytest.mark.parametrize("name", [*NETS, *VARIANTS])
def test_run_on_tables_is_understood(name: str) -> None:
    tabular = every.benchmark("tabular").parsed([])
    if steps := STEPS_ON_ALL_ROWS.get(name):
        assert configuration(Key("adult", 3, name), tabular).epochs == steps["epochs"]
        return
    cfg = configuration(Key("pima", 3, name), tabular)
    assert (cfg.seed, cfg.epochs, cfg.batch_size, cfg.keep) == (3, 20, 64, "best")
    large = configuration(Key("adult", 3, name), tabular)
    assert (large.epochs, large.batch_size) == (5, 1024)


def test_runs_on_tables_are_not_repeated(tmp_path: Path) -> None:
    runs = Runs(tmp_path / "runs.jsonl")
    told: Scores = dict.fromkeys([*SHOWN, *COSTS], 0.5)
    for split, name in ((split, name) for split in range(2) for name in (*REFERENCES, "local")):
        runs.add(Key("breast-cancer", split, name), told)
    before = runs.path.read_text()
    words = ["--tiny", "--out", str(tmp_path), "local"]
    scores, costs = every.benchmark("tabular").run(words).tables
    assert [row[:2] for row in scores.rows] == [[name, 0.5] for name in (*REFERENCES, "local")]
    assert costs.rows[0][-1] == 0.5
    assert not every.benchmark("tabular").run([*words, "central", "--minutes", "1e-9"]).tables
    assert runs.path.read_text() == before


def test_unfinished_split_does_not_count(tmp_path: Path) -> None:
    runs = Runs(tmp_path / "runs.jsonl")
    for split, name in ((0, "a"), (0, "b"), (1, "a"), (2, "b"), (2, "a")):
        runs.add(Key("pima", split, name), {"auc": 0.5})
    assert Runs(runs.path).complete("pima", ["a", "b"], 20) == [0, 2]
    assert not Runs(runs.path).complete("adult", ["a", "b"], 20)


def test_interval_of_differences_is_wider_for_overlapping_splits() -> None:
    mean, half = difference([0.01, 0.03], tested=0)
    assert mean == pytest.approx(0.02)
    assert half == pytest.approx(12.706 * 0.01, rel=1e-4)  # t of one degree of freedom
    assert difference([0.01, 0.03], tested=0.5)[1] == pytest.approx(half * 2**0.5)


def test_tiny_changes_defaults_only() -> None:
    full, tiny = EXAMPLE.parsed([]), EXAMPLE.parsed(["--tiny"])
    assert (full.rows, full.names, full.loud) == (1000, ["a", "b"], False)
    assert (tiny.rows, tiny.names, tiny.data_dir) == (1, ["b"], "data")
    asked = EXAMPLE.parsed(["--tiny", "--rows", "7", "--loud", "a"])
    assert (asked.rows, asked.names, asked.loud) == (7, ["a"], True)


@pytest.mark.parametrize(
    ("name", "hint"), [("c", "known are alpha, beta"), ("alpa", "did you mean 'alpha'?")]
)
def test_unknown_experiment_is_refused(
    name: str, hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        replace(EXAMPLE, known=["alpha", "beta"]).parsed([name])
    assert f"no experiment is called {name}; {hint}" in capsys.readouterr().err


def test_results_are_data_from_which_tables_are_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(harness, "gain", lambda programs, *, tiny: 1.8743)
    path = tmp_path / "made" / "result.json"
    EXAMPLE.run(["--rows", "1000", "--json", str(path)])
    result: dict[str, Any] = json.loads(path.read_text())
    assert result["options"] | {"rows": 1000, "names": ["a", "b"]} == result["options"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", result["date"])
    assert result["tables"][0]["rows"] == [
        ["first", 1000, 1.26, None],
        ["second", 10000, None, None],
    ]
    machine = {"processor", "cores", "memory_gib", "system", "load_before", "side_by_side"}
    assert set(result["machine"]) == machine
    assert result["machine"]["side_by_side"] == 1.87
    assert {"code", "python", "torch", "numpy"} <= set(result["versions"])
    line = "side by side, two programs run 1.87 times as fast as one after the other\n"
    assert line in capsys.readouterr().out
    tables.main([str(path)])
    out = capsys.readouterr().out
    assert "| first | 1,000 | 1.3 |  |" in out
    assert "| second | 10,000 |  |  |" in out
    assert "* share: 0.5" in out
    assert "cores (two programs at once: 1.87 times as fast as in turn)" in out
    assert result["date"][:10] in out


def test_without_times_the_machine_is_not_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(harness, "gain", pytest.fail)
    path = tmp_path / "result.json"
    replace(EXAMPLE, timed=False).run(["--json", str(path)])
    assert "side_by_side" not in json.loads(path.read_text())["machine"]


def test_committed_results_make_tables(capsys: pytest.CaptureFixture[str]) -> None:
    tables.main([])
    assert capsys.readouterr().out.count("## ") == len(list(tables.RESULTS.glob("*.json")))


def test_one_failure_does_not_stop_the_others(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(given: Arguments, report: Report) -> None:
        raise ValueError("no measurement")

    found = {"broken": Benchmark(fail, {}), "whole": EXAMPLE}
    monkeypatch.setattr(every, "names", lambda: list(found))
    monkeypatch.setattr(every, "benchmark", found.__getitem__)
    monkeypatch.setattr("sys.argv", ["all", "--tiny"])
    with pytest.raises(SystemExit, match="failed: broken"):
        every.main()
    shown = capsys.readouterr()
    assert "no measurement" in shown.err
    assert "second" in shown.out
