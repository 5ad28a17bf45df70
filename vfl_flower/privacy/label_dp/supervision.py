"""Loss against training labels, whichever party computes it."""

from torch import Tensor

from vfl_flower.learning.losses import Labels, Loss, Weighted
from vfl_flower.privacy.label_dp.class_weights import weights_by_class
from vfl_flower.privacy.label_dp.mechanisms import LabelNoise


class Supervision:
    """Loss against training labels: weighted, and adapted to noised ones.

    Parameters
    ----------
    loss : callable
        As `loss_of` returns it.
    noise : LabelNoise or None
        The run's label mechanism.
    """

    def __init__(self, loss: Loss, noise: LabelNoise | None) -> None:
        self._loss, self.noise = loss, noise

    def weights_of_classes(self) -> Tensor | None:
        """Return class weights, (C,); None where classes are not weighted."""
        raise NotImplementedError

    def taught(self, logits: Tensor, y: Labels) -> Labels:
        """Return the targets of a batch, with weights where rows have some.

        Parameters
        ----------
        logits : Tensor
            (B, C).
        y : Tensor or Weighted
            Labels (B,), or noised rows (B, C), whose targets are their posterior.
        """
        given = y if isinstance(y, Tensor) else y.y
        target = given
        if self.noise is not None and given.dim() == 2:
            target = self.noise.posterior(given, logits)
        weights, weight = self.weights_of_classes(), None if isinstance(y, Tensor) else y.weight
        if weights is not None:
            by_class = weights_by_class(target, weights)
            weight = by_class if weight is None else weight * by_class
        return target if weight is None else Weighted(target, weight)

    def loss(self, logits: Tensor, y: Labels) -> Tensor:
        """Compute the loss against labels, or the posterior of noised ones."""
        return self._loss(logits, self.taught(logits, y))
