"""Tables of measured numbers in the documentation."""

import pytest

from benchmarks.harness.table_runs import REFERENCES
from benchmarks.tabular import NETS, VARIANTS
from docs.numbers import BLOCK, HERE, MADE, PAGES, filled, result, rows_of

FOUND = rows_of(result())


@pytest.mark.parametrize("name", PAGES)
def test_tables_are_as_measured(name: str) -> None:
    """If not: python -m docs.numbers."""
    page = (HERE / name).read_text()
    assert filled(page) == page


def test_every_table_is_shown_once() -> None:
    shown = [name for page in PAGES for _, name, _ in BLOCK.findall((HERE / page).read_text())]
    assert sorted(shown) == sorted(MADE)


@pytest.mark.parametrize("dataset", FOUND)
def test_every_method_is_measured(dataset: str) -> None:
    assert set(FOUND[dataset]) == {*REFERENCES, *NETS, *VARIANTS}
