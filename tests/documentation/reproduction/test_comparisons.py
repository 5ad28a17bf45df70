"""A paper's own method against the others."""

from dataclasses import replace

import pytest

from benchmarks.reproducing.cells import uncounted
from benchmarks.reproducing.paper import Cell, Experiment, Table
from benchmarks.reproducing.verdicts import REACHED, Judged
from docs.reproducing.comparison import BETTER, LEVELLED, WORSE, compared, of_others, outcome
from docs.reproducing.orders import counted_orders, orders, ranks, ranks_in_words
from docs.reproducing.pages import made
from docs.reproducing.results import Results
from tests.documentation.reproduction.made import FLAGS, PAPER


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


def test_methods_that_were_not_given_the_same_care_are_not_compared(results: Results) -> None:
    cells = (Cell("Made", "MLP", "one", claim=90.0), Cell("Local", "MLP", "two", claim=80.0))
    for alike in (True, False):
        table = Table("table1", "Accuracy", "Table 1", cells, alike=alike)
        paper = replace(PAPER, tables=(table,))
        assert bool(compared(replace(results, paper=paper), table)) == alike


def test_a_claim_that_is_held_twice_is_compared_once(results: Results) -> None:
    cells = (Cell("Made", "MLP", "one", claim=90.0), Cell("Local", "MLP", "two", claim=80.0))
    again = uncounted(replace(each, column="MLP, 60 epochs") for each in cells)
    table = Table("table1", "Accuracy", "Table 1", (*cells, *again))
    pairs = compared(replace(results, paper=replace(PAPER, tables=(table,))), table)
    assert [own.cell for own, _ in pairs["Made", "Local"]] == [cells[0]]


def test_brackets_of_a_row_may_hold_a_comma(results: Results) -> None:
    cells = (
        Cell("MNIST, Made", "MLP", "one", claim=90.0),
        Cell("MNIST, Local (labels shared, a quarter of the rate)", "MLP", "two"),
    )
    paper = replace(PAPER, tables=(Table("table1", "Accuracy", "Table 1", cells),))
    names = compared(replace(results, paper=paper), paper.tables[0])
    assert [*names] == [("Made", "Local (labels shared, a quarter of the rate)")]


def test_other_methods_are_told_where_no_row_is_the_papers_own(results: Results) -> None:
    own, other = (FLAGS | {"method": method} for method in ("easter", "splitnn"))
    made_by = {"one": Experiment(own, minutes=3), "two": Experiment(other, minutes=3)}
    table = Table("t", "Tops", "T", (Cell("first", "MLP", "one"), Cell("second", "MLP", "two")))
    paper = replace(PAPER, experiments=made_by, tables=(table,), methods=("easter",))
    told = of_others(replace(results, paper=paper, _read={}), table)
    assert [each.cell.row for each in told] == ["second"]


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
    assert counted_orders(results, table) == "orders: 1 reached, 1 missed"
    others = [replace(each, counted=each.row == "digits") for each in cells]
    assert counted_orders(results, replace(table, cells=others)) == "orders: 1 missed"


def test_rows_whose_levels_differ_are_held_against_the_ranks_of_claims(results: Results) -> None:
    claims = (
        Cell("first", "digits", None, claim=90.0),
        Cell("second", "digits", None, claim=80.0),
        Cell("third", "digits", None, claim=70.0),
    )
    shorter = (
        Cell("first, short", "digits", "one"),  # 92.00
        Cell("second, short", "digits", "two"),  # 50.00
    )
    table = Table("t", "Ranks", "T", (*claims, *shorter), ranked=", short")
    assert ranks_in_words(results, table) == "rank correlation 1.00, short"
    turned = [
        *claims,
        *(replace(a, row=b.row) for a, b in zip(shorter, shorter[::-1], strict=True)),
    ]
    assert ranks(results, replace(table, cells=turned)) == (
        "* Ranks, digits: Spearman's correlation of the claims with our means, short, is -1.00.\n"
    )
    unfinished = replace(shorter[1], experiment="three")  # not run
    assert ranks(results, replace(table, cells=(*claims, shorter[0], unfinished))) == ""
    assert ranks_in_words(results, replace(table, ranked="")) == ""
