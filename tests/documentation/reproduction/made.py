"""A made paper with three experiments, and results of them."""

from typing import Any

from benchmarks.reproducing.paper import Cell, Curve, Experiment, Paper, Table
from benchmarks.reproducing.store import origin

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
