"""One party's blinded ids, and announcements of their kind and number."""

from collections.abc import Sequence

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand

from vfl_flower.common.codec import Array
from vfl_flower.common.errors import ProtocolError
from vfl_flower.crypto.curve25519 import map_and_multiply
from vfl_flower.crypto.hashed_ids import KINDS, Ids

CHUNK = 2**16  # points in a message
MOST = 2**31 - 1  # ids of a party; positions are int32
_ORDER = b"vfl-flower alignment 1 order"


class Blinded:
    """A party's ids under its secret, in a secret order.

    Parameters
    ----------
    ids : Ids
        The ids.
    secret : bytes
        32, from the operating system.

    Attributes
    ----------
    order : ndarray of int64
        (n,), the id at each position.
    """

    def __init__(self, ids: Ids, secret: bytes) -> None:
        self.ids, self.secret = ids, secret
        key = HKDFExpand(SHA256(), 32, _ORDER).derive(secret)
        stream = Cipher(ChaCha20(key, bytes(16)), None).encryptor().update(bytes(8 * len(ids)))
        self.order = np.argsort(np.frombuffer(stream, "<u8"), kind="stable")

    def points(self, start: int) -> Array:
        """Return the chunk of blinded ids at a position.

        (up to CHUNK, 32) uint8.
        """
        return map_and_multiply(self.secret, self.ids.hashed[self.order[start : start + CHUNK]])


def announcement(ids: Ids) -> Array:
    """Return a party's announcement of its ids: (2,) int64.

    Their kind and number.
    """
    return np.array([KINDS.index(ids.kind), len(ids)])


def announced(arrays: Sequence[Array], name: str) -> tuple[str, int]:
    """Read a party's announcement of its ids."""
    if len(arrays) == 1 and arrays[0].shape == (2,) and arrays[0].dtype == np.int64:
        kind, size = arrays[0].tolist()
        if kind in range(len(KINDS)) and 0 < size <= MOST:
            return KINDS[kind], size
    raise ProtocolError(f"{name} announced ids of no known kind, or not 1 to {MOST} of them")


def due(start: int, size: int) -> int:
    """Return the size of the chunk of ids at a position."""
    return min(max(size - start, 0), CHUNK)
