"""TensorBoard's event files, for those who watch runs there."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

from vfl_flower.errors import ConfigError
from vfl_flower.observer import Evaluation, Observer

EVENTS = "tensorboard"
LOSSES_AND_ACCURACIES = ("train_loss", "validation_loss", "validation_accuracy")
TRAFFIC = ("exchanges", "bytes_up", "bytes_down")


class TensorBoard(Observer):
    """Writes each evaluation's numbers under ``tensorboard`` in a run folder.

    Parameters
    ----------
    run : Path
        The run's folder.

    Raises
    ------
    ConfigError
        If the package is missing.
    """

    def __init__(self, run: Path) -> None:
        if find_spec("tensorboard") is None:
            raise ConfigError("tensorboard is on, and its package missing: pip install tensorboard")
        self._folder = run / EVENTS
        self._writer: Any = None

    def on_start(self, step: int, steps: int, records: list[Evaluation]) -> None:
        """Begin a file; what an earlier sitting wrote after its last checkpoint is void."""
        from torch.utils.tensorboard import SummaryWriter  # slow to import

        self._folder.mkdir(mode=0o700, exist_ok=True)
        self._writer = SummaryWriter(str(self._folder), purge_step=step + 1)

    def on_evaluation(self, evaluation: Evaluation) -> None:
        """Write all of it."""
        for name in LOSSES_AND_ACCURACIES:
            for member, value in getattr(evaluation, name).items():
                self._writer.add_scalar(f"{name}/{member}", value, evaluation.step)
        for name in TRAFFIC:
            self._writer.add_scalar(f"traffic/{name}", getattr(evaluation, name), evaluation.step)
        self._writer.flush()

    def on_end(self) -> None:
        """Close the file."""
        if self._writer is not None:
            self._writer.close()
