"""Pages of the papers' tables."""

from dataclasses import replace

import pytest

from benchmarks.reproducing.cells import variants
from benchmarks.reproducing.paper import Cell, Experiment, Search, Table
from benchmarks.reproducing.plan import papers
from docs.reproducing.pages import DOCS, FOLDERS, made
from docs.reproducing.results import Results
from tests.documentation.reproduction.made import EXPERIMENTS, FLAGS, PAPER, TABLES

LONGER = EXPERIMENTS | {"one, 60 epochs": EXPERIMENTS["one"].with_flags({"epochs": "60"})}


def test_pages_and_figures_are_as_measured() -> None:
    """If not: python -m docs.numbers."""
    texts = made()
    kept = {
        path.relative_to(DOCS).as_posix(): path.read_text()
        for folder in FOLDERS
        for path in (DOCS / folder).glob("*")
    }
    assert sorted(kept) == sorted(texts)
    assert [name for name, text in texts.items() if kept[name] != text] == []


def test_cells_have_claim_number_and_verdict(texts: dict[str, str]) -> None:
    page = texts["reproduction/made.md"]
    rows = [
        "| A | 90.00 ± 1.50<br>**92.00 ± 1.41** (2)<br>reached | 99.00<br>50.00 (1)<br>missed |",
        "| B | 70.00<br>not run, about 3 minutes | 71.25<br>not run |",
    ]
    assert "\n".join(rows) in page
    assert "* Missed, one seed; it is smaller than the paper's: A (CNN).\n" in page
    assert "* Not run, no copy of the data set is at hand: B (CNN).\n" in page
    assert "python -m benchmarks.reproduce made:table1 --seeds 3" in page
    assert "Of 8 cells" not in page  # the map's first repeats the sweep's, and that the table's
    assert "Of 6 cells: 2 reached, 1 missed, 3 not run." in page


def test_a_number_that_is_repeated_counts_once(results: Results) -> None:
    columns = [replace(TABLES[0].cells[0], column=f"CNN {n}") for n in range(3)]
    again = Table("table2", "Again", "Table 2", [*columns, Cell("C", "CNN 2", "one", claim=70.0)])
    twice = replace(results, paper=replace(PAPER, tables=[TABLES[0], again]))
    distinct = [(table.name, each.cell.column) for table, each in twice.distinct()]
    assert distinct == [*[("table1", name) for name in ("MLP", "CNN") * 2], ("table2", "CNN 2")]
    assert twice.counts(again).total() == 4  # the table itself has them all


def test_numbers_of_other_settings_are_shown_and_not_counted(results: Results) -> None:
    cells = (*TABLES[0].cells, *variants(TABLES[0].cells, ", 60 epochs", LONGER))
    table = replace(TABLES[0], cells=cells)
    paper = replace(PAPER, experiments=LONGER, tables=(table,))
    page = made([replace(results, paper=paper)])["reproduction/made.md"]
    assert "| A, 60 epochs | 90.00 ± 1.50<br>not run" in page
    assert "Of 4 cells: 1 reached, 1 missed, 2 not run." in page
    assert replace(results, paper=paper).counts(table).total() == 4


def test_a_number_with_a_claim_does_not_count_without_it(results: Results) -> None:
    bare = [replace(TABLES[0].cells[0], claim=None, row=row) for row in "DE"]
    tables = [Table("table0", "Before", "Table 0", bare), TABLES[0]]
    twice = replace(results, paper=replace(PAPER, tables=tables))
    assert {table.name for table, _ in twice.distinct()} == {"table1"}
    alone = replace(results, paper=replace(PAPER, tables=tables[:1]))
    assert [each.cell.row for _, each in alone.distinct()] == ["D"]


def test_result_of_other_flags_is_not_shown(results: Results) -> None:
    changed = {name: Experiment(FLAGS | {"epochs": "2"}, 3) for name in EXPERIMENTS}
    texts = made([replace(results, paper=replace(PAPER, experiments=changed), _read={})])
    assert "not run" in texts["reproduction/made.md"]
    assert "92.00" not in texts["reproduction/made.md"]
    assert [*texts] == ["reproduction/made.md"]  # no picture of nothing


def test_result_of_other_points_is_not_shown(results: Results) -> None:
    record, grid = results.record("two"), {"learning-rates": ("0.1", "0.2")}
    assert record
    tried = [
        {"flags": {"learning-rates": rate}, "course": [{"validation": {"active": 0.5}}]}
        for rate in grid["learning-rates"]
    ]
    results.store.write(record | {"searched": tried})
    for searched, shown in ((grid, True), ({"learning-rates": ("0.1", "0.3")}, False)):
        of = Experiment(FLAGS, minutes=3, search=Search(searched))
        paper = replace(PAPER, experiments=EXPERIMENTS | {"two": of})
        assert bool(replace(results, paper=paper, _read={}).record("two")) == shown


def test_page_names_the_gpu_and_precision_of_networks(results: Results) -> None:
    record = results.record("two")
    assert record
    seeds = [each | {"device": "cuda (H100)", "precision": "bf16"} for each in record["seeds"]]
    results.store.write(record | {"seeds": seeds})
    page = made([replace(results, _read={})])["reproduction/made.md"]
    assert ", networks on cuda (H100) in bf16, Python 3." in page


@pytest.mark.parametrize("name", papers())
def test_every_cell_of_a_table_has_its_own_place(name: str) -> None:
    for table in papers()[name].tables:
        places = [(cell.row, cell.column) for cell in table.cells]
        assert len(set(places)) == len(places), table.name
