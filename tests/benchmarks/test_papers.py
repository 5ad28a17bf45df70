"""Papers' tables as data: accepted flags, numbers that can be read."""

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.reproducing.paper import Cell, Curve, Experiment
from benchmarks.reproducing.plan import Plan, Settings, papers
from benchmarks.reproducing.readings import READINGS, read
from benchmarks.reproducing.runs import Run, options_of
from benchmarks.reproducing.store import Store, slug
from vfl_flower.common.errors import ConfigError
from vfl_flower.config.run_config import RunConfig

PAPERS = papers()
ACROSS = ("epoch", "step", "mib")
PICTURES = ("", "curves", "lines", "heat")

each_paper = pytest.mark.parametrize("name", PAPERS)


def runs_of(name: str, folder: Path, small: bool) -> Iterator[tuple[str, Run]]:
    """Yield a paper's first runs, and all points of searches."""
    settings = Settings(
        1, small, {"device": "cpu", "precision": "float32", "data-dir": "data"}, folder / "out"
    )
    plan = Plan({name: list(PAPERS[name].tables)}, settings, Store(folder / "results"))
    return ((experiment, run) for _, experiment, run in plan.missing())


def refusal(run: Run) -> str:
    """Return the text of a refused configuration, if it is one."""
    try:
        RunConfig.from_mapping(options_of(run.flags))
    except ConfigError as error:
        return str(error)
    return ""


def parties_of(experiment: Experiment) -> list[str]:
    count = int(experiment.flags.get("parties", "4"))
    return ["active", *(f"party-{k}" for k in range(1, count))]


def record_of(experiment: Experiment) -> dict[str, Any]:
    """Return a run's record with everything that can be read."""
    shares = dict.fromkeys(parties_of(experiment), 1.0)
    course = {"epoch": 1, "step": 1, "bytes": 1, "validation": shares, "train": shares}
    return {
        "test_accuracy": shares,
        "metrics": {party: {"confusion": [[1]]} for party in shares},
        "course": [course],
        "retrained": dict.fromkeys(experiment.retrained, 0.5),
        "heads": {each: {"norm": 1.0, "noised": 0.5} for each in shares if experiment.noise},
        "pretrained": {each: 0.5 for each in shares if experiment.pretrained},
        "rank_correlation": 0.9,
        **dict.fromkeys(("exchanges", "bytes_up", "bytes_down", "epsilon"), 1),
        "parties": len(shares),
    }


def cells_of(name: str) -> Iterator[Cell]:
    return (cell for table in PAPERS[name].tables for cell in table.cells)


def curves_of(name: str) -> Iterator[Curve]:
    return (curve for table in PAPERS[name].tables for curve in table.curves)


def repeated(names: Iterable[object]) -> list[object]:
    return [name for name, count in Counter(names).items() if count > 1]


@each_paper
@pytest.mark.parametrize("small", [False, True], ids=["full", "small"])
def test_flags_are_accepted(name: str, small: bool, tmp_path: Path) -> None:
    refused: dict[str, str] = {}
    accepted = set()
    for experiment, run in runs_of(name, tmp_path, small):
        if text := refusal(run):
            refused[experiment] = text
        else:
            accepted.add(experiment)
    searched = {key for key, of in PAPERS[name].experiments.items() if of.search}
    wrong = {key: text for key, text in refused.items() if key not in searched & accepted}
    assert not wrong  # some points of a search may be refused, not all


@each_paper
def test_experiments_are_all_used_and_have_files_of_their_own(name: str) -> None:
    paper = PAPERS[name]
    assert set(paper.needed(paper.tables)) == set(paper.experiments)
    assert not repeated(map(slug, paper.experiments))


@each_paper
def test_every_cell_can_be_read(name: str) -> None:
    experiments = PAPERS[name].experiments
    for cell in cells_of(name):
        if cell.experiment:
            read(cell.reading, record_of(experiments[cell.experiment]))
        else:
            assert cell.why, cell


def test_every_reading_is_of_some_table() -> None:
    tables = [table for paper in PAPERS.values() for table in paper.tables]
    used = {cell.reading.split(":")[0] for table in tables for cell in (*table.cells, *table.ends)}
    assert used == set(READINGS)


@each_paper
def test_every_curve_can_be_drawn(name: str) -> None:
    for curve in curves_of(name):
        kind, party = curve.reading.split(":")
        assert curve.across in ACROSS, curve
        assert kind in ("validation", "train"), curve
        assert party in parties_of(PAPERS[name].experiments[curve.experiment]), curve


@each_paper
def test_tables_have_names_and_cells_have_places_of_their_own(name: str) -> None:
    tables = PAPERS[name].tables
    assert not repeated(table.name for table in tables)
    for table in tables:
        assert table.cells or table.curves, table.name
        assert table.picture in PICTURES, table.name
        assert not repeated((cell.row, cell.column) for cell in table.cells), table.name
        assert not repeated(curve.label for curve in table.curves), table.name


@each_paper
def test_claims_are_plausible(name: str) -> None:
    for table in PAPERS[name].tables:
        most = 100 if table.unit == "%" else float("inf")
        for cell in table.cells:
            assert cell.claim is None or 0 <= cell.claim <= most, cell
            assert cell.spread is None or 0 < cell.spread < 50, cell


@each_paper
def test_a_repeated_claim_has_the_same_deviation(name: str) -> None:
    """Two tables may repeat a number with and without its deviation."""
    found: dict[object, set[float | None]] = {}
    for cell in cells_of(name):
        if cell.experiment and cell.claim is not None:
            place = cell.experiment, cell.reading, cell.claim
            found.setdefault(place, set()).add(cell.spread)
    assert [
        place for place, spreads in found.items() if None in spreads and spreads != {None}
    ] == []


@each_paper
def test_experiments_of_other_papers_have_the_same_flags(name: str) -> None:
    for key, experiment in PAPERS[name].experiments.items():
        if experiment.same_as:
            other, its = experiment.place(name, key)
            assert dict(PAPERS[other].experiments[its].flags) == dict(experiment.flags), key
