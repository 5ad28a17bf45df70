"""TensorBoard event files of a run."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from vfl_flower.common.errors import RunError
from vfl_flower.protocol.observer import Evaluation, Observer

_EVENTS = "tensorboard"
_LOSSES_AND_ACCURACIES = ("train_loss", "validation_loss", "validation_accuracy")
_TRAFFIC = ("exchanges", "bytes_up", "bytes_down")


class TensorBoard(Observer):
    """Writes each evaluation's numbers under ``tensorboard`` in a run folder.

    Parameters
    ----------
    run : Path
        The run's folder.
    """

    def __init__(self, run: Path) -> None:
        self._folder = run / _EVENTS
        self._writer: Any = None

    def on_start(self, step: int, steps: int, records: list[Evaluation]) -> None:
        """Write the evaluations of the checkpoint; earlier events become void."""
        # TensorBoard is slow to import
        from torch.utils.tensorboard import SummaryWriter

        self.on_end()
        with self._refused():
            self._folder.mkdir(mode=0o700, exist_ok=True)
            self._writer = SummaryWriter(str(self._folder), purge_step=0)
        for record in records:
            self.on_evaluation(record)

    def on_evaluation(self, evaluation: Evaluation) -> None:
        """Write the numbers of one evaluation."""
        with self._refused():
            for name in _LOSSES_AND_ACCURACIES:
                for party, value in getattr(evaluation, name).items():
                    self._writer.add_scalar(f"{name}/{party}", value, evaluation.step)
            for name in _TRAFFIC:
                value = getattr(evaluation, name)
                self._writer.add_scalar(f"traffic/{name}", value, evaluation.step)
            self._writer.flush()

    def on_end(self) -> None:
        """Close the file."""
        if self._writer is not None:
            self._writer.close()

    @contextmanager
    def _refused(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise RunError(f"{self._folder} cannot be written: {error}") from error
