"""Pairs of sums in the messages of Paillier's cryptosystem.

One message has the gradient and the hessian of a row, or of all rows of a bin, as whole numbers:

    slot     = 2^53 G + H              |G| and H at most 2^52 (`gradients.EXACT_BITS`)
    message  = sum_j 2^107 slot_j      below 2^(107 slots), and that below n / 2

So no sum of any rows of a run reaches another slot, whatever the rows are.
"""

from vfl_flower.algorithms.boosting.gradients import EXACT_BITS

KEY_BITS = 2048
"""Bits of n."""

_LOW = EXACT_BITS + 1
WIDTH = 2 * _LOW + 1
"""Bits of a slot, which has a sign."""


def count() -> int:
    """Return how many slots a message has."""
    return (KEY_BITS - 2) // WIDTH


def sizes() -> dict[str, int]:
    """Return the bytes of a key, X, and of a ciphertext, Y."""
    return {"X": KEY_BITS // 8, "Y": KEY_BITS // 4}


def joined(g: int, h: int) -> int:
    """Put a gradient and a hessian into one slot."""
    return (g << _LOW) + h


def divided(message: int) -> list[tuple[int, int]] | None:
    """Return gradients and hessians of all slots; None if more is there."""
    found = []
    for _ in range(count()):
        slot = _centred(message, WIDTH)
        message = (message - slot) >> WIDTH
        h = slot & ((1 << _LOW) - 1)
        found.append(((slot - h) >> _LOW, h))
    return None if message else found


def _centred(number: int, bits: int) -> int:
    """Return the last bits of a number, with a sign."""
    half = 1 << (bits - 1)
    return ((number + half) & ((1 << bits) - 1)) - half
