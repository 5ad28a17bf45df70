"""The harness of papers' tables: runs, results that are kept, verdicts."""

import json
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks import reproduce
from benchmarks.reproducing import plan
from benchmarks.reproducing.paper import AT_THE_END, Cell, Curve, Experiment, Paper, Search, Table
from benchmarks.reproducing.readings import READINGS, read
from benchmarks.reproducing.runs import Run, completed
from benchmarks.reproducing.store import Store
from benchmarks.reproducing.verdicts import (
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

BENCHMARK = replace(reproduce.BENCHMARK, known=["made", "made:table1", "made:figure2"])
ALONE = {"method": "local", "parties": "3", "dataset": "digits", "models": "mlp", "epochs": "1"}
PAPER = Paper(
    title="Made",
    reference="Nobody, never",
    repeats=5,
    experiments={
        "alone": Experiment(ALONE, minutes=1, most_seeds=2),
        "chosen": Experiment(
            ALONE, minutes=2, search=Search({"learning-rates": ("0", "1e-30", "0.01")})
        ),
        "absent": Experiment(ALONE | {"dataset": "cinic10"}, minutes=1),
        "broken": Experiment(ALONE | {"optimizers": "sgd", "learning-rates": "1e30"}, minutes=3),
    },
    tables=(
        Table("table1", "Alone", "Table 1", (Cell("local", "MLP", "alone", claim=1.0),)),
        Table("table2", "Chosen", "Table 2", (Cell("local", "MLP", "chosen", claim=99.9),)),
        Table("table3", "Absent", "Table 3", (Cell("local", "MLP", "absent", claim=99.9),)),
        Table("figure1", "Broken", "Figure 1", (Cell("local", "MLP", "broken"),)),
        Table("figure2", "Course", "Figure 2", curves=(Curve("local", "alone"),)),
    ),
)


@pytest.fixture(autouse=True)
def _made(monkeypatch: pytest.MonkeyPatch) -> None:
    """Know one paper, and run in this process."""
    monkeypatch.setattr(plan, "papers", lambda: {"made": PAPER})
    monkeypatch.setattr(reproduce, "papers", lambda: {"made": PAPER})
    monkeypatch.setattr(reproduce, "ProcessPoolExecutor", InThisProcess)


class InThisProcess:
    """Pool of this process alone."""

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def __enter__(self) -> "InThisProcess":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def submit(self, work: Any, *args: Any) -> Any:
        future = Future[Any]()
        future.set_result(work(*args))
        return future


def seed_of(accuracy: float, **changed: Any) -> dict[str, Any]:
    course = [
        {"epoch": 1, "step": 10, "bytes": 1 << 20, "validation": {"active": 0.5}, "train": None},
        {"epoch": 2, "step": 20, "bytes": 3 << 20, "validation": {"active": 0.9}, "train": None},
    ]
    made = {"seed": 0, "failed": "", "test_accuracy": {"active": accuracy / 100}, "course": course}
    return made | changed


def words(tmp_path: Path, *more: str) -> list[str]:
    return ["--out", str(tmp_path / "out"), "--results", str(tmp_path / "results"), *more]


def kept(tmp_path: Path, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((tmp_path / "results" / "made" / name).read_text())
    return found


def test_what_is_missing_is_run_and_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (table,) = BENCHMARK.run(words(tmp_path, "--seeds", "1", "made:table1")).tables
    assert [table.rows[0][n] for n in (0, 6, 7)] == ["local", 1, REACHED]
    first = kept(tmp_path, "alone.json")
    assert [each["seed"] for each in first["seeds"]] == [0]
    assert (first["seeds"][0]["device"], first["seeds"][0]["precision"]) == ("cpu", "float32")
    assert first["machine"]["cores"] and first["versions"]["torch"]
    capsys.readouterr()
    BENCHMARK.run(words(tmp_path, "--seeds", "3", "made:table1"))
    told = capsys.readouterr().out
    assert "seed-1" in told
    assert "seed-0" not in told
    both = kept(tmp_path, "alone.json")["seeds"]
    assert [each["seed"] for each in both] == [0, 1]  # two at most
    assert both[0] == first["seeds"][0]


def test_a_figure_of_curves_shows_where_they_end(tmp_path: Path) -> None:
    (before,) = BENCHMARK.run(words(tmp_path, "--minutes", "1e-9", "made:figure2")).tables
    assert before.rows[0][:7] == ["local", AT_THE_END, *[None] * 4, 0]
    assert before.rows[0][7:] == [NOT_RUN, cost(PAPER.experiments["alone"])]
    (table,) = BENCHMARK.run(words(tmp_path, "--seeds", "1", "made:figure2")).tables
    (row,) = table.rows
    last = kept(tmp_path, "alone.json")["seeds"][0]["course"][-1]
    assert row[4] == pytest.approx(100 * last["validation"]["active"])
    assert [row[6], row[7]] == [1, MEASURED]


def test_a_curve_beside_cells_of_its_experiment_has_no_end_of_its_own() -> None:
    curves = Curve("told", "alone"), Curve("other", "broken", reading="train:active")
    table = Table("figure3", "Both", "Figure 3", (Cell("local", "MLP", "alone"),), curves)
    assert table.ends == [Cell("other", AT_THE_END, "broken", "train:active")]


def test_experiments_without_data_are_passed_over(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tables = BENCHMARK.run(words(tmp_path, "--seeds", "1", "made", "--data-dir", "nowhere")).tables
    found = [row[7] for table in tables for row in table.rows]
    assert found == [REACHED, MISSED, NOT_RUN, FAILED, MEASURED]
    assert "nowhere" in capsys.readouterr().out


def test_changed_settings_are_run_anew(tmp_path: Path) -> None:
    store = Store(tmp_path / "results")
    BENCHMARK.run(words(tmp_path, "--seeds", "1", "made:table1"))
    record = store.read("made", "alone")
    assert record
    store.write(record | {"flags": record["flags"] | {"epochs": "7"}})
    BENCHMARK.run(words(tmp_path, "--seeds", "1", "made:table1"))
    assert kept(tmp_path, "alone.json")["flags"]["epochs"] == "1"


def test_an_experiments_own_precision_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    halved = Experiment(ALONE | {"precision": "bf16"}, minutes=1)
    monkeypatch.setitem(PAPER.experiments, "alone", halved)
    BENCHMARK.run(words(tmp_path, "--seeds", "1", "made:table1"))
    assert kept(tmp_path, "alone.json")["seeds"][0]["precision"] == "bf16"


def test_settings_are_chosen_on_validation_rows(tmp_path: Path) -> None:
    BENCHMARK.run(words(tmp_path, "--seeds", "2", "made"))
    found = kept(tmp_path, "chosen.json")
    assert len(found["searched"]) == 3  # one of them is refused
    assert found["chosen"] == {"learning-rates": "0.01"}
    assert len(found["seeds"]) == 2
    assert kept(tmp_path, "broken.json")["seeds"][0]["failed"]


def test_parties_count_is_told_by_heads_and_by_noise(tmp_path: Path) -> None:
    flags = ALONE | {"method": "vimadmm", "baselines": "off", "seed": "0"}
    run = Run("made", flags, tmp_path / "run", Experiment(flags, 1, noise=100))
    seed = completed(run)
    assert seed
    parties = ("active", "party-1", "party-2")
    assert max(read(f"norm:{party}", seed) or 0 for party in parties) == 100
    noised = [read(f"noised:{party}", seed) or 0 for party in parties]
    assert max(noised) < (read("test:active", seed) or 0)
    assert read("rank-correlation", seed) is not None
    assert "heads" not in (completed(replace(run, point=True)) or {})


def test_some_experiments_are_run(tmp_path: Path) -> None:
    BENCHMARK.run(words(tmp_path, "--seeds", "1", "--only", "Alone", "made"))
    assert [path.name for path in (tmp_path / "results" / "made").iterdir()] == ["alone.json"]


def test_a_failed_run_names_the_party_and_no_file_of_this_machine(tmp_path: Path) -> None:
    flags = ALONE | {"method": "easter", "baselines": "off", "seed": "0"}
    flags |= {"optimizers": "sgd", "learning-rates": "1e30"}
    seed = completed(Run("made", flags, tmp_path / "run", Experiment(flags, 1)))
    assert seed
    assert "party-1" in seed["failed"]
    assert ".py" not in seed["failed"]


def test_without_time_nothing_is_run(tmp_path: Path) -> None:
    report = BENCHMARK.run(words(tmp_path, "--minutes", "1e-9", "made"))
    assert [row[7] for table in report.tables for row in table.rows] == [NOT_RUN] * 5
    assert "about a minute for the first seed" in str(report.tables[0].rows[0][8])
    assert not (tmp_path / "results").exists()


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


def test_the_cost_of_a_search_is_that_of_its_points_too() -> None:
    """Three points of two minutes, and a seed with the best one."""
    assert cost(PAPER.experiments["chosen"]) == "about 8 minutes for the first seed on two cores"
    assert cost(PAPER.experiments["alone"]) == "about a minute for the first seed on two cores"


def test_all_reasons_of_a_missed_cell_are_told() -> None:
    cell = Cell("a", "b", "alone", "mib-to:0.95", 4.0, lower=True, why="nor has their program")
    found = judged(PAPER, cell, {"seeds": [seed_of(96.9)]})
    assert found.why == "no such value was reached; nor has their program"


def test_constant_numbers_are_compared() -> None:
    constant = spread_of([96.5, 96.5 + 1e-14])
    assert welch(constant, constant) == 1
    assert welch(constant, spread_of([97.0, 97.0])) == 0


def test_failed_run_is_no_number() -> None:
    record = {"seeds": [seed_of(90), {"seed": 1, "failed": "not finite"}]}
    found = judged(PAPER, Cell("a", "b", "alone", claim=1.0), record)
    assert (found.verdict, found.values, found.why) == (FAILED, [], "not finite")


def test_deviations_over_classes() -> None:
    confusion = [[8, 2], [4, 6]]  # rows are the true classes
    seed = seed_of(70, metrics={"active": {"confusion": confusion}})
    assert read("recall-std:active", seed) == pytest.approx(10)
    assert read("precision-std:active", seed) == pytest.approx(100 * (0.75 - 8 / 12) / 2)


def test_readings_are_described() -> None:
    described = (read.__globals__["__doc__"] or "").split("\n")
    assert all(any(line.startswith(name) for line in described) for name in READINGS)
