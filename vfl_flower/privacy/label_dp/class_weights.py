"""Balanced class weights, of true or noised labels, and rows' weights."""

import torch
from torch import Tensor

from vfl_flower.common.errors import DataError


def balanced_weights(labels: Tensor, classes: int) -> Tensor:
    """Compute class weights inverse to the counts of training labels.

    They are N / (C N_c): the mean over all labels of the weights of their classes is 1. Under label
    privacy N_c is `estimated_counts` of the noised rows, N their sum, and no weight is above the
    largest that true counts can make, N / C of the training rows.

    Parameters
    ----------
    labels : Tensor
        (N,) int64, or rows of a label mechanism, (N, C) float32, whose means are the one-hot rows.
    classes : int
        C.

    Returns
    -------
    Tensor
        (C,), float32.

    Raises
    ------
    DataError
        If a class has no true label.
    """
    if labels.dim() == 2:
        counts = estimated_counts(labels)
        most = max(len(labels) / classes, 1.0)
        return (counts.sum() / (classes * counts)).clamp(max=most).float()
    counts = torch.bincount(labels, minlength=classes)
    if not counts.all():
        raise DataError(
            f"active: no training row is of class {int(counts.argmin())}, so that classes cannot "
            "be balanced; take other training rows"
        )
    return (len(labels) / (classes * counts.double())).float()


def estimated_counts(rows: Tensor) -> Tensor:
    """Estimate how many labels each class has, from noised rows alone.

    The sum of unbiased rows has the counts as its mean. An estimate below its own standard error is
    noise and nothing else, and may be negative: it counts as that error, and as 1 at least.

    (N, C) -> (C,) float64.
    """
    rows = rows.double()
    error = rows.std(0, correction=0) * len(rows) ** 0.5
    return torch.maximum(rows.sum(0), error.clamp(min=1))


def weights_by_class(target: Tensor, weights: Tensor) -> Tensor:
    """Return the weight of each row by those of the classes.

    Of a label it is its class's weight w_y. Of a noised label o it is the expected weight by Bayes'
    rule, of classes as frequent as the weights say, pi_c = 1 / (C w_c):

        E[w_y | o] = sum_c w_c P(c | o) = sum_c P(o | c) / (C sum_c pi_c P(o | c))
                   = 1 / sum_c (t_c / w_c)

    with t the posterior under equal beliefs, which is proportional to P(o | c): it is the harmonic
    mean of the weights under t. The weighted loss of any R is then expected to be

        E[w_y L(R, y) | o] = sum_c w_c P(c | o) L(R, c) = sum_c t_c L(R, c) / sum_c (t_c / w_c)

    which is that weight times the loss against t: networks learn the same targets as without
    weights, and each row counts as often as if classes were balanced. The same holds where the
    prior of t is a prediction of balanced classes (ALIBI).

    Parameters
    ----------
    target : Tensor
        Labels, (B,), or a distribution for each row, (B, C).
    weights : Tensor
        (C,), as `balanced_weights` returns them.

    Returns
    -------
    Tensor
        (B,).
    """
    return weights[target] if target.dim() == 1 else 1 / (target @ (1 / weights))
