"""Mechanisms of label differential privacy: each training label is noised once.

Adjacency: one label is replaced by another. Everything that leaves the active party is a function
of the noised labels.

Each label y of C classes is replaced by a row o of C numbers, once a run, from the operating
system's entropy. For any two labels, no o is more than exp(epsilon) times as likely under one as
under the other; whatever is computed from o, however often, keeps that.

    laplace              o = onehot(y) + discrete Laplace of scale sensitivity / epsilon
    alibi                the same noise; learns from the posterior of y with its own prediction as
                         prior (Malek et al. 2021, arXiv:2106.03408)
    randomized-response  y stays with probability e / (e + C - 1), e = exp(epsilon), and is else
                         any other class; o is the estimate of onehot(y) without bias

One-hot rows of two labels differ by 2 in the L1 norm: the sensitivity that makes epsilon true.
"""

import math
import os
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from vfl_flower.config.options.privacy import TRUE_SENSITIVITY
from vfl_flower.crypto.discrete_sampling import Entropy, below, discrete_laplace
from vfl_flower.privacy.label_dp.unknown_weights import UnknownWeights, summed
from vfl_flower.protocol.automaton.scope import LabelFormat

_GRANULES = 1 << 10
"""Laplace noise is a multiple of 1 / _GRANULES."""

_SCALES = 60
"""Scales of Laplace noise that one number may hold.

Noise exceeds them with chance 2 exp(-60) < 2**-85, so once in 2**45 runs of 2**40 numbers each.
"""

_DECIMALS = 10**4  # epsilon is cut, and the sensitivity raised, to a fourth decimal


@dataclass(frozen=True)
class LabelNoise:
    """Mechanism of label differential privacy for a number of classes.

    Attributes
    ----------
    classes : int
        C.
    epsilon : float
        The guarantee, if the sensitivity is true.
    sensitivity : float
        L1 distance of two labels' one-hot rows, for the Laplace noise.
    """

    classes: int
    epsilon: float
    sensitivity: float = TRUE_SENSITIVITY
    adaptive: ClassVar[bool] = False

    @property
    def true_epsilon(self) -> float:
        """The guarantee that holds, larger under an understated sensitivity."""
        return self.epsilon * max(TRUE_SENSITIVITY / self.sensitivity, 1.0)

    def release(self, y: Tensor, entropy: Entropy = os.urandom) -> Tensor:
        """Noise labels to rows o with the one-hot row as mean.

        (N,) int64 to (N, C) float32.
        """
        raise NotImplementedError

    def publish(self, released: Tensor) -> Tensor:
        """Return rows o as they travel."""
        return released

    def receive(self, published: Tensor) -> Tensor:
        """Invert `publish`."""
        return published

    def label_format(self) -> LabelFormat:
        """Return the wire format of `publish`."""
        raise NotImplementedError

    def log_likelihood(self, released: Tensor) -> Tensor:
        """Return log P(o | y) for every y, up to a constant.

        (B, C) -> (B, C).
        """
        raise NotImplementedError

    def admits(self, targets: Tensor, logits: Tensor, rounding: Tensor) -> Tensor:
        """Tell which rows `posterior` can return.

        (B, C), (B, C), (B,) -> (B,). Here: whether it is a distribution.
        """
        least, total = targets.amin(1), targets.sum(1)
        return (least >= -rounding) & ((total - 1).abs() <= self.classes * rounding)

    def weights(self, rows: UnknownWeights, logits: Tensor) -> Tensor:
        """Return a weight of each row, (B,), with targets that `admits` admits.

        If there are none, any.
        """
        raise NotImplementedError

    def posterior(self, released: Tensor, logits: Tensor) -> Tensor:
        """Return the posterior P(y | o), (B, C).

        The prior is uniform, or the prediction where the mechanism is adaptive.
        """
        prior = logits.detach().log_softmax(1) if self.adaptive else 0.0
        return (self.log_likelihood(released) + prior).softmax(1)

    def target(self, released: Tensor, logits: Tensor) -> Tensor:
        """Return the regression target: o, or the posterior where adaptive."""
        return self.posterior(released, logits) if self.adaptive else released


