"""Key agreement of masks, and refused keys."""

import hmac
from dataclasses import replace

import numpy as np
import pytest
import torch
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.blinding import (
    ROWS_I,
    SALT,
    TINY,
    Party,
    Rebuilt,
    agreed,
    answer,
    pair_keys_of,
    passive,
    public_keys,
    refusal,
    send,
)
from tests.helpers.data import rows_for
from vfl_flower.common.codec import decode
from vfl_flower.common.errors import ConfigError
from vfl_flower.config.run_config import RunConfig
from vfl_flower.crypto.masking import PROTOCOL, pair_key
from vfl_flower.privacy.secure_aggregation import agree_keys
from vfl_flower.protocol.exchange import Ask, Replies
from vfl_flower.workflows.build_parties import build_passive

FEWER = settings(max_examples=50)

# RFC 7748, section 6.1
ALICE = bytes.fromhex("77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a")
ALICE_PUBLIC = bytes.fromhex("8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a")
BOB = bytes.fromhex("5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb")
BOB_PUBLIC = bytes.fromhex("de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f")
SHARED = bytes.fromhex("4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742")


def hkdf(secret: bytes, salt: bytes, info: bytes) -> bytes:
    """HKDF-SHA256 of 32 bytes by RFC 5869, from the standard library."""
    extracted = hmac.digest(salt, secret, "sha256")
    return hmac.digest(extracted, info + b"\x01", "sha256")


def test_pair_key_is_hkdf_of_the_x25519_secret_of_rfc_7748() -> None:
    """Curve and derivation are checked: HKDF is computed by hand."""
    info = PROTOCOL + (1).to_bytes(4, "little") + (4).to_bytes(4, "little")
    expected = hkdf(SHARED, bytes(SALT), info)
    alice, bob = map(X25519PrivateKey.from_private_bytes, (ALICE, BOB))
    assert alice.public_key().public_bytes_raw() == ALICE_PUBLIC
    assert bob.public_key().public_bytes_raw() == BOB_PUBLIC
    assert pair_key(alice, BOB_PUBLIC, bytes(SALT), 1, 4) == expected
    assert pair_key(bob, ALICE_PUBLIC, bytes(SALT), 4, 1) == expected


@FEWER
@given(
    st.binary(min_size=16, max_size=16),
    st.lists(st.integers(0, 2**32 - 1), min_size=2, max_size=2, unique=True),
)
def test_pair_keys_are_the_same_from_both_sides(salt: bytes, indices: list[int]) -> None:
    i, j = indices
    one, other = X25519PrivateKey.generate(), X25519PrivateKey.generate()
    mine = pair_key(one, other.public_key().public_bytes_raw(), salt, i, j)
    assert mine == pair_key(other, one.public_key().public_bytes_raw(), salt, j, i)


def test_pair_keys_differ_by_salt_indices_and_peer() -> None:
    own = X25519PrivateKey.from_private_bytes(ALICE)
    variants = {
        pair_key(own, BOB_PUBLIC, bytes(16), 0, 1),
        pair_key(own, BOB_PUBLIC, b"\x01" + bytes(15), 0, 1),
        pair_key(own, BOB_PUBLIC, bytes(16), 0, 2),
        pair_key(own, BOB_PUBLIC, bytes(16), 1, 2),
        pair_key(own, ALICE_PUBLIC, bytes(16), 0, 1),
    }
    assert len(variants) == 5


def test_every_pair_has_its_own_key() -> None:
    parties = agreed(4)
    keys = [pair_keys_of(party) for party in parties]
    assert [sorted(held) for held in keys] == [[2, 3, 4], [1, 3, 4], [1, 2, 4], [1, 2, 3]]
    assert all(keys[i][j + 1] == keys[j][i + 1] for i in range(4) for j in range(4) if i != j)
    assert len({key for held in keys for key in held.values()}) == 6


def test_key_pairs_are_fresh_at_every_start_whatever_the_seeds() -> None:
    drawn = []
    for _ in range(2):
        torch.manual_seed(0)
        np.random.seed(0)
        parties = passive(2, seed=7)
        drawn += [*public_keys(parties, 1), *public_keys(parties, 2)]
    assert len({bytes(key) for key in drawn}) == 8


def test_a_new_key_pair_drops_the_old_pair_keys() -> None:
    parties = agreed(2)
    answer(parties[0], 3, "public_key")
    assert refusal(parties[0], 4, "embed_only", ROWS_I)[0] == "BlindingError"


