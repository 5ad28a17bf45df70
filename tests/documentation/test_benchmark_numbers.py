"""Results of benchmarks in the documentation."""

import json
from pathlib import Path

import pytest

from benchmarks import all as every
from benchmarks.harness.benchmark import Arguments, Benchmark
from benchmarks.harness.report import Report
from docs.benchmark_numbers import MADE, NONE, results


def measure(given: Arguments, report: Report) -> None:
    report.table("made steps", {"networks": "", "ms": ".2f"}).add("mlp", 17.256)
    report.fact("share", 0.5)


@pytest.fixture
def folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """Write results of two settings of one benchmark, and one of another."""
    for name in ("made-two", "made", "madeira"):
        Benchmark(measure, {}, timed=False).run(["--json", str(tmp_path / f"{name}.json")])
    return tmp_path


def test_all_results_of_a_benchmark_are_shown(folder: Path) -> None:
    told = json.loads((folder / "made.json").read_text())
    (folder / "made-two.json").write_text(
        (folder / "made-two.json").read_text().replace("mlp", "cnn")
    )
    page = results("made", folder)
    assert page.index("| mlp | 17.26 |") < page.index("| cnn | 17.26 |")
    assert page.count("made steps") == 2  # not madeira's
    assert "* share: 0.5" in page
    for word in (told["date"][:10], told["machine"]["processor"], told["versions"]["torch"]):
        assert word in page
    assert "#" not in page


def test_without_a_result_a_page_says_so(tmp_path: Path) -> None:
    assert results("made", tmp_path) == f"{NONE}\n"


def test_names_are_those_of_benchmarks() -> None:
    assert set(MADE) <= set(every.names())
