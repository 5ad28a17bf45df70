"""Figures of the papers' results."""

import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from benchmarks.reproducing.store import origin
from docs.pictures.svg import DARK as PAPER_DARK
from docs.pictures.svg import LIGHT as PAPER_LIGHT
from docs.reproducing import panels
from docs.reproducing.pages import made
from docs.reproducing.results import Results
from tests.documentation.test_pictures import contrast


def test_curve_is_the_mean_over_seeds(texts: dict[str, str]) -> None:
    svg = texts["pictures/reproduction/made-fig1.svg"]
    assert "alone 75.0" in svg  # of 60 and 90
    assert "more" in svg  # in the legend: nothing hides that it is missing
    lines = re.findall(r'<path class="s\d-line" d="(M[\d. ]+)"', svg)
    assert [line.count(" ") for line in lines] == [3]  # two points


def test_runs_that_failed_are_told_below_a_figure(results: Results) -> None:
    record = results.record("one")
    assert record
    failed = {"seed": 2, "failed": "not finite", "seconds": 1.0, **origin()}
    results.store.write(record | {"seeds": [*record["seeds"], failed]})
    page = made([replace(results, _read={})])["reproduction/made.md"]
    assert "* Not in the curve: alone (1 of 3 runs failed).\n" in page


def test_map_has_no_columns_that_nobody_measured(texts: dict[str, str]) -> None:
    svg = texts["pictures/reproduction/made-fig3.svg"]
    assert "tau 1<" in svg
    assert "tau 5" not in svg


@pytest.mark.parametrize("name", ["made-fig1", "made-fig2", "made-fig3"])
def test_figure_is_a_picture_for_both_schemes(texts: dict[str, str], name: str) -> None:
    svg = texts[f"pictures/reproduction/{name}.svg"]
    root = ElementTree.fromstring(svg)  # noqa: S314
    assert root.get("viewBox") and root.get("role") == "img" and root.get("aria-label")
    assert "prefers-color-scheme: dark" in svg
    assert f"](../pictures/reproduction/{name}.svg)" in texts["reproduction/made.md"]


@pytest.mark.parametrize(
    ("series", "page"),
    [(panels.LIGHT, PAPER_LIGHT), (panels.DARK, PAPER_DARK)],
    ids=["light", "dark"],
)
def test_lines_can_be_told_from_the_page(series: list[str], page: dict[str, str]) -> None:
    assert all(contrast(colour, page["paper"]) > 4.5 for colour in series)
    assert len(set(series)) == 8


def test_ticks_are_round_and_hold_the_range() -> None:
    assert panels.ticks(12.3, 97.8) == [0, 20, 40, 60, 80, 100]
    assert panels.ticks(0.91, 0.98)[0] <= 0.91
    assert panels.ticks(5, 5)[0] <= 5 <= panels.ticks(5, 5)[-1]
