"""Sealed messages: the key's derivation, and everything that does not open."""

import hmac

import pytest
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from hypothesis import given
from hypothesis import strategies as st

from vfl_flower.common.errors import ProtocolError
from vfl_flower.crypto.sealed import PROTOCOL, TAG, seal, unseal

KEY = bytes(range(32))
keys = st.binary(min_size=32, max_size=32)
ranks = st.integers(1, 2**32 - 1)


@given(keys, st.binary(max_size=40), st.integers(1, 2**63), ranks, ranks)
def test_a_message_opens_as_it_was(key: bytes, text: bytes, exchange: int, i: int, j: int) -> None:
    sealed = seal(key, text, exchange, i, j)
    assert len(sealed) == len(text) + TAG
    assert unseal(key, sealed, exchange, i, j) == text


def test_the_key_is_hkdf_of_pair_key_exchange_and_ranks() -> None:
    """Expanded by hand (RFC 5869), for one block of SHA-256."""
    info = PROTOCOL + (7).to_bytes(8, "little") + b"\1\0\0\0" + b"\3\0\0\0"
    once = hmac.digest(KEY, info + b"\1", "sha256")
    assert seal(KEY, b"ab", 7, 1, 3) == ChaCha20Poly1305(once).encrypt(bytes(12), b"ab", None)


@pytest.mark.parametrize(
    "given",
    [(7, 3, 1), (8, 1, 3), (7, 2, 3), (7, 1, 2)],
    ids=["sent back", "of another exchange", "another's", "for another"],
)
def test_a_message_opens_nowhere_else(given: tuple[int, int, int]) -> None:
    sealed = seal(KEY, b"ab", 7, 1, 3)
    assert unseal(KEY, sealed, 7, 1, 3) == b"ab"
    with pytest.raises(ProtocolError, match=f"what party-{given[1]} sealed for party-{given[2]}"):
        unseal(KEY, sealed, *given)


@given(st.integers(0, 8 * (2 + TAG) - 1))
def test_no_bit_can_be_changed(bit: int) -> None:
    sealed = bytearray(seal(KEY, b"ab", 7, 1, 3))
    sealed[bit // 8] ^= 1 << bit % 8
    with pytest.raises(ProtocolError, match="changed, repeated or swapped"):
        unseal(KEY, bytes(sealed), 7, 1, 3)
    with pytest.raises(ProtocolError, match="changed, repeated or swapped"):
        unseal(bytes(32), seal(KEY, b"ab", 7, 1, 3), 7, 1, 3)
