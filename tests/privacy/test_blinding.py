"""Pairwise masking: single uploads look like noise, and sums are exact."""

import hmac
from hashlib import sha256

import numpy as np
import pytest
import torch
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from torch import nn

from tests.helpers.blinding import (
    ROWS_I,
    added,
    agreed,
    answer,
    blinded,
    client,
    refusal,
    shared_agreed,
)
from vfl_flower.crypto.fixed_point import encode_ring
from vfl_flower.crypto.masking import PROTOCOL, mask
from vfl_flower.protocol.components import Received

FEWER = settings(max_examples=50)
CHI_SQUARE_LIMIT = 450.0  # 255 degrees of freedom: exceeded by chance once in 10**12

# RFC 8439, appendix A.1, vectors 1 to 3: (key, block counter, keystream), nonce zero
KEYSTREAM = [
    (
        bytes(32),
        0,
        "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7"
        "da41597c5157488d7724e03fb8d84a376a43b8f41518a11cc387b669b2ee6586",
    ),
    (
        bytes(32),
        1,
        "9f07e7be5551387a98ba977c732d080dcb0f29a048e3656912c6533e32ee7aed"
        "29b721769ce64e43d57133b074d839d531ed1f28510afb45ace10a1f4b794d6f",
    ),
    (
        bytes(31) + b"\x01",
        1,
        "3aeb5224ecf849929b9d828db1ced4dd832025e8018b8160b82284f3c949aa5a"
        "8eca00bbb4a73bdad192b5c42f73f2fd4e273644c8b36125a64addeb006c13a0",
    ),
]


def chi_square(data: bytes) -> float:
    """Return the statistic of 256 equally likely byte values."""
    counts = np.bincount(np.frombuffer(data, np.uint8), minlength=256)
    expected = len(data) / 256
    return float(((counts - expected) ** 2).sum() / expected)


@pytest.mark.parametrize(("key", "counter", "stream"), KEYSTREAM)
def test_masks_are_the_keystream_of_rfc_8439(
    key: bytes, counter: int, stream: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Words are little-endian; nonce and block counter are zero."""

    class Fixed:
        def __init__(self, *_: object) -> None: ...

        def derive(self, _: bytes) -> bytes:
            return key

    monkeypatch.setattr("vfl_flower.crypto.masking.HKDFExpand", Fixed)
    words = mask(b"", 1, "embed", bytes(32), 32)
    block = words[16 * counter : 16 * (counter + 1)]
    assert b"".join(int(word).to_bytes(4, "little") for word in block).hex() == stream


def test_mask_keys_are_derived_by_hkdf(monkeypatch: pytest.MonkeyPatch) -> None:
    """The key of ChaCha20 is HKDF-Expand of the pair key."""
    used: list[bytes] = []

    def spy(key: bytes, nonce: bytes) -> ChaCha20:
        used.append(key)
        assert nonce == bytes(16)
        return ChaCha20(key, nonce)

    monkeypatch.setattr("vfl_flower.crypto.masking.ChaCha20", spy)
    digest = sha256(b"request").digest()
    mask(b"k" * 32, 5, "embed", digest, 1)
    info = PROTOCOL + (5).to_bytes(8, "little") + digest + b"embed"
    assert used == [hmac.digest(b"k" * 32, info + b"\x01", "sha256")]


def test_masks_differ_by_key_exchange_phase_and_request() -> None:
    key, digest = bytes(32), bytes(32)
    variants = [
        mask(key, 1, "embed", digest, 8),
        mask(b"\x01" + key[1:], 1, "embed", digest, 8),
        mask(key, 2, "embed", digest, 8),
        mask(key, 1, "embed_only", digest, 8),
        mask(key, 1, "embed", b"\x01" + digest[1:], 8),
    ]
    assert len({words.tobytes() for words in variants}) == 5
    assert mask(key, 1, "embed", digest, 8).tobytes() == variants[0].tobytes()


@FEWER
@given(st.data())
def test_masks_sum_to_zero_and_values_to_their_sum(data: st.DataObject) -> None:
    """For any number of parties, shape, exchange and request."""
    parties = shared_agreed(data.draw(st.integers(2, 6)))
    shape = data.draw(hnp.array_shapes(min_dims=1, max_dims=3, max_side=5))
    numbers = hnp.arrays(np.float32, shape, elements=st.floats(-1000, 1000, width=32))
    request = data.draw(hnp.arrays(np.int32, hnp.array_shapes(max_dims=1, max_side=4)))
    exchange = data.draw(st.integers(1, 2**63))
    received = Received(exchange, data.draw(st.sampled_from(("embed", "embed_only"))), [request])

    zeros = blinded(parties, received, [torch.zeros(shape)] * len(parties))
    assert not added(zeros).any()
    xs = [torch.from_numpy(data.draw(numbers)) for _ in parties]
    plain = [encode_ring(x, len(parties)) for x in xs]
    assert added(blinded(parties, received, xs)).tolist() == added(plain).tolist()


@pytest.mark.parametrize("count", [2, 4])
def test_one_party_short_is_noise(count: int) -> None:
    """The sum without one party differs from the plain one nearly everywhere."""
    parties = shared_agreed(count)
    received = Received(9, "embed", [ROWS_I])
    words = blinded(parties, received, [torch.zeros(32, 32)] * count)
    for without in range(count):
        rest = added([w for k, w in enumerate(words) if k != without])
        assert (rest != 0).mean() > 0.99


@pytest.mark.parametrize("index", [0, 1, 2])
def test_masked_words_are_uniform(index: int) -> None:
    """A chi-square test of each byte of a non-uniform embedding's words."""
    parties = shared_agreed(3)
    x = torch.full((256, 256), 1.5)
    first, second = (
        blinded(parties, Received(exchange, "embed", [ROWS_I]), [x] * 3)[index]
        for exchange in (11, 12)
    )
    for words in (first, second, first - second):
        for byte in range(4):
            lane = words.astype("<u4").tobytes()[byte::4]
            assert chi_square(lane) < CHI_SQUARE_LIMIT
    assert chi_square(encode_ring(x, 3).tobytes()) > CHI_SQUARE_LIMIT  # the test can fail


def test_a_value_that_could_overflow_is_refused_without_telling_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    (party, other) = agreed(2)
    head = client(party).net.embed[-1]  # type: ignore[index]
    assert isinstance(head, nn.Linear)
    with torch.no_grad():
        head.weight.zero_()
        head.bias.fill_(16384 + 7654.5)
    error, message = refusal(party, 3, "embed_only", ROWS_I)
    assert error == "BlindingError"
    assert "16384" in message
    assert "24038" not in message
    told = [(record.name, record.getMessage()) for record in caplog.records]
    assert ("vfl_flower.party-1", "the largest value was 24038.5") in told  # its own log
    assert answer(other, 3, "embed_only", ROWS_I).dtype == np.uint32
