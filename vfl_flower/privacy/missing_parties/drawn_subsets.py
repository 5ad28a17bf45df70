"""Subsets of passive parties, drawn for each row of a training step.

Anchor: LASER-VFL (Valdeira, Wang and Chi 2025, arXiv:2410.22564), whose task sampling draws a
subset of the present parties of each size. Here one subset is drawn for each row and step: first
its size, uniform from the least to all that are present, by the run's public seed, so that the
active party can take means; then the subset, uniform among those of that size, by a secret of
the passive parties, so that the active party does not know it. Both are functions of the step: a
step that is repeated has the same subsets.
"""

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand
from numpy.typing import NDArray

PROTOCOL = b"vfl-flower subsets 1"
SECRET = 32  # bytes

Counts = NDArray[np.int64]


def drawn_sizes(seed: int, step: int, counts: Counts, least: int) -> Counts:
    """Draw the size of each row's subset.

    It is a pure function of its arguments.

    Parameters
    ----------
    seed, step : int
        Of the run, known to all.
    counts : ndarray of int64
        (B,), parties that have each row.
    least : int
        Of a subset.

    Returns
    -------
    ndarray of int64
        (B,), each size from `least` to the row's count as likely.
    """
    random = np.random.default_rng([seed, step, 5]).random(len(counts))
    above = np.maximum(counts - least, 0)
    drawn: Counts = counts - above + np.floor(random * (above + 1)).astype(np.int64)
    return drawn


def drawn_subsets(
    secret: bytes, step: int, present: NDArray[np.bool_], sizes: Counts
) -> NDArray[np.bool_]:
    """Draw each row's subset of those present: (B, K) -> (B, K).

    Parameters
    ----------
    secret : bytes
        Of the passive parties, for this run alone.
    step : int
        From 0.
    present : ndarray of bool
        Which party has which row.
    sizes : ndarray of int64
        See `drawn_sizes`.
    """
    key = HKDFExpand(SHA256(), 32, PROTOCOL + step.to_bytes(8, "little")).derive(secret)
    stream = Cipher(ChaCha20(key, bytes(16)), None).encryptor().update(bytes(8 * present.size))
    scores = np.frombuffer(stream, "<u8").reshape(present.shape)
    order = np.lexsort((scores, ~present), axis=1)  # those present first, in random order
    places = np.argsort(order, axis=1)
    drawn: NDArray[np.bool_] = (places < sizes[:, None]) & present
    return drawn
