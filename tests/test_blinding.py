"""Blinding: what the active party is sent is noise, and its sum is exact."""

import base64
import hmac
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
import torch
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20
from flwr.common import Scalar
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from torch import Tensor, nn

from clients.easter import EasterClient
from vfl_flower.active import ActiveParty
from vfl_flower.blinding import PROTOCOL, agree_keys, mask, pair_key, protections
from vfl_flower.build import build_active, build_passive
from vfl_flower.codec import Array, decode
from vfl_flower.conduct import conduct
from vfl_flower.config import RunConfig
from vfl_flower.errors import ConfigError, Interrupted
from vfl_flower.exchange import Ask, Replies
from vfl_flower.local import run_local
from vfl_flower.observer import Observer
from vfl_flower.passive import PassiveParty, Received
from vfl_flower.ring import Words, decode_ring, encode_ring
from vfl_flower.runs import RunFolder
from vfl_flower.state import write_state

UNHURRIED = settings(deadline=None, max_examples=50)  # the machine may be busy
TINY = RunConfig(models="mlp", embedding_dim=8, epochs=1, batch_size=1294, bounds="off")  # one step
SALT = np.arange(16, dtype=np.uint8)
ROWS_I, ROWS_J = np.arange(8, dtype=np.int32), np.arange(8, 16, dtype=np.int32)
CHI_SQUARE_LIMIT = 450.0  # 255 degrees of freedom: exceeded by chance once in 10**12

# RFC 7748, section 6.1
ALICE = bytes.fromhex("77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a")
ALICE_PUBLIC = bytes.fromhex("8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a")
BOB = bytes.fromhex("5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb")
BOB_PUBLIC = bytes.fromhex("de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f")
SHARED = bytes.fromhex("4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742")

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


def hkdf(secret: bytes, salt: bytes, info: bytes) -> bytes:
    """HKDF-SHA256 of 32 bytes by RFC 5869, from the standard library."""
    extracted = hmac.digest(salt, secret, "sha256")
    return hmac.digest(extracted, info + b"\x01", "sha256")


def passive(count: int, **knobs: Scalar) -> list[PassiveParty]:
    """Build live parties that have not been asked anything yet."""
    cfg = RunConfig.from_mapping({**TINY.to_mapping(), "parties": count + 1, **knobs})
    return [build_passive(cfg, index) for index in range(count)]


def send(
    party: PassiveParty, exchange: int, phase: str, *arrays: Array
) -> tuple[list[Array], dict[str, Scalar]]:
    """Send one request as the wire has it; return the reply and its metrics."""
    config: dict[str, Scalar] = {
        "exchange": exchange,
        "phases": phase,
        "arrays": str(len(arrays)),
    }
    reply, _, metrics = party.fit(list(arrays), config)
    return reply, metrics


def answer(party: PassiveParty, exchange: int, phase: str, *arrays: Array) -> Array:
    """Return the one array of a reply that must succeed."""
    reply, metrics = send(party, exchange, phase, *arrays)
    assert metrics == {}
    assert len(reply) == 1
    return reply[0]


def refusal(party: PassiveParty, exchange: int, phase: str, *arrays: Array) -> tuple[str, str]:
    """Return the class and the text of an error reply, which must carry nothing else."""
    reply, metrics = send(party, exchange, phase, *arrays)
    assert reply == []
    return str(metrics["error"]), str(metrics["message"])


def public_keys(parties: Sequence[PassiveParty], exchange: int = 1) -> Array:
    return np.stack([answer(party, exchange, "public_key") for party in parties])


def agreed(count: int, **knobs: Scalar) -> list[PassiveParty]:
    """Build parties that share pair keys; exchange 3 is the next."""
    parties = passive(count, **knobs)
    keys = public_keys(parties)
    for party in parties:
        assert send(party, 2, "agree", keys, SALT) == ([], {})
    return parties


@lru_cache
def shared_agreed(count: int) -> list[PassiveParty]:
    """Return parties whose `blind` is called directly, without using up a counter."""
    return agreed(count)


def client(party: PassiveParty) -> EasterClient:
    assert isinstance(party, EasterClient)
    return party


