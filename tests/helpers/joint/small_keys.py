"""Keys of Paillier's cryptosystem that are quick, and protect nothing."""

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

from vfl_flower.algorithms.boosting.channels import slots
from vfl_flower.crypto.paillier import PrivateKey

P, Q = 289336356913286072950627486140908024381, 260227482081810694915254301618984106969
"""Primes of 128 bits."""

KEY_BITS, GENERATED = slots.KEY_BITS, PrivateKey.generated
"""As a user has them."""


@contextmanager
def small_keys() -> Iterator[None]:
    """Let encrypted runs have a key of 256 bits, always the same."""
    key = patch.object(PrivateKey, "generated", lambda bits: PrivateKey(P, Q))
    with key, patch.object(slots, "KEY_BITS", (P * Q).bit_length()):
        yield


@contextmanager
def usual_keys() -> Iterator[None]:
    """Let encrypted runs have keys as a user has them."""
    key = patch.object(PrivateKey, "generated", GENERATED)
    with key, patch.object(slots, "KEY_BITS", KEY_BITS):
        yield
