"""Leakage of all methods, in the documentation and in the package."""

import json

import pytest

from docs import leakage_numbers
from docs.leakage_numbers import Line, lines, strongest
from tests.helpers.outcomes.pages import DOCS
from vfl_flower.config.registry import specs
from vfl_flower.reporting.usual_leakage import FILE, usual_leakage

SENDING = {name for name, spec in specs().items() if not (spec.alone or spec.pools)}


def test_the_package_has_the_measured_figures() -> None:
    """If not: python -m docs.numbers."""
    assert json.loads(FILE.read_text()) == leakage_numbers.of_methods()


def test_every_method_that_sends_is_measured() -> None:
    assert {line.method for line in lines()} == SENDING
    assert all(usual_leakage(name) for name in SENDING)
    assert usual_leakage("local") == []


def test_every_attack_is_named_on_the_page() -> None:
    page = (DOCS / "leakage.md").read_text()
    assert all(f"| {line.attack}, {line.metric} |" in page for line in lines())


def line(
    attack: str,
    without: float | None,
    protected: float | None,
    chance: float,
    metric: str = "accuracy",
) -> Line:
    names = "easter", "digits", "labels", attack, metric
    return Line(*names, without, chance, protected, chance, "majority")


@pytest.mark.parametrize(
    ("found", "best"),
    [
        ([line("a", 0.9, 0.2, 0.1), line("b", 0.5, None, 0.1)], "b"),  # as it is by default
        ([line("a", 0.5, 0.5, 0.1), line("b", 0.2, 0.1, 0.9, "accuracy left")], "b"),
        ([line("a", 0.2, None, 0.1), line("b", 0.1, None, 0.9)], "a"),  # b does worse than nothing
        ([line("a", 0.5, 0.0, 0.0), line("b", None, 0.1, 0.0)], "b"),
    ],
)
def test_the_attack_furthest_from_its_baseline_is_told(found: list[Line], best: str) -> None:
    assert [each.attack for each in strongest(found)] == [best]
