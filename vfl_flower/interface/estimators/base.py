"""Training and prediction of both estimators."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data
from torch import Tensor

from vfl_flower.common.errors import Interrupted
from vfl_flower.common.layout import tables_in
from vfl_flower.config.registry import METHODS, spec_of
from vfl_flower.data.preprocessing.target import Target
from vfl_flower.interface.data.source import OwnTables, begun
from vfl_flower.interface.estimators.features import Cells, Columns, columns_of, holdings, tables_of
from vfl_flower.interface.estimators.folder import packed, unpacked
from vfl_flower.interface.estimators.weights import largest_weight, weights_of
from vfl_flower.interface.folders import Place, in_full
from vfl_flower.interface.models import named
from vfl_flower.interface.run import Run
from vfl_flower.interface.train import removed_after_failure
from vfl_flower.runs.metrics_file import read_metrics
from vfl_flower.workflows.local.in_order import predict_in_order
from vfl_flower.workflows.local.train import train_in
from vfl_flower.workflows.local.watch import Watch

_CHECKS: dict[str, Any] = {"dtype": None, "ensure_all_finite": "allow-nan"}
_HELD_OUT = 0.1
"""Share of the rows that choose the weights, where some do."""
_SET = ("test_share", "baselines", "active_columns", "largest_weight")
"""Options that an estimator sets itself."""


class VFLEstimator(BaseEstimator):  # type: ignore[misc]
    """Base of the estimators: parameters, training, pickling.

    See `vfl_flower.VFLClassifier` for the parameters.
    """

    def __init__(
        self,
        columns: Columns = 2,
        *,
        method: str = "splitnn",
        models: Any = None,  # noqa: ANN401
        epochs: int = 20,
        batch_size: int = 128,
        learning_rate: float | None = None,
        optimizer: str | None = None,
        keep: str = "last",
        random_state: Any = None,  # noqa: ANN401
        options: dict[str, Any] | None = None,
    ) -> None:
        self.columns = columns
        self.method = method
        self.models = models
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.optimizer = optimizer
        self.keep = keep
        self.random_state = random_state
        self.options = options

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def __getstate__(self) -> dict[str, Any]:
        """Return the state, with the content of the run's files."""
        state: dict[str, Any] = dict(super().__getstate__())
        return state | ({"run_": packed(state["run_"])} if "run_" in state else {})

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a state, with the run in a private folder."""
        super().__setstate__(state | ({"run_": unpacked(state["run_"])} if "run_" in state else {}))

    def _checked(
        self,
        x: Any,  # noqa: ANN401
        y: Any,  # noqa: ANN401
        *,
        y_numeric: bool,
    ) -> tuple[Cells, NDArray[Any]]:
        """Check and convert features, (N, M), and labels, (N,)."""
        least = self.columns if isinstance(self.columns, int | np.integer) else 1
        array, y = validate_data(
            self,
            x,
            y,
            y_numeric=y_numeric,
            ensure_min_samples=2,
            ensure_min_features=least,
            **_CHECKS,
        )
        return columns_of(x, array), y

    def _train(self, cells: Cells, labels: NDArray[Any], task: str, weights: Any) -> None:  # noqa: ANN401
        """Train on checked features, M columns of N, labels, (N,), and weights."""
        names = getattr(self, "feature_names_in_", None)
        places = holdings(self.columns, names, self.n_features_in_)
        weights = weights_of(weights, cells)
        tables = tables_of(cells, places, labels, task, weights)
        options = self._options(len(labels), own_columns=bool(places[0]))
        options |= largest_weight(weights, options["validation"])
        place = Place()
        with in_full(), removed_after_failure(place), _stopped():
            source = OwnTables(tables, in_order=True)
            folder = begun(source, place, task="train", options=named(options, place))
            train_in(folder, Watch())
        self.run_, self._places = Run(place), places
        self.n_iter_ = max((each.epoch for each in read_metrics(place.path)), default=0)

    def _options(self, rows: int, own_columns: bool) -> dict[str, Any]:
        """Return the options of a run."""
        named = {
            "method": self.method,
            "models": self.models,
            "epochs": self.epochs,
            "learning_rates": self.learning_rate,
            "optimizers": self.optimizer,
            "keep": self.keep,
        }
        given = dict(self.options or {})
        if twice := sorted({*named, "seed", "batch_size", *_SET} & {*given}):
            raise ValueError(f"options has {', '.join(twice)}, which has a parameter of its own")
        if given.get("target_epsilon") or given.get("dp_sigma"):
            raise ValueError(
                "client-level privacy counts a run's uploads, and copies of an estimator would "
                "count apart; use vfl_flower.train"
            )
        seed = self.random_state
        if not isinstance(seed, int | np.integer):
            seed = check_random_state(seed).randint(2**31 - 1)
        validation = given.setdefault("validation", _HELD_OUT if self.keep == "best" else 0)
        trained = rows - round(validation * rows)
        return {
            **named,
            **given,
            "seed": seed,
            **_batches(self.method, min(self.batch_size, trained)),
            "test_share": 0,
            "baselines": "off",
            "active_columns": "own" if own_columns else "none",
        }

    def _said(self, x: Any) -> tuple[Target, Tensor]:  # noqa: ANN401
        """Predict features, (N, M); see `predict_in_order`."""
        check_is_fitted(self)
        array = validate_data(self, x, reset=False, **_CHECKS)
        tables = OwnTables(tables_of(columns_of(x, array), self._places))
        with in_full(), TemporaryDirectory(prefix="vfl-flower-") as temporary:
            tables.write(Path(temporary))
            where = tables_in(Path(temporary), tables.names)
            return predict_in_order(self.run_.path, where, trust_code=True)


def _batches(method: str, size: int) -> dict[str, int]:
    """Return the batch size, for a method that has batches."""
    whole = method in METHODS and spec_of(method).full_batch
    return {} if whole else {"batch_size": size}


@contextmanager
def _stopped() -> Iterator[None]:
    """Let Ctrl-C end a search, too, which goes on after other errors."""
    try:
        yield
    except Interrupted as stopped:
        raise KeyboardInterrupt from stopped
