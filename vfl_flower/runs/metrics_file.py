"""The file of a run's evaluations, a line each, as it is written and read."""

import json
from pathlib import Path

from vfl_flower.common.errors import RunError
from vfl_flower.common.files import refused, write_atomically
from vfl_flower.common.json_schema import Named, fits
from vfl_flower.protocol.observer import Evaluation, Observer
from vfl_flower.runs.run_folder import RunFolder

METRICS = "metrics.jsonl"
METRICS_SHAPE = {
    "step": int,
    "epoch": int,
    "exchanges": int,
    "bytes_up": int,
    "bytes_down": int,
    **{name: Named(float) for name in ("train_loss", "validation_loss", "validation_accuracy")},
    "seconds": float,
}
"""What a line of metrics has."""


class MetricsFile(Observer):
    """Appends each evaluation to ``metrics.jsonl``.

    Parameters
    ----------
    folder : RunFolder
        Whose file.
    """

    def __init__(self, folder: RunFolder) -> None:
        self.folder, self.path = folder, folder.path / METRICS

    def on_ready(self) -> None:
        """Begin the run."""
        self.folder.begin()

    def on_start(self, step: int, steps: int, records: list[Evaluation]) -> None:
        """Begin with the evaluations that the checkpoint holds; later ones come again."""
        write_atomically(self.path, "".join(map(_line, records)).encode())

    def on_evaluation(self, evaluation: Evaluation) -> None:
        """Append one line."""
        with refused(self.path), self.path.open("a") as file:
            file.write(_line(evaluation))


def read_metrics(path: Path) -> list[Evaluation]:
    """Read what `MetricsFile` wrote into a run's folder; nothing, if it is not there yet.

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
        if fits(lines, [METRICS_SHAPE]):
            return [Evaluation(**line) for line in lines]
    except (ValueError, TypeError, RecursionError):
        pass  # it is told below
    raise RunError(f"{file} is damaged; a resume of the run writes it anew")


def _line(evaluation: Evaluation) -> str:
    return json.dumps(evaluation.as_dict(), allow_nan=False) + "\n"
