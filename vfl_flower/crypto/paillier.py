"""Paillier's cryptosystem: sums of numbers that whoever adds them cannot read.

Paillier 1999, "Public-Key Cryptosystems Based on Composite Degree Residuosity Classes", EUROCRYPT
'99, with 1 + n as the base. For primes p and q of one length, n = p q, and a message m of Z/n:

    E(m)        = (1 + m n) r^n mod n^2          r uniform in (Z/n)*
    E(m) E(m')  = E(m + m')
    D(c)        = L_p(c^(p - 1)) / L_p((1 + n)^(p - 1)) mod p,  L_p(x) = (x mod p^2 - 1) / p,
                  the same modulo q, and both by the Chinese remainder theorem

Whoever knows p and q draws r^n by them, at a quarter of the work: modulo p^2 the n-th residues are
a group of p - 1 elements, through which a^p runs evenly as a runs through 1 to p - 1.

A ciphertext says nothing of its message to whoever lacks the key, if n-th residues modulo n^2
cannot be told from other numbers (decisional composite residuosity). It proves nothing: anybody
makes another of it. A product of ciphertexts has the product of their r, which tells the owner of
the key more than the sum, until it is multiplied by a fresh one: `PublicKey.randomised`.

Primes are those of an RSA key of OpenSSL, random numbers the operating system's, and powers with a
secret exponent GMP's that take the same time for all exponents of a length.
"""

import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Self

import gmpy2
from cryptography.hazmat.primitives.asymmetric import rsa
from gmpy2 import mpz

from vfl_flower.common.errors import ProtocolError

_EXPONENT = 65537  # of the RSA key, which nothing uses


@dataclass(frozen=True)
class PublicKey:
    """Adds ciphertexts, and renews their randomness.

    Attributes
    ----------
    n : mpz
        Product of two primes.
    """

    n: mpz

    @classmethod
    def read(cls, octets: bytes, bits: int) -> Self:
        """Read a key, big-endian.

        Raises
        ------
        ProtocolError
            If it is not an odd number of so many bits.
        """
        n = mpz(int.from_bytes(octets))
        if n.bit_length() != bits or gmpy2.is_even(n):
            raise ProtocolError(f"a public key came that is not an odd number of {bits} bits")
        return cls(n)

    def octets(self) -> bytes:
        """Write the key, big-endian."""
        return int(self.n).to_bytes((self.n.bit_length() + 7) // 8)

    @cached_property
    def square(self) -> mpz:
        """Modulus of ciphertexts."""
        return self.n * self.n

    @cached_property
    def size(self) -> int:
        """Bytes of a ciphertext."""
        return 2 * len(self.octets())

    def written(self, ciphertexts: Iterable[mpz]) -> bytes:
        """Write ciphertexts, big-endian, of `size` bytes each."""
        return b"".join(int(each).to_bytes(self.size) for each in ciphertexts)

    def ciphertexts(self, octets: bytes) -> list[mpz]:
        """Read ciphertexts of `size` bytes each.

        Raises
        ------
        ProtocolError
            If one is no unit modulo n^2.
        """
        starts = range(0, len(octets), self.size)
        found = [mpz(int.from_bytes(octets[at : at + self.size])) for at in starts]
        product = reduce(lambda made, each: made * each % self.n, found, mpz(1))
        if any(each >= self.square for each in found) or gmpy2.gcd(product, self.n) != 1:
            raise ProtocolError("a number came that is no ciphertext under the run's key")
        return found

    def total(self, ciphertexts: Iterable[mpz]) -> mpz:
        """Add up messages; of none, 0 without randomness."""
        return reduce(lambda made, each: made * each % self.square, ciphertexts, mpz(1))

    def less(self, ciphertext: mpz, other: mpz) -> mpz:
        """Subtract the other's message."""
        return ciphertext * gmpy2.invert(other, self.square) % self.square

    def packed(self, ciphertexts: Sequence[mpz], width: int) -> mpz:
        """Put messages side by side: sum_j m_j 2^(width j)."""
        shift, made = mpz(1) << width, mpz(1)
        for each in reversed(ciphertexts):
            made = gmpy2.powmod(made, shift, self.square) * each % self.square
        return made

    def randomised(self, ciphertext: mpz) -> mpz:
        """Return a ciphertext of the same message, as if newly encrypted."""
        r = 1 + secrets.randbelow(int(self.n) - 1)
        return ciphertext * gmpy2.powmod(r, self.n, self.square) % self.square


class PrivateKey:
    """Encrypts and decrypts.

    Parameters
    ----------
    p, q : int
        Primes of one length.

    Attributes
    ----------
    public : PublicKey
        Of these.
    """

    def __init__(self, p: int, q: int) -> None:
        self._p, self._q = mpz(p), mpz(q)
        self.public = PublicKey(self._p * self._q)
        self._halves = [_Half(each, self.public.n) for each in (self._p, self._q)]
        self._lift = self._q**2 * gmpy2.invert(self._q**2, self._p**2)
        self._join = self._q * gmpy2.invert(self._q, self._p)

    @classmethod
    def generated(cls, bits: int) -> Self:
        """Draw a key whose n has so many bits, 1024 at least."""
        found = rsa.generate_private_key(_EXPONENT, bits).private_numbers()
        return cls(found.p, found.q)

    def encrypt(self, message: int) -> mpz:
        """Encrypt a number of either sign."""
        n, square = self.public.n, self.public.square
        by_p, by_q = (half.residue() for half in self._halves)
        return (by_q + (by_p - by_q) * self._lift) * (1 + message % n * n) % square

    def decrypt(self, ciphertext: mpz) -> int:
        """Return the message, from -n / 2 to n / 2."""
        n = self.public.n
        by_p, by_q = (half.message(ciphertext) for half in self._halves)
        found = (by_q + (by_p - by_q) * self._join) % n
        return int(found - n if 2 * found > n else found)


class _Half:
    """Arithmetic modulo the square of one prime."""

    def __init__(self, p: mpz, n: mpz) -> None:
        self.p, self.square = p, p * p
        self.scale = gmpy2.invert(self._log(1 + n), p)

    def residue(self) -> mpz:
        """Draw an n-th residue."""
        base = 1 + secrets.randbelow(int(self.p) - 1)
        return gmpy2.powmod_sec(base, self.p, self.square)

    def message(self, ciphertext: mpz) -> mpz:
        """Return the message modulo the prime."""
        return self._log(ciphertext) * self.scale % self.p

    def _log(self, number: mpz) -> mpz:
        return (gmpy2.powmod_sec(number % self.square, self.p - 1, self.square) - 1) // self.p
