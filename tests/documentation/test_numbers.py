"""Tables of measured numbers in the documentation."""

import re
from functools import partial
from typing import Any

import pytest

from benchmarks.harness.table_runs import REFERENCES
from benchmarks.tabular import NETS, VARIANTS
from docs.fault_numbers import OUTCOMES, table
from docs.method_numbers import METHOD_PAGES
from docs.numbers import BLOCK, HERE, MADE, PAGES, filled
from docs.tabular_numbers import result, rows_of
from tests.helpers.outcomes.pages import FENCE

FOUND = rows_of(result())
MEASURED = re.compile(r"±|\d\.\d+ ?%|(?<![\d-])\d\d(\.\d+)? %|(?m:^\|.*\| *\**\d+\.\d+)")
"""How results look: deviations, percent, and decimals that begin a cell."""


@pytest.mark.parametrize("name", PAGES)
def test_tables_are_as_measured(name: str) -> None:
    """If not: python -m docs.numbers."""
    page = (HERE / name).read_text()
    assert filled(page) == page


def test_every_table_is_shown_once() -> None:
    shown = [name for page in PAGES for _, name, _ in BLOCK.findall((HERE / page).read_text())]
    assert sorted(shown) == sorted(MADE)


def typed(page: str) -> list[str]:
    """Return the results in a page that no command writes there."""
    return [found[0] for found in MEASURED.finditer(BLOCK.sub("", FENCE.sub("", page)))]


MEASURED_PAGES = (
    *("label-privacy.md", "client-privacy.md", "reconstruction.md", "alignment.md"),
    *("deployment.md", "../README.md", "../benchmarks/results.md", "leaving-and-joining.md"),
    *("missing-parties.md", "reliability.md"),
)


@pytest.mark.parametrize("name", [*METHOD_PAGES, *MEASURED_PAGES])
def test_no_result_is_typed(name: str) -> None:
    """If not: let docs.numbers write it, or link to the papers' tables."""
    page = (HERE / name).read_text()
    assert not typed(page)


@pytest.mark.parametrize(
    "line", ["97.73 ± 0.16", "| MNIST | mlp | 97.11 |", "| a | **97.73** |", "it has 98 % then"]
)
def test_a_typed_result_is_found(line: str) -> None:
    assert typed(f"text\n{line}\n")
    assert not typed(f"<!-- numbers: easter -->\n{line}\n<!-- numbers end -->\n")


@pytest.mark.parametrize("dataset", FOUND)
def test_every_method_is_measured(dataset: str) -> None:
    assert set(FOUND[dataset]) == {*REFERENCES, *NETS, *VARIANTS}


def test_references_are_the_same_in_all_files() -> None:
    """So are their splits: rows of both files can be compared."""
    known = dict[tuple[str, str], list[Any]]()
    for each in result()["tables"]:
        for name, *cells in each["rows"]:
            if name in REFERENCES and each["title"].endswith("splits"):
                assert known.setdefault((each["title"], name), cells) == pytest.approx(cells)
    assert len(known) == len(FOUND) * len(REFERENCES)


def number(dataset: str, model: str, column: str = "ROC-AUC") -> float:
    return float(FOUND[dataset][model][column] or 0)


def test_conclusions_follow_from_the_numbers() -> None:
    """Those of docs/choosing.md."""
    trained = [name for name in NETS if name not in ("local", "central")]
    noised = [name for name in VARIANTS if name.endswith("labels epsilon 1")]
    nets = [name for name in trained if name not in ("linear_admm", "logistic")]
    for large in ("adult", "credit-default"):
        beaten = [number(large, name, "difference") - number(large, name, "+-") for name in nets]
        assert min(beaten) > 0  # by more than chance
        pooled = number(large, "boosting, pooled")
        assert max(trained, key=partial(number, large)) == "boosted_trees"
        assert number(large, "boosted_trees") == pytest.approx(pooled, abs=0.002)
        assert max(number(large, name) for name in trained if name != "boosted_trees") < pooled
        assert max(trained, key=lambda name: number(large, name, "log-loss")) == "easter"
    for small in ("pima", "breast-cancer"):
        level = [abs(number(small, n, "difference")) <= number(small, n, "+-") for n in nets]
        assert all(level)
    for dataset in {*FOUND} - {"adult"}:
        alone = max(number(dataset, name) for name in REFERENCES[2:])
        assert max(number(dataset, name) for name in noised) < alone


@pytest.mark.parametrize("kind", ["damage", "malformed", "configurations"])
def test_no_fault_changes_results_unnoticed(kind: str) -> None:
    """The rule of docs/reliability.md."""
    measured = table(*OUTCOMES[kind].args)
    assert measured
    bad = {"SILENT CHANGE", "changed", "changed, told", "slow", "printed", "TRACEBACK"}
    places = [n for n, name in enumerate(measured.columns) if name in bad]
    assert places
    assert not any(row[n] for row in measured.rows for n in places)
