"""Label differential privacy by noise on gradients, once a round and row.

With y a row's label, the gradient of the cross-entropy is g = softmax(R) - onehot(y), and of two
classes the second number of it. Two labels change it by s = sqrt(2) in the Euclidean norm, of two
classes by s = 1; the hessian h does not depend on the label. A round releases g + N(0, (sigma s)^2)
of each row, and all else that leaves the active party follows from that: trees, scores, and with
them the next round's probabilities and h. So R rounds are an adaptive composition of R Gaussian
mechanisms on each label, as private as one with noise multiplier sigma / sqrt(R).

The noise is the discrete Gaussian's in the whole numbers that travel (Canonne, Kamath and Steinke
2020, arXiv:2004.00010), from a key that the active party draws from the operating system, and its
checkpoints keep. A round that comes again after a resume has the same noise: what is then released
differs from before by scores that follow from releases, and costs nothing more.
"""

import secrets
from collections.abc import Callable
from hashlib import shake_256
from math import ceil, frexp, log2, sqrt
from typing import Protocol

import numpy as np

from vfl_flower.algorithms.boosting.gradients import EXACT_BITS, Whole
from vfl_flower.common.codec import Array
from vfl_flower.common.errors import ConfigError
from vfl_flower.config.catalog import BINARY, MULTI_CLASS
from vfl_flower.crypto.discrete_gaussian import discrete_gaussian
from vfl_flower.parties.active import ActiveParty
from vfl_flower.privacy.client_dp.accounting import epsilon_of, least_sigma

_KEY = 32  # bytes
_BITS = 24
"""Of a noised number: the largest deviation of the sampler, too."""
_TAILS = 8
"""Deviations that a number may be away from a gradient; what is beyond is cut off."""
_ACCOUNTANT = "rdp"  # which is exact for discrete noise, too


class Options(Protocol):
    """Options of the noise."""

    @property
    def gradient_epsilon(self) -> float:
        """Epsilon of all rounds; 0: none."""

    @property
    def gradient_delta(self) -> float:
        """Delta of all rounds."""


class GradientNoise:
    """Noise on a run's gradients.

    Parameters
    ----------
    epsilon, delta : float
        Of all rounds together.
    rounds : int
        At most.
    trees : int
        T of a round.

    Attributes
    ----------
    sigma : float
        Noise multiplier of a round.
    """

    def __init__(self, epsilon: float, delta: float, rounds: int, trees: int) -> None:
        self.delta = delta
        self.sigma = least_sigma(epsilon, max(rounds, 1), delta, _ACCOUNTANT)
        self.sensitivity = 1.0 if trees == 1 else sqrt(2)

    def spent(self, rounds: int) -> float:
        """Return epsilon after some rounds."""
        return epsilon_of(self.sigma, rounds, self.delta, _ACCOUNTANT)

    def noised(self, g: Array, key: bytes, number: int) -> Whole:
        """Return a round's gradients as noised whole numbers.

        Parameters
        ----------
        g : ndarray
            (B, T) float64.
        key : bytes
            Of the run.
        number : int
            Of the round.
        """
        bits = min(_BITS, EXACT_BITS - ceil(log2(max(len(g), 1))))
        most = 1 + _TAILS * self.sigma * self.sensitivity
        unit = 2.0 ** (frexp(most)[1] - bits)  # which depends on no label
        # rounding moves each number by half a unit at most, of either label
        steps = ceil(self.sigma * (self.sensitivity / unit + sqrt(g.shape[1])))
        noise = discrete_gaussian(steps, g.size, _stream(key, number)).reshape(g.shape)
        numbers = np.rint(g / unit).astype(np.int64) + noise
        largest = 2**bits - 1
        return Whole(np.clip(numbers, -largest, largest).astype(np.int32), unit)


def gradient_noise_of(party: ActiveParty, options: Options, trees: int) -> GradientNoise | None:
    """Return the noise on a run's gradients, if it has some.

    Raises
    ------
    ConfigError
        If labels are no classes.
    """
    if not options.gradient_epsilon or party.cfg.task != "train":
        return None
    if party.target.task not in (BINARY, MULTI_CLASS):
        raise ConfigError(
            f"gradient-epsilon is {options.gradient_epsilon:g}, which is of classes, and the "
            f"labels are {party.target.task}; remove it"
        )
    epsilon, delta = options.gradient_epsilon, options.gradient_delta
    return GradientNoise(epsilon, delta, party.cfg.epochs, trees)


def new_key() -> bytes:
    """Draw a key from the operating system."""
    return secrets.token_bytes(_KEY)


def _stream(key: bytes, number: int) -> Callable[[int], bytes]:
    """Return a source of bytes, determined by key and round."""
    count = 0

    def draw(size: int) -> bytes:
        nonlocal count
        count += 1
        return shake_256(key + number.to_bytes(8) + count.to_bytes(8)).digest(size)

    return draw
