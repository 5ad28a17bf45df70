"""Nonces as hex text, bytes and arrays."""

import numpy as np
import torch
from torch import Tensor

from vfl_flower.common.codec import Array
from vfl_flower.common.errors import ProtocolError


def bytes_of(nonce: str) -> Array:
    """Return a nonce's bytes: hex digits -> (n,) uint8."""
    return np.frombuffer(bytes.fromhex(nonce), np.uint8).copy()


def hex_of(nonce: Tensor) -> str:
    """Return a nonce's hex digits: (n,) uint8 -> text."""
    return bytes(nonce.tolist()).hex()


NONCE = 8  # bytes


def nonce_to_array(nonce: str) -> Array:
    """Return a nonce as it travels: (8,) uint8."""
    return np.frombuffer(bytes.fromhex(nonce), np.uint8)


def nonce_of(array: Tensor) -> str:
    """Reverse `nonce_to_array`.

    Raises
    ------
    ProtocolError
        If it is none.
    """
    if array.shape != (NONCE,) or array.dtype != torch.uint8:
        raise ProtocolError(f"a nonce has {NONCE} bytes, and something else arrived")
    return bytes(array.tolist()).hex()
