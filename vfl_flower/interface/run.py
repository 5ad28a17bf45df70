"""A run: metrics, history, predictions, reports."""

import warnings
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from vfl_flower.common.errors import RunError
from vfl_flower.common.layout import tables_in
from vfl_flower.config.catalog import REGRESSION
from vfl_flower.config.run_config import RunConfig
from vfl_flower.interface.folders import Place, in_full
from vfl_flower.interface.progress import watch_of
from vfl_flower.interface.source import OwnTables, Tables
from vfl_flower.runs.metrics_file import read_metrics
from vfl_flower.runs.run_folder import RunFolder
from vfl_flower.workflows.predict_locally import predict_rows, predict_tables
from vfl_flower.workflows.prediction import missing_of

if TYPE_CHECKING:
    import pandas as pd


class Run:
    """A run with all parties on this machine.

    `train` and `load` make runs.
    """

    def __init__(self, place: Place, trust_code: bool = False) -> None:
        self._place, self._trust_code = place, trust_code or place.private
        self._folder = RunFolder.reopen(place.path, {}, self._trust_code)

    @property
    def path(self) -> Path:
        """Folder of the run."""
        return self._place.path

    @property
    def config(self) -> RunConfig:
        """Configuration of the run."""
        return self._folder.cfg

    @property
    def complete(self) -> bool:
        """Whether training has ended; a run that was interrupted can be resumed."""
        return self._folder.result() is not None

    @property
    def result(self) -> dict[str, Any]:
        """Content of ``result.json``: metrics, traffic, protections and environment.

        Raises
        ------
        RunError
            If the run is not complete, or its result damaged.
        """
        result = self._folder.result()
        if result is None:
            raise RunError(f"the run in {self.path} is not complete; resume it first")
        return result

    @property
    def metrics(self) -> dict[str, dict[str, Any]]:
        """Test metrics by party: ``accuracy``, ``auc``, ``f1`` and more; of numbers ``r2``.

        Raises
        ------
        RunError
            See `result`.
        """
        result = self.result
        if result["task"] == REGRESSION:
            return {party: dict(each) for party, each in result["metrics"].items()}
        accuracy = result["test_accuracy"]
        return {p: {"accuracy": accuracy[p], **each} for p, each in result["metrics"].items()}

    @property
    def history(self) -> "pd.DataFrame":
        """Evaluations of the validation rows, one a row.

        Columns with a value for each party are named ``validation_accuracy active`` and so on;
        bytes and exchanges are those of training so far.
        """
        # pandas is slow to import
        import pandas as pd

        rows = [_flat(each.as_dict()) for each in read_metrics(self.path)]
        return pd.DataFrame(rows)

    def predict(
        self,
        tables: "Tables | None" = None,
        *,
        rows: str = "test",
        progress: bool | None = None,
    ) -> "pd.DataFrame":
        """Predict new rows, or rows of the run's own data.

        Parameters
        ----------
        tables : sequence of Table, optional
            Of all parties, the active party's first, aligned by their ids. A label is not needed.
        rows : {"test", "validation", "all"}
            Part of the run's own rows, where no tables are given.
        progress : bool, optional
            See `train`.

        Returns
        -------
        DataFrame
            ``id``, ``prediction`` and, of classes, ``probability of <class>`` for each. Rows that
            some party lacks have no prediction: a warning counts them, and ``attrs["missing"]`` has
            their ids and the parties that lack them.

        Raises
        ------
        VflError
            If a table cannot be used, or the run is not complete.
        """
        # pandas is slow to import
        import pandas as pd

        self.result  # noqa: B018  only a complete run predicts
        with in_full(), TemporaryDirectory(prefix="vfl-flower-") as temporary:
            file, trusted = Path(temporary) / "predictions.parquet", self._trust_code
            if tables is None:
                predict_rows(self.path, rows, file, trusted)
                return pd.read_parquet(file)
            source, watch = OwnTables(tables), watch_of(progress)
            source.write(Path(temporary))
            named = tables_in(Path(temporary), source.names)
            made = predict_tables(self.path, named, file, watch, trusted)
            frame = pd.read_parquet(file)
            if made.missing:
                lacking = pd.read_parquet(missing_of(file))
                frame.attrs["missing"] = lacking.to_dict("list")
        if made.missing:
            warnings.warn(
                f"{made.missing} rows are not at all parties, and have no prediction; "
                'attrs["missing"] names them',
                stacklevel=2,
            )
        return frame

    def __repr__(self) -> str:
        cfg = self.config
        state = "" if self.complete else ", not complete"
        return f"Run({cfg.method} on {cfg.dataset}, seed {cfg.seed}{state}, {str(self.path)!r})"


def _flat(evaluation: dict[str, Any]) -> dict[str, Any]:
    """Give each party's value a column of its own."""
    flat: dict[str, Any] = {}
    for name, value in evaluation.items():
        if isinstance(value, dict):
            flat |= {f"{name} {party}": each for party, each in value.items()}
        else:
            flat[name] = value
    return flat
