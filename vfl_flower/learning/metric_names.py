"""Names, shapes and margins of metrics, for readers of results; no torch."""

from vfl_flower.common.json_schema import Named
from vfl_flower.config.catalog import REGRESSION

_OF_CLASSES = {
    "auc": (None, float),
    "f1": float,
    "class_accuracy_std": (None, float),
    "confusion": [[int]],
}
OF_NUMBERS = {"mse": float, "mae": float, "r2": float}
BY_PARTY = Named((_OF_CLASSES, OF_NUMBERS))
"""The shape of all parties' metrics."""

MARGIN = 0.01
"""An accuracy this close to the share of the most frequent class may come from guessing it."""


def score_name(task: str) -> str:
    """Display name of the primary metric.

    Of a task that is not known yet, the name that all tasks share.
    """
    if not task:
        return "score"
    return "R²" if task == REGRESSION else "accuracy"


def shown(task: str) -> dict[str, str]:
    """Titles and keys of the secondary metrics."""
    return {"MSE": "mse", "MAE": "mae"} if task == REGRESSION else {"AUC": "auc", "F1": "f1"}
