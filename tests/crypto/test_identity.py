"""Pinned identities: signatures, and an active party that swaps keys."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from tests.helpers.blinding import (
    ROWS_I,
    SALT,
    TINY,
    agree,
    answer,
    masker_of,
    public_keys,
    refusal,
    send,
)
from vfl_flower.common.codec import Array
from vfl_flower.common.errors import BlindingError, IdentityError
from vfl_flower.crypto.identity import (
    Identity,
)
from vfl_flower.parties.passive import PassiveParty
from vfl_flower.transport.local import run_local
from vfl_flower.workflows.build_parties import build_active, build_passive

RUN = "17"


def identities(count: int, run: str = RUN) -> list[Identity]:
    """Draw identities that pin each other."""
    private = [Ed25519PrivateKey.generate() for _ in range(count)]
    roster = [key.public_key().public_bytes_raw() for key in private]
    return [Identity(key, roster, rank, run) for rank, key in enumerate(private, 1)]


def pinned(given: list[Identity]) -> list[PassiveParty]:
    """Build parties with these identities."""
    cfg = replace(TINY, parties=len(given) + 1)
    return [build_passive(cfg, rank, identity=each) for rank, each in enumerate(given, 1)]


def test_every_other_party_accepts_a_signed_key_and_no_other_statement() -> None:
    key = bytes(range(32))
    parties = identities(3)
    signature = parties[1].sign(key)
    for party in parties:
        party.check(2, key, signature)
    wrong: list[tuple[Identity, int, bytes, bytes]] = [
        (parties[0], 2, key[::-1], signature),
        (parties[0], 3, key, signature),
        (parties[0], 2, key, bytes(64)),
        (parties[0], 2, key, signature[:63]),
        (parties[0], 2, key, parties[0].sign(key)),
    ]
    for party, rank, relayed, signed in wrong:
        with pytest.raises(BlindingError, match=f"party-{rank} is not signed"):
            party.check(rank, relayed, signed)


@pytest.mark.parametrize("change", ["run", "roster"])
def test_a_key_of_another_run_or_roster_does_not_pass(change: str) -> None:
    key, parties = bytes(32), identities(3)
    one, other = parties[0], parties[1]
    if change == "run":
        stranger = Identity(other.private, other.roster, 2, "18")
    else:
        roster = [*other.roster[:2], identities(1)[0].roster[0]]
        stranger = Identity(other.private, roster, 2, RUN)
    with pytest.raises(BlindingError):
        one.check(2, key, stranger.sign(key))


def test_an_identity_must_be_the_pinned_one_of_its_place() -> None:
    parties = identities(3)
    for rank in (2, 4, 0):
        with pytest.raises(IdentityError, match="this very party"):
            Identity(parties[0].private, parties[0].roster, rank, RUN)


# Runs -------------------------------------------------------------------------------------------


def swapped(keys: Array, row: bytes) -> Array:
    """Put something else in the place of party-2's key."""
    return np.stack([keys[0], np.frombuffer(row, np.uint8), keys[2]])


@pytest.mark.parametrize("signature", ["none", "the owner's for its own key", "the swapper's own"])
def test_an_active_party_that_swaps_keys_is_caught(signature: str) -> None:
    given = identities(3)
    parties = pinned(given)
    keys = public_keys(parties)
    false = X25519PrivateKey.generate().public_key().public_bytes_raw()
    row = (
        false
        + {
            "none": bytes(64),
            "the owner's for its own key": bytes(keys[1][32:]),
            "the swapper's own": identities(3)[1].sign(false),
        }[signature]
    )
    error, message = refusal(parties[0], 2, "agree", swapped(keys, row), SALT)
    assert error == "BlindingError"
    assert "party-2 is not signed by the identity that is pinned" in message
    assert refusal(parties[0], 3, "embed_only", ROWS_I)[0] == "BlindingError"  # nothing was kept
    assert send(parties[2], 2, "agree", keys, SALT) == ([], {})  # the true keys pass


def test_without_pins_nobody_notices() -> None:
    """As SECURITY.md states."""
    parties = [build_passive(TINY, index) for index in range(1, 4)]
    keys = public_keys(parties)
    false = X25519PrivateKey.generate().public_key().public_bytes_raw()
    assert send(parties[0], 2, "agree", swapped(keys, false + bytes(64)), SALT) == ([], {})


def test_keys_of_an_earlier_agreement_are_refused_only_by_the_run() -> None:
    """Another run's keys: same parties, same identities."""
    given = identities(3)
    old = pinned([Identity(each.private, each.roster, k, "16") for k, each in enumerate(given, 1)])
    parties = pinned(given)
    keys, earlier = public_keys(parties), public_keys(old)
    error, message = refusal(parties[0], 2, "agree", swapped(keys, bytes(earlier[1])), SALT)
    assert error == "BlindingError"
    assert "party-2" in message


def test_an_honest_run_with_pins_comes_to_the_same_weights() -> None:
    cfg = replace(TINY, parties=4)
    ends = []
    for given in (identities(3), [None] * 3):
        active = build_active(cfg)
        parties = [build_passive(cfg, k, identity=each) for k, each in enumerate(given, 1)]
        run_local(active, parties)
        ends.append([active.net.state_dict(), *(party.net.state_dict() for party in parties)])
    for ours, theirs in zip(*ends, strict=True):
        assert all(torch.equal(ours[name], theirs[name]) for name in ours)


def test_pinned_parties_agree_as_others_do() -> None:
    parties = pinned(identities(3))
    agree(parties)
    assert answer(parties[0], 3, "embed_only", ROWS_I).dtype == np.uint32
    assert len(masker_of(parties[0]).state_dict()["keys"]) == 2
