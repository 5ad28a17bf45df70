"""Pairwise keys and keystream masks (X25519, HKDF, ChaCha20)."""

import numpy as np
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF, HKDFExpand

from vfl_flower.common.errors import BlindingError
from vfl_flower.crypto.fixed_point import WHOLE, Ring, Words

PROTOCOL = b"vfl-flower blinding 1"
KEY = 32  # bytes of an X25519 public key


def usable(public: bytes) -> bool:
    """Tell whether bytes are a usable X25519 public key."""
    try:
        X25519PrivateKey.generate().exchange(X25519PublicKey.from_public_bytes(public))
    except ValueError:
        return False
    return True


def pair_key(own: X25519PrivateKey, other: bytes, salt: bytes, i: int, j: int) -> bytes:
    """Derive the 32-byte pairwise key of parties i and j.

    Both sides derive the same key.

    Raises
    ------
    BlindingError
        If the other's public key is not a point that can be used.
    """
    try:
        shared = own.exchange(X25519PublicKey.from_public_bytes(other))
    except ValueError as error:
        raise BlindingError("a relayed public key is not a usable X25519 key") from error
    low, high = sorted((i, j))
    info = PROTOCOL + low.to_bytes(4, "little") + high.to_bytes(4, "little")
    return HKDF(SHA256(), 32, salt, info).derive(shared)


def mask(
    key: bytes,
    exchange: int,
    phase_name: str,
    digest: bytes,
    count: int,
    position: int = 0,
    ring: Ring = WHOLE,
) -> Words:
    """Expand a pair key into the mask of one exchange.

    Parameters
    ----------
    key : bytes
        The pair key.
    exchange : int
        The run's exchange counter; it never repeats under one key.
    phase_name : str
        The phase asked.
    digest : bytes
        SHA-256 of what was asked, so that parties that were asked different things do not cancel.
    count : int
        How many words.
    position : int
        Which of the phase's uploads, from 0.
    ring : Ring
        Of the words.

    Returns
    -------
    ndarray of uint32 or uint16
        (count,), uniform to whoever lacks the key.
    """
    info = PROTOCOL + exchange.to_bytes(8, "little") + digest + phase_name.encode()
    if ring != WHOLE:  # no phase's name has a zero byte, and these two are of other lengths
        info += bytes((0, ring.bits))
    if position:
        info += b"\0" + position.to_bytes(4, "little")
    once = HKDFExpand(SHA256(), 32, info).derive(key)
    # The key is used for this mask only, so counter and nonce may both start from zero.
    size = ring.dtype.itemsize * count
    stream = Cipher(ChaCha20(once, bytes(16)), None).encryptor().update(bytes(size))
    return np.frombuffer(stream, ring.dtype)
