"""Metrics of several labels of a row, by scikit-learn."""

from vfl_flower.learning.metrics.predictions import Predictions


def subset_accuracy(said: Predictions) -> float:
    """Share of the rows of which all labels are predicted."""
    # scikit-learn is slow to import
    from sklearn.metrics import accuracy_score

    return float(accuracy_score(said.truth, said.decided, **said.counted))


def hamming_loss(said: Predictions) -> float:
    """Share of the labels that are not predicted."""
    # scikit-learn is slow to import
    from sklearn.metrics import hamming_loss as share_of_errors

    return float(share_of_errors(said.truth, said.decided, **said.counted))


def micro_f1(said: Predictions) -> float:
    """F1 over all labels of all rows together."""
    # scikit-learn is slow to import
    from sklearn.metrics import f1_score

    how = {"average": "micro", "zero_division": 0}
    return float(f1_score(said.truth, said.decided, **how, **said.counted))
