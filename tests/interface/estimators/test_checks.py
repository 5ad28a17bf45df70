"""Estimator checks of scikit-learn."""

from collections.abc import Callable
from typing import Any

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import vfl_flower as vfl

QUICK: dict[str, Any] = {"epochs": 5, "batch_size": 32, "learning_rate": 0.03, "random_state": 0}
ESTIMATORS = [vfl.VFLClassifier(**QUICK), vfl.VFLRegressor(**QUICK)]

UNMET = {"check_sample_weight_equivalence_on_dense_data": "a row of weight 2 is no two in a batch"}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # scikit-learn's own, of data that it makes for its checks
@parametrize_with_checks(ESTIMATORS, expected_failed_checks=lambda _: UNMET)  # type: ignore[untyped-decorator]
def test_scikit_learns_checks_pass(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)
