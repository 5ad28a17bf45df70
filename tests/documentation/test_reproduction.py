"""Pages and figures of the papers' tables."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from benchmarks.reproducing.paper import Cell, Curve, Experiment, Paper, Search, Table
from benchmarks.reproducing.plan import COMMON, papers
from benchmarks.reproducing.store import Store, origin
from benchmarks.reproducing.verdicts import REACHED, Judged
from docs.pictures.svg import DARK as PAPER_DARK
from docs.pictures.svg import LIGHT as PAPER_LIGHT
from docs.reproducing import panels
from docs.reproducing.comparison import BETTER, LEVELLED, WORSE, compared, of_others, outcome
from docs.reproducing.orders import orders
from docs.reproducing.pages import DOCS, FOLDERS, made
from docs.reproducing.results import Results
from tests.documentation.test_pictures import contrast

FLAGS = {"method": "local", "dataset": "digits"}
EXPERIMENTS = {name: Experiment(FLAGS, minutes=3) for name in ("one", "two", "three")}
TABLES = (
    Table(
        "table1",
        "Accuracy",
        "Table 1",
        (
            Cell("A", "MLP", "one", claim=90.0, spread=1.5),
            Cell("A", "CNN", "two", claim=99.0, why="it is smaller than the paper's"),
            Cell("B", "MLP", "three", claim=70.0),
            Cell("B", "CNN", None, claim=71.25, why="no copy of the data set is at hand"),
        ),
    ),
    Table(
        "fig1",
        "Curves",
        "Fig. 1",
        curves=[Curve("alone", "one", "mib", "train:active"), Curve("more", "three")],
        picture="curves",
    ),
    Table(
        "fig2",
        "Sweep",
        "Fig. 2",
        (Cell("A", "epsilon 1", "one", claim=80.0), Cell("A", "epsilon 8", "two")),
        picture="lines",
    ),
    Table(
        "fig3",
        "Map",
        "Fig. 3",
        (Cell("A", "tau 1", "one", claim=80.0), Cell("A", "tau 5", "three", claim=81.0)),
        picture="heat",
    ),
)
PAPER = Paper("Made", "Nobody, never", 5, EXPERIMENTS, TABLES)


def seed_of(seed: int, accuracy: float, course: list[dict[str, Any]]) -> dict[str, Any]:
    made = {"seed": seed, "failed": "", "test_accuracy": {"active": accuracy}, "seconds": 60.0}
    return made | {"course": course} | origin()


def point(mib: int, train: float) -> dict[str, Any]:
    return {"bytes": mib << 20, "epoch": 1, "train": {"active": train}, "validation": None}


@pytest.fixture
def results(tmp_path: Path) -> Results:
    """Return a paper whose experiments one and two are there."""
    store = Store(tmp_path)
    courses = [[point(1, 0.4), point(2, 0.6)], [point(3, 0.6), point(4, 0.9)]]
    seeds = [seed_of(n, 0.91 + 0.02 * n, course) for n, course in enumerate(courses)]
    for name, of in (("one", seeds), ("two", [seed_of(0, 0.5, courses[0])])):
        flags = FLAGS | COMMON
        record = {"paper": "made", "experiment": name, "flags": flags, "searched": []}
        store.write(record | {"chosen": {"learning-rates": "0.1"}, "seeds": of})
    return Results("made", PAPER, store)


@pytest.fixture
def texts(results: Results) -> dict[str, str]:
    return made([results])


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
    assert "Of 8 cells" not in page  # the map's first repeats the sweep's
    assert "Of 7 cells: 2 reached, 1 missed, 1 measured, 3 not run." in page


def test_a_number_that_is_repeated_counts_once(results: Results) -> None:
    columns = [replace(TABLES[0].cells[0], column=f"CNN {n}") for n in range(3)]
    again = Table("table2", "Again", "Table 2", [*columns, Cell("C", "CNN 2", "one", claim=70.0)])
    twice = replace(results, paper=replace(PAPER, tables=[TABLES[0], again]))
    distinct = [(table.name, each.cell.column) for table, each in twice.distinct()]
    assert distinct == [*[("table1", name) for name in ("MLP", "CNN") * 2], ("table2", "CNN 2")]
    assert twice.counts(again).total() == 4  # the table itself has them all


def test_result_of_other_flags_is_not_shown(results: Results) -> None:
    changed = {name: Experiment(FLAGS | {"epochs": "2"}, 3) for name in EXPERIMENTS}
    texts = made([replace(results, paper=replace(PAPER, experiments=changed), _read={})])
    assert "not run" in texts["reproduction/made.md"]
    assert "92.00" not in texts["reproduction/made.md"]
    assert [*texts] == ["reproduction/made.md"]  # no picture of nothing


def cell(values: list[float], lower: bool = False) -> Judged:
    return Judged(Cell("A", "MLP", "one", lower=lower), values, REACHED, "")


@pytest.mark.parametrize(
    ("own", "other", "expected"),
    [
        ([90.0, 90.1], [80.0, 80.1], BETTER),
        ([80.0, 80.1], [90.0, 90.1], WORSE),
        ([70.0, 90.0], [80.0, 80.1], LEVELLED),
        ([80.0], [79.0, 90.0], WORSE),  # no test of one seed
    ],
)
def test_methods_are_compared(own: list[float], other: list[float], expected: str) -> None:
    assert outcome(cell(own), cell(other)) == expected
    turned = {BETTER: WORSE, WORSE: BETTER, LEVELLED: LEVELLED}[expected]
    assert outcome(cell(own, lower=True), cell(other)) == turned


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


def test_own_method_stands_against_the_others(results: Results) -> None:
    cells = (
        Cell("MNIST, Made", "MLP", "one", claim=90.0),
        Cell("MNIST, Local", "MLP", "two", claim=80.0),
        Cell("MNIST, Central", "MLP", "two", claim=99.0),
        Cell("FMNIST, Local", "MLP", "two", claim=95.0),
    )
    paper = replace(PAPER, tables=(Table("table1", "Accuracy", "Table 1", cells),))
    page = made([replace(results, paper=paper)])["reproduction/made.md"]
    assert "| [Table 1](#table-1) | Made against Local | 1 of 1 | 1 |  |  |  |" in page
    assert "against Central" not in page
    told = of_others(replace(results, paper=paper), paper.tables[0])
    assert [each.cell for each in told] == list(cells[1:])


def test_a_shortened_row_stands_against_shortened_ones(results: Results) -> None:
    cells = (
        Cell("Made", "MLP", "one", claim=90.0),
        Cell("Local", "MLP", "three", claim=80.0),
        Cell("Made, shortened", "MLP", "two"),
        Cell("Local, shortened", "MLP", "one"),
        Cell("Local, in bfloat16", "MLP", "one"),
        Cell("Made, 60 epochs", "MLP", "one"),
    )
    changed = replace(results, paper=replace(PAPER, tables=(Table("t", "Short", "T", cells),)))
    pairs = compared(changed, changed.paper.tables[0])
    assert {names: [(a.cell, b.cell) for a, b in each] for names, each in pairs.items()} == {
        ("Made", "Local"): [(cells[0], cells[1]), (cells[2], cells[3])]
    }
    told = [each.cell.row for each in of_others(changed, changed.paper.tables[0])]
    assert told == ["Local", "Local, shortened", "Local, in bfloat16"]


def test_failed_runs_are_told_beside_comparisons(results: Results) -> None:
    record = results.record("two")
    assert record
    results.store.write(record | {"seeds": [record["seeds"][0] | {"failed": "not finite"}]})
    cells = (Cell("Made", "MLP", "one", claim=90.0), Cell("Local", "MLP", "two", claim=80.0))
    paper = replace(PAPER, tables=(Table("table1", "Accuracy", "Table 1", cells),))
    page = made([replace(results, paper=paper, _read={})])["reproduction/made.md"]
    assert "| Made against Local | 1 of 1 |  |  |  | 1 |" in page


def test_an_order_without_numbers_has_a_verdict(results: Results) -> None:
    cells = (
        Cell("digits", "weighted", "two"),  # 50.00
        Cell("digits", "average", "one"),  # 92.00
        Cell("mnist", "weighted", "one"),
        Cell("mnist", "average", "two"),
        Cell("adult", "weighted", "one"),
        Cell("adult", "average", "three"),  # not run
    )
    table = Table("t", "Order", "T", cells, best="weighted")
    assert orders(results, table) == (
        "* Order missed, digits: the paper has weighted above the others, and ours are 50.00 "
        "against 92.00 (average), by means alone.\n"
        "* Order reached, mnist: the paper has weighted above the others, and ours are 92.00 "
        "against 50.00 (average), by means alone.\n"
    )
    turned = [replace(each, row=each.column, column=each.row) for each in cells]
    assert orders(results, replace(table, cells=turned)) == orders(results, table)
    assert orders(results, replace(table, best="")) == ""


def test_page_names_the_gpu_and_precision_of_networks(results: Results) -> None:
    record = results.record("two")
    assert record
    seeds = [each | {"device": "cuda (H100)", "precision": "bf16"} for each in record["seeds"]]
    results.store.write(record | {"seeds": seeds})
    page = made([replace(results, _read={})])["reproduction/made.md"]
    assert ", networks on cuda (H100) in bf16, Python 3." in page


def test_curve_is_the_mean_over_seeds(texts: dict[str, str]) -> None:
    svg = texts["pictures/reproduction/made-fig1.svg"]
    assert "alone 75.0" in svg  # of 60 and 90
    assert "more" in svg  # in the legend: nothing hides that it is missing
    lines = re.findall(r'<path class="s\d-line" d="(M[\d. ]+)"', svg)
    assert [line.count(" ") for line in lines] == [3]  # two points


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


@pytest.mark.parametrize("name", papers())
def test_every_cell_of_a_table_has_its_own_place(name: str) -> None:
    for table in papers()[name].tables:
        places = [(cell.row, cell.column) for cell in table.cells]
        assert len(set(places)) == len(places), table.name
