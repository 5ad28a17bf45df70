"""Tables of pages that have runs of their own."""

import json
from pathlib import Path

import pytest

from benchmarks import pages
from benchmarks.harness.benchmark import Arguments
from benchmarks.harness.report import Report
from benchmarks.shown.runs import column, spread
from docs.benchmark_numbers import NONE
from docs.page_numbers import FILE, shown


def measured(given: Arguments, report: Report) -> None:
    columns = {"method": ""} | column("accuracy, %", ".1f")
    table = report.table(f"digits, {given.seeds} seeds", columns)
    table.add("easter", *spread([97.0, 98.0]))
    table.add("local", *spread([44.25]))


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Replace a block's measurement; return words that keep its tables."""
    monkeypatch.setitem(pages.SHOWN, "bound", measured)
    return ["bound", "--out", str(tmp_path), "--json", str(tmp_path / "made" / "pages.json")]


def test_deviations_stand_beside_their_means(kept: list[str]) -> None:
    pages.BENCHMARK.run(kept)
    result = json.loads(Path(kept[-1]).read_text())
    page = shown("bound", Path(kept[-1]))
    assert "| method | accuracy, % |" in page
    assert "| easter | 97.5 ± 0.7 |" in page
    assert "| local | 44.2 |" in page
    assert page.startswith(f"Measured {result['date'][:10]} with torch")
    assert "\nDigits, 3 seeds:\n" in page
    assert shown("thresholds", Path(kept[-1])) == f"{NONE}\n"


def test_kept_tables_are_not_measured_again(
    kept: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = pages.BENCHMARK.run(kept).tables
    monkeypatch.setitem(pages.SHOWN, "bound", pytest.fail)
    assert pages.BENCHMARK.run(kept).tables == first


def test_without_a_result_a_page_says_so(tmp_path: Path) -> None:
    assert shown("bound", tmp_path / "pages.json") == f"{NONE}\n"


def test_all_blocks_are_measured() -> None:
    titles = [each["title"] for each in json.loads(FILE.read_text())["tables"]]
    assert {title.partition(": ")[0] for title in titles} == set(pages.SHOWN)
