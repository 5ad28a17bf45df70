"""Metrics of predicted numbers, by scikit-learn, in the labels' own unit.

All are None where a prediction is not finite.
"""

import numpy as np

from vfl_flower.learning.metrics.predictions import Predictions


def r2(said: Predictions) -> float | None:
    """Share of the variance that is explained; None where labels are alike."""
    # scikit-learn is slow to import
    from sklearn.metrics import r2_score

    if not said.finite or not np.ptp(said.truth):
        return None
    return float(r2_score(said.truth, said.numbers, **said.counted))


def mse(said: Predictions) -> float | None:
    """Mean squared error, in the unit's square."""
    # scikit-learn is slow to import
    from sklearn.metrics import mean_squared_error

    return (
        float(mean_squared_error(said.truth, said.numbers, **said.counted)) if said.finite else None
    )


def rmse(said: Predictions) -> float | None:
    """Root of the mean squared error."""
    # scikit-learn is slow to import
    from sklearn.metrics import root_mean_squared_error

    return (
        float(root_mean_squared_error(said.truth, said.numbers, **said.counted))
        if said.finite
        else None
    )


def mae(said: Predictions) -> float | None:
    """Mean absolute error."""
    # scikit-learn is slow to import
    from sklearn.metrics import mean_absolute_error

    return (
        float(mean_absolute_error(said.truth, said.numbers, **said.counted))
        if said.finite
        else None
    )