def pair_keys_of(party: PassiveParty) -> dict[int, bytes]:
    keys: dict[int, bytes] = client(party).blinder.state_dict()["keys"]
    assert [len(key) for key in keys.values()] == [32] * (party.cfg.parties - 2)
    return keys


class Drawing:
    """Stands in for the class of private keys, and keeps what it draws."""

    from_private_bytes = staticmethod(X25519PrivateKey.from_private_bytes)

    def __init__(self) -> None:
        self.drawn: set[bytes] = set()

    def generate(self) -> X25519PrivateKey:
        key = X25519PrivateKey.generate()
        self.drawn.add(key.private_bytes_raw())
        return key


@pytest.fixture
def private_keys(monkeypatch: pytest.MonkeyPatch) -> set[bytes]:
    """Return the private keys that are drawn while a test runs."""
    drawing = Drawing()
    monkeypatch.setattr("vfl_flower.blinding.X25519PrivateKey", drawing)
    return drawing.drawn


def blinded(
    parties: Sequence[PassiveParty], received: Received, xs: Sequence[Tensor]
) -> list[Words]:
    words = []
    for party, x in zip(parties, xs, strict=True):
        party.received = received
        words.append(client(party).blinder.blind(x))
    return words


def added(words: Sequence[Words]) -> Words:
    total: Words = np.add.reduce(words, dtype=np.uint32)
    return total


def embeddings(party: PassiveParty, rows: Array) -> Tensor:
    party.net.eval()
    with torch.no_grad():
        return party.embed_rows(rows)


def chi_square(data: bytes) -> float:
    """Return the statistic of 256 equally likely byte values."""
    counts = np.bincount(np.frombuffer(data, np.uint8), minlength=256)
    expected = len(data) / 256
    return float(((counts - expected) ** 2).sum() / expected)


# Key agreement ------------------------------------------------------------------------------------


def test_pair_key_is_hkdf_of_the_x25519_secret_of_rfc_7748() -> None:
    """Both the curve and the derivation are checked: HKDF is computed by hand."""
    info = PROTOCOL + (1).to_bytes(4, "little") + (4).to_bytes(4, "little")
    expected = hkdf(SHARED, bytes(SALT), info)
    alice, bob = map(X25519PrivateKey.from_private_bytes, (ALICE, BOB))
    assert alice.public_key().public_bytes_raw() == ALICE_PUBLIC
    assert bob.public_key().public_bytes_raw() == BOB_PUBLIC
    assert pair_key(alice, BOB_PUBLIC, bytes(SALT), 1, 4) == expected
    assert pair_key(bob, ALICE_PUBLIC, bytes(SALT), 4, 1) == expected


@UNHURRIED
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
    assert [sorted(held) for held in keys] == [[1, 2, 3], [0, 2, 3], [0, 1, 3], [0, 1, 2]]
    assert all(keys[i][j] == keys[j][i] for i in range(4) for j in range(4) if i != j)
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
    assert refusal(parties[0], 4, "embed", ROWS_I)[0] == "BlindingError"


def test_the_active_party_draws_a_new_salt_at_every_start() -> None:
    salts = []
    for _ in range(2):
        agreeing = agree_keys(TINY)
        assert next(agreeing).phase == "public_key"
        request = agreeing.send(Replies([[np.full(32, k, np.uint8)] for k in range(3)]))
        assert isinstance(request, Ask)
        keys, salt = map(decode, request.tensors_for(1))
        assert (request.phase, keys.shape) == ("agree", (3, 32))
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
        lambda keys: keys[:, :31],
        lambda keys: np.stack([keys[0], np.zeros(32, np.uint8), keys[2]]),
        lambda keys: np.stack([keys[0], np.eye(1, 32, dtype=np.uint8)[0], keys[2]]),
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
    assert refusal(parties[0], 2, "agree", keys, SALT)[0] == "BlindingError"
    assert refusal(parties[0], 3, "embed", ROWS_I)[0] == "BlindingError"  # and nothing was kept


def test_a_salt_of_another_length_is_refused() -> None:
    parties = passive(2)
    keys = public_keys(parties)
    assert refusal(parties[0], 2, "agree", keys, SALT[:15])[0] == "BlindingError"


