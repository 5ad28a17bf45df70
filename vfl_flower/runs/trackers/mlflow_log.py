"""Runs of MLflow, in the tracking store that its own settings name."""

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vfl_flower.common.checksums.records import read_checked, write_checked
from vfl_flower.protocol.observer import Evaluation
from vfl_flower.runs.callback import Callback, Start
from vfl_flower.runs.trackers.numbers import TRAFFIC, final_numbers, numbers_of

_RECORD = "mlflow.json"
_EXPERIMENT = "vfl-flower"


class MLflow(Callback):
    """Sends options and metrics to MLflow.

    A resumed run goes on in the same one. ``MLFLOW_TRACKING_URI`` and ``MLFLOW_EXPERIMENT_NAME``
    hold as for other programs.
    """

    def __init__(self) -> None:
        self._client: Any = None
        self._run, self._logged = "", -1

    def on_start(self, run: Start) -> None:
        """Open the run, and send evaluations that it does not have."""
        # MLflow is slow to import
        from mlflow import MlflowClient

        self._client = MlflowClient()
        if earlier := self._earlier(run.folder):
            self._run = earlier
            self._client.update_run(earlier, status="RUNNING")
            history = self._client.get_metric_history(earlier, f"traffic/{TRAFFIC[0]}")
            self._logged = max((each.step for each in history), default=-1)
        else:
            self._run = self._new(run)
        for record in run.evaluations:
            self.on_evaluation(record)

    def on_evaluation(self, evaluation: Evaluation) -> None:
        """Send the numbers of one evaluation, once."""
        if evaluation.step > self._logged:
            self._send(numbers_of(evaluation), evaluation.step)
            self._logged = evaluation.step

    def on_end(self, result: Mapping[str, Any] | None) -> None:
        """Send the test metrics, and say how the run ended."""
        if result is not None:
            self._send(final_numbers(result), result["steps"])
        if self._run:
            self._client.set_terminated(self._run, "KILLED" if result is None else "FINISHED")

    def _earlier(self, folder: Path | None) -> str:
        """Return the run of an earlier attempt, if the store has it."""
        # MLflow is slow to import
        from mlflow.exceptions import MlflowException

        if folder is None or not (folder / _RECORD).is_file():
            return ""
        found = str(read_checked(folder / _RECORD, {"run_id": str})["run_id"])
        try:
            self._client.get_run(found)
        except MlflowException:  # another store, or it was deleted
            return ""
        return found

    def _new(self, run: Start) -> str:
        """Open a new run with the options as its parameters."""
        # MLflow is slow to import
        from mlflow.entities import Param

        name = os.environ.get("MLFLOW_EXPERIMENT_NAME", _EXPERIMENT)
        experiment = self._client.get_experiment_by_name(name)
        number = experiment.experiment_id if experiment else self._client.create_experiment(name)
        made = self._client.create_run(number, run_name=run.folder.name if run.folder else None)
        opened = str(made.info.run_id)
        if run.folder:
            write_checked(run.folder / _RECORD, {"run_id": opened})
        parameters = [Param(key, str(value)) for key, value in run.config.items()]
        self._client.log_batch(opened, params=parameters)
        return opened

    def _send(self, numbers: Mapping[str, float], step: int) -> None:
        # MLflow is slow to import
        from mlflow.entities import Metric

        now = int(time.time() * 1000)
        metrics = [Metric(name, value, now, step) for name, value in numbers.items()]
        self._client.log_batch(self._run, metrics=metrics)
