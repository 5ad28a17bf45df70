"""Runs of Weights & Biases, online or offline by its own settings."""

import os
from collections.abc import Mapping
from typing import Any

from vfl_flower.common.checksums.records import read_checked, write_checked
from vfl_flower.protocol.observer import Evaluation
from vfl_flower.runs.callback import Callback, Start
from vfl_flower.runs.trackers.numbers import final_numbers, numbers_of

_RECORD = "wandb.json"
_PROJECT = "vfl-flower"


class WeightsAndBiases(Callback):
    """Sends options and metrics to Weights & Biases.

    A resumed run goes on in the same one. ``WANDB_MODE``, ``WANDB_PROJECT`` and ``WANDB_API_KEY``
    hold as for other programs. Code, the command, the console and facts of the machine are not
    sent.
    """

    def __init__(self) -> None:
        self._run: Any = None

    def on_start(self, run: Start) -> None:
        """Open the run, and send evaluations that it does not have."""
        # Weights & Biases is slow to import
        import wandb

        record = run.folder / _RECORD if run.folder else None
        earlier = read_checked(record, {"id": str})["id"] if record and record.is_file() else None
        self._run = wandb.init(
            project=os.environ.get("WANDB_PROJECT", _PROJECT),
            name=run.folder.name if run.folder else None,
            dir=run.folder,
            id=earlier,
            resume="allow",
            config=run.config,
            reinit="create_new",
            settings=wandb.Settings(
                console="off",
                silent=True,
                save_code=False,
                disable_code=True,
                disable_git=True,
                disable_job_creation=True,
                x_disable_meta=True,
                x_disable_machine_info=True,
                x_disable_stats=True,
                x_save_requirements=False,
            ),
        )
        if record:
            write_checked(record, {"id": self._run.id})
        for each in run.evaluations:
            self.on_evaluation(each)

    def on_evaluation(self, evaluation: Evaluation) -> None:
        """Send the numbers of one evaluation, once."""
        if evaluation.step > self._run.step:
            self._run.log(numbers_of(evaluation), step=evaluation.step)

    def on_end(self, result: Mapping[str, Any] | None) -> None:
        """Send the test metrics, and end the run."""
        if self._run is None:
            return
        if result is not None:
            self._run.summary.update(final_numbers(result))
        self._run.finish(exit_code=0 if result is not None else 1)