class Laplace(LabelNoise):
    """Discrete Laplace noise on the one-hot row."""

    def rate(self) -> Fraction:
        """Return epsilon / sensitivity, for one granule."""
        epsilon = Fraction(math.floor(Fraction(str(self.epsilon)) * _DECIMALS), _DECIMALS)
        sensitivity = Fraction(math.ceil(Fraction(str(self.sensitivity)) * _DECIMALS), _DECIMALS)
        return epsilon / sensitivity / _GRANULES

    def release(self, y: Tensor, entropy: Entropy = os.urandom) -> Tensor:
        """See `LabelNoise`."""
        noise = discrete_laplace(self.rate(), len(y) * self.classes, entropy)
        granules = F.one_hot(y, self.classes) * _GRANULES + torch.from_numpy(noise).view(len(y), -1)
        return granules.to(torch.float32) / _GRANULES

    def label_format(self) -> LabelFormat:
        """See `LabelNoise`."""
        most = 1 + _SCALES / float(self.rate() * _GRANULES)
        return LabelFormat("float32", (self.classes,), -most, most)

    def log_likelihood(self, released: Tensor) -> Tensor:
        """See `LabelNoise`."""
        return (released.abs() - (released - 1).abs()) * float(self.rate() * _GRANULES)

    def admits(self, targets: Tensor, logits: Tensor, rounding: Tensor) -> Tensor:
        """Tell which rows are within exp(2 epsilon / sensitivity) of the prior."""
        (least, most), around = self._range(logits), rounding[:, None]
        near = (targets <= most + around) & (targets >= least - around)
        return super().admits(targets, logits, rounding) & near.all(1)

    def weights(self, rows: UnknownWeights, logits: Tensor) -> Tensor:
        """See `LabelNoise`: each entry, and the sum, limits it."""
        lowest, highest = self._range(logits)
        least, most = summed(lowest), summed(highest)
        least[:, -1] = most[:, -1] = 1
        every = rows.summed()
        low, high = every.limits(least, most)
        return every.middle(low.amax(1), high.amin(1))[0]

    def _range(self, logits: Tensor) -> tuple[Tensor, Tensor]:
        """Return the least and the largest posterior, (B, C) each."""
        prior = logits.softmax(1) if self.adaptive else torch.full_like(logits, 1 / self.classes)
        factor = math.exp(2 * float(self.rate() * _GRANULES))
        return prior / factor, prior * factor


class Alibi(Laplace):
    """ALIBI: the Laplace mechanism with the model's prediction as prior."""

    adaptive = True


class RandomizedResponse(LabelNoise):
    """Randomized response: keeps a label or replaces it uniformly.

    Rows are unbiased estimates of the one-hot row.
    """

    @property
    def true_epsilon(self) -> float:
        """The guarantee that holds, whatever the sensitivity."""
        return self.epsilon

    def odds(self) -> int:
        """Return the odds of the true label, in units of 2**-32.

        Rounded down, so at most e.
        """
        return int(Decimal(str(self.epsilon)).exp() * (1 << 32))

    def release(self, y: Tensor, entropy: Entropy = os.urandom) -> Tensor:
        """See `LabelNoise`."""
        kept, other = self.odds(), 1 << 32
        drawn = torch.from_numpy(below(kept + (self.classes - 1) * other, len(y), entropy))
        shift = torch.where(drawn < kept, 0, 1 + (drawn - kept) // other)
        return self.receive((y + shift) % self.classes)

    def publish(self, released: Tensor) -> Tensor:
        """Return the randomized classes, (N,) uint8.

        int32 for more than 256 classes.
        """
        return compact(released.argmax(1), self.classes)

    def label_format(self) -> LabelFormat:
        """See `LabelNoise`."""
        return classes_format(self.classes)

    def receive(self, published: Tensor) -> Tensor:
        """Return the unbiased estimate of the one-hot row, (N, C) float32."""
        e = self.odds() / (1 << 32)
        said = F.one_hot(published.long(), self.classes)
        return (said * (e + self.classes - 1) - 1.0).float() / (e - 1)

    def log_likelihood(self, released: Tensor) -> Tensor:
        """See `LabelNoise`."""
        return F.one_hot(released.argmax(1), self.classes) * self.epsilon

    def weights(self, rows: UnknownWeights, logits: Tensor) -> Tensor:
        """See `LabelNoise`: of the class that leaves most room."""
        of_class = torch.tensor([self.epsilon] + [0.0] * (self.classes - 1)).double().softmax(0)
        own, other = (torch.full_like(rows.means, of_class[k].item()) for k in (0, 1))
        (lowest, highest), (low, high) = rows.limits(own, own), rows.limits(other, other)
        low = torch.maximum(_of_others(low), lowest)
        high = torch.minimum(-_of_others(-high), highest)
        weights, room = rows.middle(low, high)
        return weights.gather(1, room.argmax(1, keepdim=True))[:, 0]

    def admits(self, targets: Tensor, logits: Tensor, rounding: Tensor) -> Tensor:
        """Tell which rows are the posterior of some class."""
        of_class = (F.one_hot(targets.argmax(1), self.classes) * self.epsilon).softmax(1)
        return (targets - of_class).abs().amax(1) <= rounding


def _of_others(rows: Tensor) -> Tensor:
    """Return the largest of each row's other entries, (B, C)."""
    two = rows.topk(2, 1).values
    return torch.where(rows == two[:, :1], two[:, 1:], two[:, :1])


def compact(labels: Tensor, classes: int) -> Tensor:
    """Return labels in the smallest type that holds them."""
    return labels.to(torch.uint8 if classes <= 256 else torch.int32)


def classes_format(classes: int) -> LabelFormat:
    """Return the wire format of `compact`."""
    return LabelFormat("uint8" if classes <= 256 else "int32", (), 0, classes - 1)
