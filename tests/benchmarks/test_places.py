"""Results name no folder of the machine that made them."""

import json
from pathlib import Path

import pytest

from benchmarks.harness.benchmark import PLACES, Benchmark, Option
from benchmarks.harness.report import Report
from benchmarks.harness.tables import RESULTS


def test_a_result_keeps_options_but_no_folder(tmp_path: Path) -> None:
    def measure(given: object, report: Report) -> None:
        report.table("nothing", {"one": ""}).add("1")

    options = {"out": Option("", tiny="", help="folder"), "rows": Option(4, tiny=2, help="rows")}
    benchmark = Benchmark(measure, options, timed=False)
    file = tmp_path / "result.json"
    benchmark.run(["--json", str(file), "--out", str(tmp_path), "--tiny"])
    assert json.loads(file.read_text())["options"] == {"tiny": True, "rows": 2}


@pytest.mark.parametrize("file", sorted(RESULTS.glob("*.json")), ids=lambda file: file.stem)
def test_kept_results_name_no_folder(file: Path) -> None:
    assert PLACES.isdisjoint(json.loads(file.read_text()).get("options", {}))
