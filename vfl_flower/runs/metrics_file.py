"""Metrics file of a run: one JSON line for each evaluation."""

import json
from pathlib import Path
from typing import Any

from vfl_flower.common.errors import RunError
from vfl_flower.common.files import refused, write_atomically
from vfl_flower.common.json_schema import Named, fits
from vfl_flower.config.evaluation.metrics import key_of, metric_names
from vfl_flower.protocol.observer import VALIDATION, Evaluation, Observer

METRICS = "metrics.jsonl"
METRICS_SHAPE = {
    "step": int,
    "epoch": int,
    "exchanges": int,
    "bytes_up": int,
    "bytes_down": int,
    "train_loss": Named(float),
    "validation_loss": Named(float),
    "seconds": float,
}
"""Fields of one line and their types; scores have names of their own."""


class MetricsFile(Observer):
    """Appends each evaluation to ``metrics.jsonl``.

    Parameters
    ----------
    run : Path
        The run's folder.
    """

    def __init__(self, run: Path) -> None:
        self.path = run / METRICS

    def on_start(self, step: int, steps: int, records: list[Evaluation]) -> None:
        """Write the evaluations of the checkpoint; later ones come again."""
        write_atomically(self.path, "".join(map(_line, records)).encode())

    def on_evaluation(self, evaluation: Evaluation) -> None:
        """Append one line."""
        with refused(self.path), self.path.open("a") as file:
            file.write(_line(evaluation))


def read_metrics(path: Path) -> list[Evaluation]:
    """Read the evaluations of a run; without a file, none.

    Raises
    ------
    RunError
        If it is damaged. A last line without an end is one that is being written.
    """
    file = path / METRICS
    with refused(file):
        text = file.read_text() if file.is_file() else ""
    try:
        lines = [json.loads(line) for line in text.split("\n")[:-1]]
        if fits(lines, [METRICS_SHAPE]) and all(map(_scored, lines)):
            return [Evaluation.from_dict(line) for line in lines]
    except (ValueError, TypeError, RecursionError):
        pass  # refused below
    raise RunError(f"{file} is damaged; a resume of the run writes it anew")


_BY_PARTY = ("thresholds", "train_accuracy", "leave_one_out")
"""Keys of a line that not every one has."""


def _scored(line: dict[str, Any]) -> bool:
    """Tell whether a line has scores, and one that decides."""
    scores = {key: each for key, each in line.items() if key.startswith(VALIDATION)}
    decides = line.get("metric", "accuracy")  # earlier versions had one, and did not say so
    known = decides in map(key_of, metric_names()) and f"{VALIDATION}{decides}" in scores
    others = [line.get(name, {}) for name in _BY_PARTY]
    known = known and fits(line.get("without", []), [str])
    return known and fits(others, [Named(float)]) and fits(scores, Named(Named(float)))


def _line(evaluation: Evaluation) -> str:
    return json.dumps(evaluation.as_dict(), allow_nan=False) + "\n"
