"""Regressions from views of rows to their columns, and R²."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vfl_flower.analysis.audit.transcripts.tables import Table

_PENALTIES = np.logspace(-2, 4, 7)
_LEAST = 1e-12  # of a variance


def r_squared(true: Table, made: Table) -> float:
    """Return R² over all columns, against their means.

    It is 0 if the means do better.

    ``1 - sum (true - made)^2 / sum (true - mean)^2``, both (n, width).
    """
    left = ((true - made) ** 2).sum()
    whole = ((true - true.mean(0)) ** 2).sum()
    return float(np.clip(1 - left / max(whole, _LEAST), 0, 1))


@dataclass(frozen=True)
class Decoder:
    """Regression of columns, fitted to the auxiliary rows.

    A linear ridge and one with a Gaussian kernel; cross-validation on the auxiliary rows chooses.

    Attributes
    ----------
    auxiliary : ndarray of bool
        (n,), the rows that it learns from; it is judged on the others.
    """

    auxiliary: NDArray[np.bool_]

    def success(self, view: Table, columns: Table) -> float:
        """Return R² on the other rows: views (n, v), columns (n, width)."""
        if not view.shape[1]:
            return 0.0
        made = self._made(view, columns)
        return r_squared(columns[~self.auxiliary], made)

    def _made(self, view: Table, columns: Table) -> Table:
        # scikit-learn is slow to import
        from sklearn.kernel_ridge import KernelRidge
        from sklearn.linear_model import RidgeCV
        from sklearn.model_selection import cross_val_score
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        known, told = view[self.auxiliary], columns[self.auxiliary]
        mean = told.mean(0)
        gamma = 0.5 / view.shape[1]
        models = [
            make_pipeline(StandardScaler(), RidgeCV(_PENALTIES)),
            make_pipeline(StandardScaler(), KernelRidge(alpha=0.1, kernel="rbf", gamma=gamma)),
        ]
        score = "neg_mean_squared_error"
        scores = [cross_val_score(each, known, told - mean, cv=3, scoring=score) for each in models]
        best = models[int(np.argmax([each.mean() for each in scores]))]
        made: Table = best.fit(known, told - mean).predict(view[~self.auxiliary]) + mean
        return made.reshape(-1, columns.shape[1])
