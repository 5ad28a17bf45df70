"""Names, shapes and margins of metrics, for readers of results; no torch."""

from vfl_flower.common.json_schema import Named
from vfl_flower.config.evaluation.metrics import METRICS, key_of, metrics_for, primary

_OF_CLASSES = {
    "auc": (None, float),
    "f1": float,
    "class_accuracy_std": (None, float),
    "confusion": [[int]],
}
OF_NUMBERS = {"mse": (None, float), "mae": (None, float), "r2": (None, float)}
OF_LABEL_SETS = {"f1": float, "micro_f1": float, "subset_accuracy": float, "hamming_loss": float}
BY_PARTY = Named((_OF_CLASSES, OF_NUMBERS, OF_LABEL_SETS))
"""The shape of all parties' metrics; those of earlier versions have these only."""

MARGIN = 0.01
"""An accuracy this close to the share of the most frequent class may come from guessing it."""


def score_name(task: str) -> str:
    """Display name of the primary metric.

    Of a task that is not known yet, the name that all tasks share.
    """
    return METRICS[primary(task)].title if task else "score"


def shown(task: str) -> dict[str, str]:
    """Titles and keys of the secondary metrics that tables show."""
    return {
        spec.title: key_of(name)
        for name, spec in metrics_for(task).items()
        if task in spec.column and name != primary(task)
    }
