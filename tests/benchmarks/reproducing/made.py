"""A made paper, and helpers of its tests."""

import json
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks import reproduce
from benchmarks.reproducing.paper import Cell, Curve, Experiment, Paper, Search, Table
from vfl_flower.common.errors import VflError

BENCHMARK = replace(
    reproduce.BENCHMARK,
    known=["made", "made:table1", "made:table2", "made:figure1", "made:figure2"],
)
ALONE = {"method": "local", "parties": "3", "dataset": "digits", "models": "mlp", "epochs": "1"}
PAPER = Paper(
    title="Made",
    reference="Nobody, never",
    repeats=5,
    experiments={
        "alone": Experiment(ALONE, minutes=1, most_seeds=2),
        "chosen": Experiment(
            ALONE, minutes=2, search=Search({"learning-rates": ("1e-30", "0", "0.01")})
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
        try:
            future.set_result(work(*args))
        except VflError as error:
            future.set_exception(error)
        return future


def seed_of(accuracy: float, **changed: Any) -> dict[str, Any]:
    course = [
        {"epoch": 1, "step": 10, "bytes": 1 << 20, "validation": {"active": 0.5}, "train": None},
        {"epoch": 2, "step": 20, "bytes": 3 << 20, "validation": {"active": 0.9}, "train": None},
    ]
    made = {"seed": 0, "failed": "", "test_accuracy": {"active": accuracy / 100}, "course": course}
    return made | {"metrics": {"active": {}}} | changed


def words(tmp_path: Path, *more: str) -> list[str]:
    return ["--out", str(tmp_path / "out"), "--results", str(tmp_path / "results"), *more]


def kept(tmp_path: Path, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((tmp_path / "results" / "made" / name).read_text())
    return found
