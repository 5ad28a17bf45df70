"""Predictions of one model beside the true labels."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from vfl_flower.config.catalog import BINARY, MULTI_LABEL
from vfl_flower.data.preprocessing.target import Target
from vfl_flower.learning.losses import Labels


class ByClass(NamedTuple):
    """Scores of each class, or label, (C,); NaN where not defined."""

    precision: NDArray[np.float64]
    recall: NDArray[np.float64]
    f1: NDArray[np.float64]


@dataclass(frozen=True)
class Predictions:
    """Predictions of one model, with all that metrics are made of.

    Attributes
    ----------
    output : Tensor
        (N, C) logits, of classes or of several labels; or (N, 1) standardised numbers.
    y : Tensor
        Labels, (N,): int64, or float32 of a regression, standardised likewise; of several (N, C).
    target : Target
        What the labels are.
    weight : Tensor or None
        Weights of rows, (N,); None where they count alike.
    """

    output: Tensor
    y: Tensor
    target: Target
    weight: Tensor | None = None

    @classmethod
    def of(cls, output: Tensor, labels: Labels, target: Target) -> "Predictions":
        """Put predictions beside labels, with or without weights."""
        if isinstance(labels, Tensor):
            return cls(output, labels, target)
        return cls(output, labels.y, target, labels.weight)

    @cached_property
    def counted(self) -> dict[str, NDArray[np.float64]]:
        """Weights of rows as scikit-learn's metrics take them, if there are some."""
        if self.weight is None:
            return {}
        return {"sample_weight": self.weight.double().cpu().numpy()}

    @property
    def binary(self) -> bool:
        """Whether there are two classes."""
        return self.target.task == BINARY

    @property
    def several(self) -> bool:
        """Whether each row has several labels."""
        return self.target.task == MULTI_LABEL

    @property
    def classes(self) -> int:
        """Number of classes."""
        return self.output.shape[1]

    @cached_property
    def finite(self) -> bool:
        """Whether all outputs are finite."""
        return bool(self.output.isfinite().all())

    @cached_property
    def truth(self) -> NDArray[Any]:
        """Labels, (N,) or (N, C): int64, or float64 in their own unit."""
        if self.target.classes:
            return self.y.long().cpu().numpy()
        return self.target.restored(self.y.double().cpu().numpy())

    @cached_property
    def numbers(self) -> NDArray[np.float64]:
        """Predicted numbers, (N,), in the labels' unit."""
        return self.target.restored(self.output[:, 0].double().cpu().numpy())

    @cached_property
    def decided(self) -> NDArray[np.int64]:
        """Predicted classes, (N,), or labels, (N, C), by the target."""
        return self.target.decided(self.output).cpu().numpy()

    @cached_property
    def shares(self) -> NDArray[np.float64]:
        """Probabilities of the classes, (N, C): the softmax's, whatever the loss."""
        return self.output.double().cpu().softmax(1).numpy()

    @cached_property
    def logs(self) -> NDArray[np.float64]:
        """Logarithms of the probabilities, (N, C), which do not round to one."""
        return self.output.double().cpu().log_softmax(1).numpy()

    @cached_property
    def complete(self) -> bool:
        """Whether rows with weight have each class, or label value."""
        truth = self.truth if self.weight is None else self.truth[self.weight.cpu().numpy() > 0]
        if self.several:
            return bool(np.ptp(truth, axis=0).all())
        return bool(np.bincount(truth, minlength=self.classes).all())

    @cached_property
    def by_class(self) -> ByClass:
        """Precision, recall and F1 of each class, or label."""
        # scikit-learn is slow to import
        from sklearn.metrics import precision_recall_fscore_support

        scores = precision_recall_fscore_support(
            self.truth,
            self.decided,
            labels=range(self.classes),
            average=None,
            zero_division=np.nan,
            **self.counted,
        )
        return ByClass(*scores[:3])

    @cached_property
    def hits(self) -> NDArray[np.bool_]:
        """Whether rows are of the positive class, (N,)."""
        hits: NDArray[np.bool_] = self.truth == self.target.positive
        return hits

    @cached_property
    def likelihood(self) -> NDArray[np.float64]:
        """Probability of the positive class, (N,)."""
        return self.shares[:, self.target.positive]

    @cached_property
    def ranking(self) -> NDArray[np.float64]:
        """Score of the positive class, (N,), that rounds nothing to one."""
        logits = self.output.double().cpu().numpy()
        positive = self.target.positive
        difference: NDArray[np.float64] = logits[:, positive] - logits[:, 1 - positive]
        return difference
