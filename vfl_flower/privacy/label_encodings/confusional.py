"""Confusional autoencoder: labels as soft labels of high entropy.

CAE of Zou et al. 2022, "Defending Batch-Level Label Inference and Replacement Attacks in Vertical
Federated Learning", arXiv:2112.05409. An encoder E and a decoder D, two layers each, learn from
the C one-hot rows y alone, with codes q = E(y) on the simplex:

    min  10 CE(y, D(q)) + 10 CE(m, D(m q)) - LAMBDA H(q) + log(C q_y)^2

m are random mixtures of classes. Networks learn q in the place of y; D makes probabilities of
classes of what they predict.

Answers
    Labels read off one batch by the sign, or the largest or smallest number, of a residual: that
    is no longer at the row's class.
Deviates
    The paper maximises CE(y, q) where log(C q_y)^2 stands here. That drives a code's entry at its
    own class to 0, the smallest of all, and who looks for the smallest reads the label off again.
    Here the entry is near 1 / C, neither the largest nor the smallest. Mixtures are not in the
    paper: a network's best prediction of a row whose class is not certain is a mixture of codes,
    which D would else never have seen. H is in nats here, and inputs are the rows themselves.
Costs
    A training loss cannot fall below the entropy of codes. Codes are closer to each other than
    one-hot rows, the more so the larger LAMBDA: networks need more steps to tell them apart.

*Rows of one class still have one code, and gradients of one direction.* Whoever knows a few labels
learns what all codes mean; so do frequencies of classes, if they differ and are known. A bottom
model learns to tell classes apart as before. Two classes are refused: their codes lie on a line.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from vfl_flower.common.errors import ConfigError
from vfl_flower.config.catalog import MULTI_CLASS
from vfl_flower.learning.losses import Link
from vfl_flower.privacy.label_encodings.encoding import LabelEncoding

DECODING = 10.0
"""Weight of what the decoder gets wrong."""

_STEPS, _RATE, _MIXTURES, _SPREAD = 800, 1e-2, 64, 4.0
_MOST_HIDDEN = 128


class Confusional(LabelEncoding):
    """Codes of high entropy that a small network decodes.

    Parameters
    ----------
    classes, argument, link
        See `LabelEncoding`; the argument is LAMBDA.
    """

    tasks = (MULTI_CLASS,)

    def __init__(self, classes: int, argument: float, link: Link) -> None:
        super().__init__(classes, argument, link)
        hidden = self.hidden = min(6 * classes + 2, _MOST_HIDDEN)
        shapes = (hidden, classes), (hidden,), (classes, hidden), (classes,)
        for number, shape in enumerate(shapes):
            self.register_buffer(f"decoder_{number}", torch.zeros(shape))

    def learn(self) -> None:
        """See `LabelEncoding`; takes about a second."""
        encoder, decoder = self._layers(), self._layers()
        optimizer = torch.optim.Adam([*encoder, *decoder], _RATE)
        rows = torch.eye(self.classes)
        with torch.enable_grad():
            for _ in range(_STEPS):
                logs = _two_layers(rows, encoder).log_softmax(1)
                q = logs.exp()
                m = (_SPREAD * torch.randn(_MIXTURES, self.classes)).softmax(1)
                wrong = sum(
                    F.cross_entropy(_two_layers(self._scaled(each @ q), decoder), each)
                    for each in (rows, m)
                )
                entropy = -(q * logs).sum(1).mean()
                own = (logs.diagonal() + math.log(self.classes)).square().mean()
                optimizer.zero_grad()
                (DECODING * wrong - self.argument * entropy + own).backward()
                optimizer.step()
            self.codes = _two_layers(rows, encoder).softmax(1).detach()
        for number, layer in enumerate(decoder):
            setattr(self, f"decoder_{number}", layer.detach())
        self._check()

    def _check(self) -> None:
        """Refuse codes that are not decoded to their classes."""
        decided = self.probabilities(self.codes).argmax(1)
        if not torch.equal(decided, torch.arange(self.classes)):
            raise ConfigError(
                f"label-encoding found no {self.classes} codes that can be told apart; take a "
                "smaller LAMBDA, or another seed"
            )

    def probabilities(self, means: Tensor) -> Tensor:
        """See `LabelEncoding`; means of any sum are scaled to 1."""
        shares = means / means.sum(1, keepdim=True).clamp_min(1e-12)
        decoder = [getattr(self, f"decoder_{number}") for number in range(4)]
        return _two_layers(self._scaled(shares), decoder).softmax(1)

    def _scaled(self, q: Tensor) -> Tensor:
        """Scale shares to numbers about 0."""
        return self.classes * q - 1

    def _layers(self) -> list[Tensor]:
        """Draw the weights of a network from C to C numbers."""
        first = torch.nn.Linear(self.classes, self.hidden)
        second = torch.nn.Linear(self.hidden, self.classes)
        return [*first.parameters(), *second.parameters()]


def _two_layers(x: Tensor, weights: list[Tensor]) -> Tensor:
    """Run a network of two layers: (B, C) -> (B, C)."""
    first, bias, second, shift = weights
    return F.linear(F.linear(x, first, bias).relu(), second, shift)
