"""Regressor."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin

from vfl_flower.config.catalog import REGRESSION
from vfl_flower.interface.estimators.base import VFLEstimator
from vfl_flower.workflows.prediction import values_of


class VFLRegressor(RegressorMixin, VFLEstimator):  # type: ignore[misc]
    """Regressor whose columns lie at several parties, for research on one table.

    Parameters and attributes are those of `VFLClassifier`, without `classes_`; `keep` goes by R².
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "VFLRegressor":  # noqa: ANN401
        """Train on one table.

        Parameters
        ----------
        X : DataFrame or array-like
            (N, M): numbers, and text or categories; NaN is a gap.
        y : array-like
            (N,): numbers.
        sample_weight : array-like, optional
            (N,): weights of the rows in the loss, none negative. Their sum does not matter.

        Returns
        -------
        VFLRegressor
            This one.

        Raises
        ------
        ValueError
            If X, y, sample_weight or `columns` cannot be used.
        VflError
            If an option, or what is in a column, cannot be used, or all numbers are the same.
        """
        cells, labels = self._checked(X, y, y_numeric=True)
        self._train(cells, labels.astype(np.float64), REGRESSION, sample_weight)
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:  # noqa: ANN401
        """Predict numbers, (N,), of rows, (N, M)."""
        return values_of(*self._said(X))
