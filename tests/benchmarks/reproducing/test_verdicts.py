"""Verdicts of cells, and numbers that are read from results."""

from dataclasses import replace

import pytest

from benchmarks.reproducing.curves import course
from benchmarks.reproducing.paper import AT_THE_END, Cell, Curve, Table
from benchmarks.reproducing.readings import READINGS, read
from benchmarks.reproducing.store import origins
from benchmarks.reproducing.verdicts import (
    DIVERGED,
    FAILED,
    MEASURED,
    MISSED,
    NOT_RUN,
    REACHED,
    SAME,
    cost,
    judged,
    spread_of,
    welch,
)
from tests.benchmarks.reproducing.made import PAPER, seed_of


def test_a_class_that_is_never_predicted_has_no_precision() -> None:
    never = {"metrics": {"active": {"confusion": [[4, 0], [4, 0]]}}}
    assert read("precision-std:active", never) == pytest.approx(25)  # of 50 % and of 0


def test_accuracies_on_the_way_are_those_of_their_epochs() -> None:
    often = ((1, 0.5), (1, 0.6), (2, 0.7))
    way = [{"epoch": n, "validation": {"active": share}} for n, share in often]
    shares = [read(f"after:{n}", {"course": way}) for n in (1, 2, 3)]
    assert shares == [60, 70, None]


def test_a_curve_beside_cells_of_its_experiment_has_no_end_of_its_own() -> None:
    curves = Curve("told", "alone"), Curve("other", "broken", reading="train:active")
    table = Table("figure3", "Both", "Figure 3", (Cell("local", "MLP", "alone"),), curves)
    assert table.ends == [Cell("other", AT_THE_END, "broken", "train:active")]


@pytest.mark.parametrize(
    ("flags", "seen"), [({}, [65, 80, 80]), ({"stop-drop": "2", "keep": "best"}, [65, 85, 85])]
)
def test_a_curve_goes_on_after_a_run_has_stopped(flags: dict[str, str], seen: list[float]) -> None:
    """It is as long as the longest run."""
    long, short, failed = seed_of(90), seed_of(90), {"seed": 2, "failed": "not finite"}
    long["course"] = [*long["course"], long["course"][1] | {"epoch": 3}]
    first = short["course"][0]
    short["course"] = [
        first | {"validation": {"active": share}, "epoch": epoch}
        for epoch, share in ((1, 0.8), (2, 0.7))
    ]
    record = {"flags": flags, "seeds": [long, short, failed]}
    points = course(Curve("told", "alone"), record)
    assert [x for x, _ in points] == [1, 2, 3]
    assert [y for _, y in points] == pytest.approx(seen)


def test_training_accuracy_of_weights_kept_is_that_of_their_evaluation() -> None:
    seed = seed_of(90)
    seed["course"] = [
        seed["course"][0] | {"epoch": n, "validation": {"active": v}, "train": {"active": t}}
        for n, (v, t) in enumerate(((0.5, 0.6), (0.9, 0.8), (0.8, 0.95)), 1)
    ]
    record = {"flags": {"stop-drop": "2"}, "seeds": [seed]}
    points = course(Curve("told", "alone", reading="train:active"), record)
    assert [y for _, y in points] == pytest.approx([60, 80, 80])


@pytest.mark.parametrize(
    ("ours", "cell", "verdict"),
    [
        ([97.0, 97.2, 97.1], Cell("a", "b", "alone", claim=97.0), REACHED),
        ([96.9, 97.2, 96.7], Cell("a", "b", "alone", claim=97.0), SAME),
        ([96.1, 96.2, 96.0], Cell("a", "b", "alone", claim=97.0), MISSED),
        ([96.1, 96.2, 96.0], Cell("a", "b", "alone", claim=97.0, spread=2.0), SAME),
        ([96.1, 96.2, 96.0], Cell("a", "b", "alone", claim=97.0, spread=0.1), MISSED),
        ([96.9], Cell("a", "b", "alone", claim=97.0), MISSED),
        ([96.9], Cell("a", "b", "alone", claim=97.0, spread=2.0), SAME),
        ([91.9], Cell("a", "b", "alone", claim=97.0, spread=1.0), MISSED),
        ([50.03], Cell("a", "b", "alone", claim=50.03), REACHED),
        ([50.03] * 3, Cell("a", "b", "alone", claim=50.03), REACHED),
        ([96.9, 96.9], Cell("a", "b", "alone", claim=97.0), MISSED),
        ([96.9], Cell("a", "b", "alone"), MEASURED),
        ([96.9], Cell("a", "b", "alone", "mib-to:0.9", 4.0, lower=True), REACHED),
        ([96.9], Cell("a", "b", "alone", "mib-to:0.9", 2.0, lower=True), MISSED),
        ([96.9], Cell("a", "b", "alone", "mib-to:0.95", 4.0, lower=True), MISSED),
        ([], Cell("a", "b", "alone", claim=97.0), NOT_RUN),
        ([], Cell("a", "b", None, why="no data"), NOT_RUN),
    ],
)
def test_verdict(ours: list[float], cell: Cell, verdict: str) -> None:
    assert judged(PAPER, cell, {"seeds": list(map(seed_of, ours))}).verdict == verdict


