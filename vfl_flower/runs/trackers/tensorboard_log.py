"""TensorBoard event files of a run."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from vfl_flower.common.errors import RunError
from vfl_flower.protocol.observer import Evaluation
from vfl_flower.runs.callback import Callback, Start
from vfl_flower.runs.trackers.numbers import numbers_of

_EVENTS = "tensorboard"


class TensorBoard(Callback):
    """Writes each evaluation's numbers under ``tensorboard`` in the run folder."""

    def __init__(self) -> None:
        self._folder = Path(_EVENTS)
        self._writer: Any = None

    def on_start(self, run: Start) -> None:
        """Write the evaluations of the checkpoint; earlier events become void."""
        # TensorBoard is slow to import
        from torch.utils.tensorboard import SummaryWriter

        self._folder = (run.folder or Path()) / _EVENTS
        self.on_end(None)
        with self._refused():
            self._folder.mkdir(mode=0o700, exist_ok=True)
            self._writer = SummaryWriter(str(self._folder), purge_step=0)
        for record in run.evaluations:
            self.on_evaluation(record)

    def on_evaluation(self, evaluation: Evaluation) -> None:
        """Write the numbers of one evaluation."""
        with self._refused():
            for name, value in numbers_of(evaluation).items():
                self._writer.add_scalar(name, value, evaluation.step)
            self._writer.flush()

    def on_end(self, result: Mapping[str, Any] | None) -> None:
        """Close the file."""
        if self._writer is not None:
            self._writer.close()

    @contextmanager
    def _refused(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise RunError(f"{self._folder} cannot be written: {error}") from error
