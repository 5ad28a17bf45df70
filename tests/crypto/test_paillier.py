"""Paillier's cryptosystem against its equations, and on odd numbers."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.joint.small_keys import GENERATED, P, Q
from vfl_flower.common.errors import ProtocolError
from vfl_flower.crypto.paillier import PrivateKey, PublicKey

KEY = PrivateKey(P, Q)
PUBLIC = KEY.public
N = P * Q
LAMBDA = math.lcm(P - 1, Q - 1)
MOST = N // 2 - 1
messages = st.integers(-MOST, MOST)


def read(ciphertext: int) -> int:
    """Decrypt by the equation of the paper, without the remainder theorem."""
    power = (pow(int(ciphertext), LAMBDA, N * N) - 1) // N
    found = power * pow(LAMBDA, -1, N) % N
    return found - N if 2 * found > N else found


@given(messages)
def test_messages_come_back(message: int) -> None:
    sealed = KEY.encrypt(message)
    assert KEY.decrypt(sealed) == read(sealed) == message


@given(st.lists(messages.map(lambda m: m // 8), max_size=5))
def test_products_are_sums(parts: list[int]) -> None:
    sealed = [KEY.encrypt(each) for each in parts]
    assert read(PUBLIC.total(sealed)) == sum(parts)


@given(messages, st.integers(-(2**100), 2**100))
def test_quotients_are_differences(one: int, other: int) -> None:
    found = (one - other + N // 2) % N - N // 2
    assert (read(PUBLIC.less(KEY.encrypt(one), KEY.encrypt(other))) - found) % N == 0


@given(st.lists(st.integers(-(2**60) + 1, 2**60 - 1), max_size=4))
def test_packed_messages_lie_side_by_side(parts: list[int]) -> None:
    sealed = PUBLIC.packed([KEY.encrypt(each) for each in parts], 61)
    assert read(sealed) == sum(each << 61 * place for place, each in enumerate(parts))


def test_zeros_are_different_residues() -> None:
    """Encryptions of 0 are n-th residues: their order divides lambda."""
    sealed = {int(KEY.encrypt(0)) for _ in range(50)}
    assert len(sealed) == 50
    assert all(pow(each, LAMBDA, N * N) == 1 for each in sealed)


def test_residues_are_even_over_their_group() -> None:
    """Every residue of a small key comes, all about as often."""
    small = PrivateKey(11, 17)
    counts = dict[int, int]()
    for _ in range(8_000):
        made = int(small.encrypt(0))
        counts[made] = counts.get(made, 0) + 1
    assert counts.keys() == {pow(r, 187, 187**2) for r in range(187) if math.gcd(r, 187) == 1}
    assert 15 < min(counts.values()) <= max(counts.values()) < 95  # of 50, 5 deviations away


@given(messages)
def test_fresh_randomness_keeps_the_message_alone(message: int) -> None:
    before = KEY.encrypt(message)
    after = PUBLIC.randomised(before)
    assert after != before
    assert read(after) == message


def test_keys_and_ciphertexts_travel_as_bytes() -> None:
    sealed = [KEY.encrypt(each) for each in range(3)]
    public = PublicKey.read(PUBLIC.octets(), 256)
    assert public == PUBLIC
    assert len(PUBLIC.written(sealed)) == 3 * PUBLIC.size == 3 * 64
    assert public.ciphertexts(PUBLIC.written(sealed)) == sealed


@pytest.mark.parametrize("number", [0, 1, N - 1, N >> 1, N << 1, 2**256])
def test_keys_of_another_length_or_even_ones_are_refused(number: int) -> None:
    with pytest.raises(ProtocolError, match="not an odd number of 256 bits"):
        PublicKey.read(number.to_bytes(33), 256)


@pytest.mark.parametrize("number", [0, P, 5 * Q, N, N * N - N, N * N, N * N + 1, 2**512 - 1])
def test_numbers_that_are_no_ciphertexts_are_refused(number: int) -> None:
    octets = PUBLIC.written([KEY.encrypt(1)]) + number.to_bytes(64)
    with pytest.raises(ProtocolError, match="no ciphertext under the run's key"):
        PUBLIC.ciphertexts(octets)


def test_generated_keys_have_the_length_asked_for() -> None:
    key = GENERATED(1024)
    assert key.public.n.bit_length() == 1024
    assert key.public != GENERATED(1024).public
    assert key.decrypt(key.encrypt(-7)) == -7