@pytest.mark.parametrize(
    ("ours", "claim", "verdict", "why"),
    [
        ([90.0, 91.0, 11.0], 92.0, MISSED, "1 of 3 seeds no better than guessing"),
        ([90.0, 91.0, 12.0], 92.0, SAME, "by our seeds alone"),
        ([9.0, 11.0, 9.5], 11.0, SAME, "by our seeds alone"),  # so is the claim
        ([99.0, 99.0, 11.0], 60.0, REACHED, ""),
    ],
)
def test_a_seed_that_diverged_is_no_excuse(
    ours: list[float], claim: float, verdict: str, why: str
) -> None:
    confusion = {"active": {"confusion": [[0, 11], [0, 9]] + [[0, 10]] * 8}}
    seeds = [seed_of(each, metrics=confusion) for each in ours]
    found = judged(PAPER, Cell("a", "b", "alone", claim=claim), {"seeds": seeds})
    assert (found.verdict, found.why) == (verdict, why)


def test_the_cost_of_a_search_is_that_of_its_points_too() -> None:
    """Three points of two minutes, and a seed with the best one."""
    assert cost(PAPER.experiments["chosen"]) == "about 8 minutes for the first seed on two cores"
    alone = PAPER.experiments["alone"]
    assert cost(alone) == "about a minute for the first seed on two cores"
    assert cost(replace(alone, lacking="no copy was at hand")) == "no copy was at hand"


def test_all_reasons_of_a_missed_cell_are_told() -> None:
    cell = Cell("a", "b", "alone", "mib-to:0.95", 4.0, lower=True, why="nor has their program")
    found = judged(PAPER, cell, {"seeds": [seed_of(96.9)]})
    assert found.why == "no such value was reached; nor has their program"


@pytest.mark.parametrize(
    ("ours", "told"),
    [
        ([97.5], ""),
        ([96.9, 97.2, 96.7], "by our seeds alone"),
        ([], "about a minute for the first seed on two cores"),
        ([91.9], "one seed; its network is smaller"),
    ],
)
def test_an_explanation_is_that_of_a_miss(ours: list[float], told: str) -> None:
    cell = Cell("a", "b", "alone", claim=97.0, why="its network is smaller")
    assert judged(PAPER, cell, {"seeds": list(map(seed_of, ours))}).why == told


def test_constant_numbers_are_compared() -> None:
    constant = spread_of([96.5, 96.5 + 1e-14])
    assert welch(constant, constant) == 1
    assert welch(constant, spread_of([97.0, 97.0])) == 0


@pytest.mark.parametrize(
    ("failure", "told"), [("a loss is not finite; lower it", DIVERGED), ("no memory", "no memory")]
)
def test_failed_run_is_no_number(failure: str, told: str) -> None:
    record = {"seeds": [seed_of(90), {"seed": 1, "failed": failure}]}
    found = judged(PAPER, Cell("a", "b", "alone", claim=1.0), record)
    assert (found.verdict, found.values, found.why) == (FAILED, [], f"1 of 2 seeds; {told}")


def test_deviations_over_classes() -> None:
    confusion = [[8, 2], [4, 6]]  # rows are the true classes
    seed = seed_of(70, metrics={"active": {"confusion": confusion}})
    assert read("recall-std:active", seed) == pytest.approx(10)
    assert read("precision-std:active", seed) == pytest.approx(100 * (0.75 - 8 / 12) / 2)


def test_readings_are_described() -> None:
    described = (read.__globals__["__doc__"] or "").split("\n")
    assert all(any(line.startswith(name) for line in described) for name in READINGS)


def test_every_seed_has_its_own_origin() -> None:
    """Early ones have none, and share their record's."""
    early = seed_of(90)
    late = early | {"date": "2026-12-02", "machine": {"cores": 4}, "versions": {"torch": "3"}}
    about = {"date": "2026-11-01", "machine": {"cores": 2}, "versions": {"torch": "2"}}
    first, second = origins(about | {"seeds": [early, late]})
    assert [first["date"], first["machine"], first["versions"]] == list(about.values())
    assert (second["date"], second["machine"]) == ("2026-12-02", {"cores": 4})