def test_keys_are_not_agreed_before_a_party_was_asked_for_its_own() -> None:
    parties = passive(2)
    keys = np.arange(64, dtype=np.uint8).reshape(2, 32)
    assert refusal(parties[0], 1, "agree", keys, SALT)[0] == "BlindingError"


def test_a_private_key_serves_one_agreement_and_is_forgotten(private_keys: set[bytes]) -> None:
    parties = passive(2)
    keys = public_keys(parties)
    for party in parties:
        assert send(party, 2, "agree", keys, SALT) == ([], {})
        assert refusal(party, 3, "agree", keys, SALT)[0] == "BlindingError"
        assert client(party).blinder.state_dict()["secret"] not in private_keys
    assert len(private_keys) == 2


@pytest.mark.parametrize("phase", ["embed", "embed_only"])
def test_nothing_is_blinded_before_keys_are_agreed(phase: str) -> None:
    (party, _) = passive(2)
    assert refusal(party, 1, phase, ROWS_I)[0] == "BlindingError"
    answer(party, 2, "public_key")
    assert refusal(party, 3, phase, ROWS_I)[0] == "BlindingError"


def test_a_lone_passive_party_is_refused_by_the_configuration() -> None:
    with pytest.raises(ConfigError, match="hide behind"):
        RunConfig(parties=2, blinding="pairwise")


def test_a_lone_passive_party_refuses_by_itself() -> None:
    """An active party with another version of the configuration does not talk it into it."""
    (party,) = passive(1, blinding="none")
    party.cfg = replace(party.cfg)
    object.__setattr__(party.cfg, "blinding", "pairwise")
    own = answer(party, 1, "public_key")
    assert refusal(party, 2, "agree", own[None], SALT)[0] == "BlindingError"
    assert refusal(party, 3, "embed", ROWS_I)[0] == "BlindingError"