def test_the_active_party_draws_a_new_salt_at_every_start() -> None:
    salts = []
    for _ in range(2):
        agreeing = agree_keys(TINY)
        assert next(agreeing).phase == "public_key"
        request = agreeing.send(Replies([[np.full(96, k + 9, np.uint8)] for k in range(3)]))
        assert isinstance(request, Ask)
        keys, salt = map(decode, request.tensors_for(1, 3))
        assert (request.phase, keys.shape) == ("agree", (3, 96))
        salts.append(bytes(salt))
    assert [len(salt) for salt in salts] == [16, 16]
    assert salts[0] != salts[1]


@pytest.mark.parametrize(
    "relay",
    [
        lambda keys: keys[[1, 0, 2]],
        lambda keys: np.stack([keys[0] ^ 1, keys[1], keys[2]]),
        lambda keys: keys[[0, 1, 1]],
        lambda keys: keys[[0, 0, 2]],
        lambda keys: keys[:2],
        lambda keys: keys[[0, 1, 2, 2]],
        lambda keys: keys[:, :95],
        lambda keys: np.stack([keys[0], np.zeros(96, np.uint8), keys[2]]),
        lambda keys: np.stack([keys[0], np.eye(1, 96, dtype=np.uint8)[0], keys[2]]),
    ],
    ids=[
        "own key elsewhere",
        "own key changed",
        "two others equal",
        "own key twice",
        "too few",
        "too many",
        "too short",
        "the point 0, of order 2",
        "the point 1, of order 4",
    ],
)
def test_bad_relayed_keys_are_refused(relay: object) -> None:
    assert callable(relay)
    parties = passive(3)
    keys = relay(public_keys(parties))
    assert refusal(parties[0], 2, "agree", keys, SALT)[0] in ("BlindingError", "ProtocolError")
    assert (
        refusal(parties[0], 3, "embed_only", ROWS_I)[0] == "BlindingError"
    )  # and nothing was kept


def test_a_salt_of_another_length_is_refused() -> None:
    parties = passive(2)
    keys = public_keys(parties)
    assert refusal(parties[0], 2, "agree", keys, SALT[:15])[0] == "ProtocolError"


def test_keys_are_not_agreed_before_a_party_was_asked_for_its_own() -> None:
    parties = passive(2)
    keys = np.arange(192, dtype=np.uint8).reshape(2, 96)
    assert refusal(parties[0], 1, "agree", keys, SALT)[0] == "BlindingError"


@pytest.mark.parametrize("live", [True, False])
def test_a_key_pair_is_agreed_once(live: bool) -> None:
    """No salt derives a second set of keys from one key pair."""
    parties: list[Party] = [*passive(2)]
    if not live:
        parties = [Rebuilt(replace(TINY, parties=3), rank) for rank in (1, 2)]
    keys = public_keys(parties)
    assert send(parties[0], 2, "agree", keys, SALT) == ([], {})
    for exchange, salt in ((3, SALT), (4, SALT + np.uint8(1))):
        error, text = refusal(parties[0], exchange, "agree", keys, salt)
        assert error == "BlindingError"
        assert "no key pair in use" in text
    fresh = public_keys(parties, 5)
    assert send(parties[0], 6, "agree", fresh, SALT) == ([], {})


@pytest.mark.parametrize("phase", ["embed", "embed_only"])
def test_nothing_is_blinded_before_keys_are_agreed(phase: str) -> None:
    (party, _) = passive(2)
    assert refusal(party, 1, phase, rows_for(party, phase))[0] == "BlindingError"
    answer(party, 2, "public_key")
    party.automaton.step = 0
    assert refusal(party, 3, phase, rows_for(party, phase))[0] == "BlindingError"


def test_a_lone_passive_party_is_refused_by_the_configuration() -> None:
    with pytest.raises(ConfigError, match="hide behind"):
        RunConfig(parties=2, blinding="pairwise")


def test_a_lone_passive_party_refuses_by_itself() -> None:
    """An active party with another configuration cannot persuade it."""
    cfg = replace(TINY, parties=2, blinding="none")
    object.__setattr__(cfg, "blinding", "pairwise")
    party = build_passive(cfg, 1)
    own = answer(party, 1, "public_key")
    assert refusal(party, 2, "agree", own[None], SALT)[0] == "BlindingError"
    assert refusal(party, 3, "embed_only", ROWS_I)[0] == "BlindingError"
