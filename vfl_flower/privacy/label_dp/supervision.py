"""Loss against training labels, whichever party computes it."""

from torch import Tensor

from vfl_flower.learning.losses import Labels, Loss, Weighted
from vfl_flower.privacy.label_dp.class_weights import weights_by_class
from vfl_flower.privacy.label_dp.mechanisms import LabelNoise
from vfl_flower.privacy.label_encodings.encoding import LabelEncoding


class Supervision:
    """Loss against training labels: weighted, adapted to noised ones, encoded.

    Parameters
    ----------
    loss : callable
        As `loss_of` returns it.
    noise : LabelNoise or None
        The run's label mechanism.
    encoding : LabelEncoding, optional
        The run's encoding of labels.
    """

    def __init__(
        self, loss: Loss, noise: LabelNoise | None, encoding: LabelEncoding | None = None
    ) -> None:
        self._loss, self.noise, self.encoding = loss, noise, encoding

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
            Labels (B,), or noised rows (B, C), whose targets are their posterior. An encoding then
            makes codes of targets, and leaves weights as they are.
        """
        if self.encoding is None:
            return self._of_classes(logits, y)
        targets = self._of_classes(self.decoded(logits.detach()), y)
        if isinstance(targets, Tensor):
            return self.encoding.encoded(targets)
        return Weighted(self.encoding.encoded(targets.y), targets.weight)

    def decoded(self, outputs: Tensor) -> Tensor:
        """Return outputs, (B, C), of codes as logits of classes."""
        return outputs if self.encoding is None else self.encoding.decoded(outputs)

    def _of_classes(self, logits: Tensor, y: Labels) -> Labels:
        """Return the targets of classes, from decoded outputs."""
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
        """Compute the loss against `taught` targets."""
        return self._loss(logits, self.taught(logits, y))

    def loss_of_classes(self, outputs: Tensor, y: Labels) -> Tensor:
        """Compute the loss of decoded outputs against labels themselves."""
        targets = self._of_classes(outputs, y)
        plain = outputs if self.encoding is None else self.encoding.plain(outputs)
        return self._loss(plain, targets)
