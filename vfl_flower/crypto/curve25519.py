"""Curve25519 arithmetic for private set intersection: ids as points.

Curve25519 here is its x coordinates only, as in X25519 (RFC 7748): 32 bytes a point, and
``a (b P) = b (a P)`` for any two secrets a and b, which is all that the intersection needs.

* *Clamping.* X25519 sets a few bits of the secret, so that it is a multiple of 8 below 2**255. Two
  clamped secrets commute like any two numbers; 2**251 of them are left to guess from; and the
  multiple of 8 takes every point into the subgroup of prime order, whatever a peer sends: nothing
  is learnt of the secret by points of low order, or of the curve's twist, whose own cofactor is 4.
* *Hashing.* SHA-512 of an id is no point by itself: half of all x coordinates lie on the twist, and
  both sides of the curve stay what they are under multiplication, so one bit of every id's hash
  would be there to read. RFC 9380 maps a hash to the curve proper: this is its suite
  curve25519_XMD:SHA-512_ELL2_NU_. It reaches half of the points. That does no harm here: an id's
  logarithm to any base stays unknown, and whether multiples of such points look random is the
  decisional Diffie-Hellman assumption all the same.

Why no library does all of it: openmined-psi requires a version of protobuf that Flower excludes,
deals with whole sets in one message on one core, and has no order of rows to agree on; rbcl, which
has ristretto255, writes the library that it loads to a new temporary file at every import; PyNaCl
has no ristretto255, and to multiply its Edwards points costs 2.5 times what X25519 does. So map and
X25519 come from PyNaCl, which lets other threads work meanwhile (`cryptography` does not), and the
map's points are brought from one form of the curve to the other here. With gmpy2 the map costs a
sixth (4 instead of 24 microseconds an id, beside 32 of X25519), but gmpy2 is LGPL.
"""

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha512
from itertools import accumulate, repeat

import numpy as np
from nacl.bindings import crypto_core_ed25519_from_uniform, crypto_scalarmult
from nacl.exceptions import CryptoError

from vfl_flower.common.codec import Array
from vfl_flower.common.errors import ProtocolError

POINT = 32  # bytes of an x coordinate, and of a secret
TAG = 16  # bytes of one that tell it from all others: two of 10**7 are alike once in 10**24 runs
P = 2**255 - 19
_Y = 2**255 - 1  # of an Edwards point; the bit above is the sign of x
_PIECE = 1024  # points that a thread does at once


def hash_to_field(messages: Iterable[bytes], domain: bytes) -> Array:
    """Hash messages to numbers modulo p: `hash_to_field` of RFC 9380, section 5.2.

    Parameters
    ----------
    messages : iterable of bytes
        n of them.
    domain : bytes
        What the hashes are for, at most 255 bytes; another domain gives unrelated numbers.

    Returns
    -------
    ndarray of uint8
        (n, 32), little-endian.
    """
    tag = domain + bytes([len(domain)])
    start, length = sha512(bytes(128)), (48).to_bytes(2, "big")
    end, first = length + b"\x00" + tag, b"\x01" + tag

    def number(message: bytes) -> bytes:
        inner = start.copy()
        inner.update(message + end)
        uniform = sha512(inner.digest() + first).digest()[:48]
        return (int.from_bytes(uniform, "big") % P).to_bytes(POINT, "little")

    return _rows(b"".join(map(number, messages)))


def to_curve(numbers: Iterable[bytes]) -> list[bytes]:
    """Map numbers to curve points by Elligator 2, and clear the cofactor.

    This is `map_to_curve` of RFC 9380, section 6.7.1, and eight times its point. Libsodium gives
    the Edwards point (x, y), and (1 + y) / (1 - y) is its x coordinate here; all numbers share one
    inversion.

    Parameters
    ----------
    numbers : iterable of bytes
        32 each, rows of `hash_to_field`.

    Returns
    -------
    list of bytes
        32 each, the x coordinates of points in the subgroup of prime order; 0, which `multiply`
        refuses, for the neutral element.
    """
    edwards = map(crypto_core_ed25519_from_uniform, numbers)
    ys = [int.from_bytes(point, "little") & _Y for point in edwards]
    slopes = [(1 - y) % P or 1 for y in ys]
    products = [1, *accumulate(slopes, lambda product, each: product * each % P)]
    inverse, points = pow(products[-1], -1, P), []
    for y, slope, before in zip(
        reversed(ys), reversed(slopes), reversed(products[:-1]), strict=True
    ):
        x = (1 + y) * (inverse * before % P) % P if y != 1 else 0
        points.append(x.to_bytes(POINT, "little"))
        inverse = inverse * slope % P
    return points[::-1]


def multiply(secret: bytes, points: Array, sender: str) -> Array:
    """Multiply points by a secret, on all cores: X25519.

    Parameters
    ----------
    secret : bytes
        32, used clamped.
    points : ndarray of uint8
        (n, 32).
    sender : str
        Whose points they are.

    Returns
    -------
    ndarray of uint8
        (n, 32).

    Raises
    ------
    ProtocolError
        If a point is of low order: no honest party has one.
    """
    try:
        return _on_all_cores(lambda piece: _multiply(secret, _each(piece)), points)
    except CryptoError as error:
        raise ProtocolError(f"{sender} sent a point of low order, which no id has") from error


def map_and_multiply(secret: bytes, numbers: Array) -> Array:
    """Map numbers to the curve and multiply by a secret.

    (n, 32) uint8 to (n, 32) uint8.
    """
    return _on_all_cores(lambda piece: _multiply(secret, to_curve(_each(piece))), numbers)


def tags(points: Array) -> Array:
    """Return the first half of each point as one comparable item.

    (n, 32) uint8 to (n,) of 16 bytes; numbers of `hash_to_field` may stand for points.
    """
    return np.ascontiguousarray(points[:, :TAG]).view(f"S{TAG}").ravel()


def _multiply(secret: bytes, points: Iterable[bytes]) -> Array:
    return _rows(b"".join(map(crypto_scalarmult, repeat(secret), points)))


def _on_all_cores(work: Callable[[Array], Array], points: Array) -> Array:
    pieces = [points[start : start + _PIECE] for start in range(0, len(points), _PIECE)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return np.concatenate([np.empty((0, POINT), np.uint8), *pool.map(work, pieces)])


def _each(points: Array) -> Iterable[bytes]:
    data = points.tobytes()
    return (data[start : start + POINT] for start in range(0, len(data), POINT))


def _rows(data: bytes) -> Array:
    return np.frombuffer(data, np.uint8).reshape(-1, POINT)