# Masks --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("key", "counter", "stream"), KEYSTREAM)
def test_masks_are_the_keystream_of_rfc_8439(
    key: bytes, counter: int, stream: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Words are little-endian, the nonce is zero and the block counter starts at zero."""

    class Fixed:
        def __init__(self, *_: object) -> None: ...

        def derive(self, _: bytes) -> bytes:
            return key

    monkeypatch.setattr("vfl_flower.blinding.HKDFExpand", Fixed)
    words = mask(b"", 1, "embed", bytes(32), 32)
    block = words[16 * counter : 16 * (counter + 1)]
    assert b"".join(int(word).to_bytes(4, "little") for word in block).hex() == stream


def test_mask_keys_are_derived_by_hkdf(monkeypatch: pytest.MonkeyPatch) -> None:
    """The key of ChaCha20 is HKDF-Expand of the pair key, as computed by hand."""
    used: list[bytes] = []

    def spy(key: bytes, nonce: bytes) -> ChaCha20:
        used.append(key)
        assert nonce == bytes(16)
        return ChaCha20(key, nonce)

    monkeypatch.setattr("vfl_flower.blinding.ChaCha20", spy)
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


@UNHURRIED
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
    """A chi-square test of each byte of the words, of an embedding that is far from uniform."""
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


def test_a_value_that_could_overflow_is_refused_without_telling_it() -> None:
    (party, other) = agreed(2)
    head = client(party).net.embed[-1]  # type: ignore[index]
    assert isinstance(head, nn.Linear)
    with torch.no_grad():
        head.weight.zero_()
        head.bias.fill_(16384 + 7654.5)
    error, message = refusal(party, 3, "embed", ROWS_I)
    assert error == "BlindingError"
    assert "16384" in message
    assert "24038" not in message
    assert answer(other, 3, "embed", ROWS_I).dtype == np.uint32


# What an active party may try ---------------------------------------------------------------------


def difference_attack(
    parties: list[PassiveParty], first: tuple[str, Array], others: tuple[str, Array]
) -> float:
    """Ask all for rows i, then party 1 for something else; return the share of hits.

    The active party hopes that masks cancel in both sums, so that their difference is that of two
    embeddings of party 1.
    """
    sums = [
        added([answer(p, 3, "embed_only", ROWS_I) for p in parties]),
        added(
            [
                answer(parties[0], 4, first[0], first[1]),
                *(answer(p, 4, others[0], others[1]) for p in parties[1:]),
            ]
        ),
    ]
    count = len(parties)
    before, after = embeddings(parties[0], ROWS_I), embeddings(parties[0], first[1])
    hoped = encode_ring(after, count) - encode_ring(before, count)
    return float((sums[1] - sums[0] == hoped).mean())


@pytest.mark.parametrize("count", [2, 3])
def test_masks_cancel_between_parties_that_were_asked_alike(count: int) -> None:
    """The attack's arithmetic is right: it hits where everybody is asked for the same rows."""
    parties = agreed(count)
    for party in parties[1:]:  # nothing of theirs changes, as the attack needs it
        party.x = party.x.clone()  # the data set itself is shared
        party.x[ROWS_J] = party.x[ROWS_I]
    asked = ("embed_only", ROWS_J)
    assert difference_attack(parties, asked, asked) == 1.0


@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize(
    ("first", "others"),
    [
        (("embed_only", ROWS_J), ("embed_only", ROWS_I)),
        (("embed_only", ROWS_I[::-1].copy()), ("embed_only", ROWS_I)),
        (("embed_only", ROWS_I.astype(np.int64)), ("embed_only", ROWS_I)),
        (("embed", ROWS_I), ("embed_only", ROWS_I)),
    ],
    ids=["other rows", "other order", "other dtype", "other phase"],
)
def test_parties_that_were_asked_different_things_unmask_to_noise(
    first: tuple[str, Array], others: tuple[str, Array], count: int
) -> None:
    assert difference_attack(agreed(count), first, others) < 0.05


def test_a_counter_that_does_not_grow_is_refused() -> None:
    (party, _) = agreed(2)
    answer(party, 7, "embed_only", ROWS_I)
    for old in (7, 6, 1, 0, -1):
        error, message = refusal(party, old, "embed_only", ROWS_J)
        assert error == "ProtocolError"
        assert "exchange" in message
    answer(party, 8, "embed_only", ROWS_J)


@pytest.mark.parametrize("phase", ["embed", "embed_only"])
def test_a_repeated_request_gets_the_cached_reply(phase: str) -> None:
    (party, _) = agreed(2)
    passes: list[str] = []
    embed = client(party).net.embed
    assert isinstance(embed, nn.Module)
    embed.register_forward_hook(lambda *_: passes.append(phase))
    first = answer(party, 3, phase, ROWS_I)
    again = answer(party, 3, phase, ROWS_I.copy())
    assert first.tobytes() == again.tobytes()
    assert passes == [phase]
    later = answer(party, 4, phase, ROWS_I)
    assert (first != later).mean() > 0.99  # another exchange, another mask
    assert passes == [phase] * 2


def test_one_exchange_has_one_request() -> None:
    """A second question under a used counter would be masked by the same key."""
    (party, _) = agreed(2)
    answer(party, 3, "embed_only", ROWS_I)
    for phase, rows in (
        ("embed_only", ROWS_J),
        ("embed", ROWS_I),
        ("embed_only", ROWS_I.reshape(2, 4)),
    ):
        assert refusal(party, 3, phase, rows)[0] == "ProtocolError"


def test_a_counter_is_used_up_by_a_request_that_fails() -> None:
    (party, _) = agreed(2)
    assert refusal(party, 3, "embed_only", np.array([10**6], np.int32))[0] == "IndexError"
    assert refusal(party, 3, "embed_only", ROWS_I)[0] == "ProtocolError"
    answer(party, 4, "embed_only", ROWS_I)


# Whole runs ---------------------------------------------------------------------------------------


class StopAfter(Observer):
    """Stops a run after some steps, as a signal would."""

    def __init__(self, active: ActiveParty, steps: int) -> None:
        self.active, self.steps = active, steps

    def on_step(self, step: int, losses: list[float]) -> None:
        self.active.stop = step == self.steps


def sitting(
    cfg: RunConfig, folder: RunFolder | None, stop_after: int = 0
) -> tuple[list[PassiveParty], bool]:
    """Run, or go on with, a run in this process; tell whether it was stopped."""
    path = folder.path if folder else None
    active = build_active(cfg, path)
    parties = [build_passive(cfg, index, path) for index in range(cfg.parties - 1)]
    observer = StopAfter(active, stop_after)
    try:
        conduct(active, "local", lambda a: run_local(a, parties), folder, observer)
    except Interrupted:
        return parties, True
    return parties, False


def holding(folder: Path, secrets: Iterable[bytes]) -> list[str]:
    """Return the files that hold a secret: raw, in hexadecimal or in base64."""
    forms = [
        form
        for secret in secrets
        for form in (secret, secret.hex().encode(), base64.b64encode(secret)[:-2])
    ]
    files = [path for path in folder.rglob("*") if path.is_file()]
    found = []
    for path in files:
        content = path.read_bytes()
        if any(form in content or form in content.lower() for form in forms):
            found.append(str(path.relative_to(folder)))
    return found


def test_no_key_is_on_disk_and_a_resumed_run_has_fresh_ones(
    tmp_path: Path, private_keys: set[bytes]
) -> None:
    cfg = replace(TINY, epochs=3)
    folder = RunFolder.create(tmp_path / "run", cfg)
    first, stopped = sitting(cfg, folder, stop_after=2)
    assert stopped
    second, stopped = sitting(cfg, folder)
    assert not stopped
    before = {key for party in first for key in pair_keys_of(party).values()}
    after = {key for party in second for key in pair_keys_of(party).values()}
    assert len(before | after) == 2 * 3  # one for each pair, in each sitting
    assert len(private_keys) == 2 * 3  # one for each party, in each sitting

    secrets = before | after | private_keys
    names = {path.name for path in folder.path.rglob("*")}
    assert {"checkpoint-000000003.safetensors", "model.safetensors", "result.json"} <= names
    assert holding(folder.path, secrets) == []
    write_state(folder.path / "party-1" / "leak", first[0].memory())  # the search can find them
    assert holding(folder.path, secrets) == ["party-1/leak"]


def test_weights_do_not_depend_on_the_keys_drawn() -> None:
    cfg = replace(TINY, epochs=2, batch_size=647, schedule="cosine")
    (one, _), (other, _) = sitting(cfg, None), sitting(cfg, None)
    assert not set(pair_keys_of(one[0]).values()) & set(pair_keys_of(other[0]).values())
    for a, b in zip(one, other, strict=True):
        for p, q in zip(a.net.parameters(), b.net.parameters(), strict=True):
            assert torch.equal(p, q)


def test_without_blinding_floats_travel_and_nothing_claims_to_protect() -> None:
    cfg = replace(TINY, parties=3, blinding="none")
    assert protections(cfg) == []
    assert list(agree_keys(cfg)) == []
    for party in passive(2, blinding="none"):
        sent = answer(party, 1, "embed_only", ROWS_I)
        assert sent.dtype == np.float32
        assert sent.tolist() == embeddings(party, ROWS_I).tolist()


def test_with_blinding_ring_words_travel_and_the_result_says_by_what() -> None:
    (claim,) = protections(TINY)
    for word in ("X25519", "HKDF-SHA256", "ChaCha20", "2^32"):
        assert word in claim
    parties = agreed(2)
    words = [answer(party, 3, "embed_only", ROWS_I) for party in parties]
    assert {w.dtype for w in words} == {np.dtype(np.uint32)}
    total = sum(embeddings(party, ROWS_I).double() for party in parties)
    assert isinstance(total, Tensor)
    assert (decode_ring(added(words)).double() - total).abs().max().item() <= 2 * 2**-17


def test_flowers_own_masks_are_used_nowhere() -> None:
    """Its generator folds the key to 32 bits and seeds a Mersenne twister."""
    root = Path(__file__).resolve().parents[1]
    packages = ("vfl_flower", "strategies", "clients")
    sources = [path for package in packages for path in (root / package).rglob("*.py")]
    assert len(sources) > 20
    for path in sources:
        text = path.read_text()
        assert "secure_aggregation" not in text, path
        assert "pseudo_rand_gen" not in text, path
