"""Pairwise masking in whole runs: keys, effects and messages."""

import base64
import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from torch import Tensor

from tests.helpers.blinding import (
    ROWS_I,
    SALT,
    TINY,
    added,
    agreed,
    answer,
    embeddings,
    masker_of,
    pair_keys_of,
    passive,
    public_keys,
    refusal,
    send,
)
from tests.helpers.outcomes.attempts import Attempt
from vfl_flower.common.errors import Interrupted
from vfl_flower.common.state import write_state
from vfl_flower.crypto.fixed_point import decode_ring
from vfl_flower.privacy.guarantees import CLEAR, protections
from vfl_flower.privacy.secure_aggregation import agree_keys


class Drawing:
    """Replaces the class of private keys, and records them."""

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
    monkeypatch.setattr("vfl_flower.privacy.secure_aggregation.X25519PrivateKey", drawing)
    return drawing.drawn


def test_a_private_key_serves_one_agreement_and_is_forgotten(private_keys: set[bytes]) -> None:
    parties = passive(2)
    keys = public_keys(parties)
    for party in parties:
        assert send(party, 2, "agree", keys, SALT) == ([], {})
        assert refusal(party, 3, "agree", keys, SALT)[0] == "BlindingError"
        assert masker_of(party).state_dict()["secret"] not in private_keys
    assert len(private_keys) == 2


def holding(folder: Path, secrets: Iterable[bytes]) -> list[str]:
    """Return the files with a secret: raw, hexadecimal or base64."""
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
    folder = tmp_path / "run"
    first = Attempt(cfg, folder)
    with pytest.raises(Interrupted):
        first.run(stop_at=2)
    second = Attempt(cfg, folder)
    second.run()
    before = {key for party in first.passive for key in pair_keys_of(party).values()}
    after = {key for party in second.passive for key in pair_keys_of(party).values()}
    assert len(before | after) == 2 * 3  # one for each pair, in each attempt
    assert len(private_keys) == 2 * 3  # one for each party, in each attempt

    secrets = before | after | private_keys
    names = {path.name for path in folder.rglob("*")}
    assert {"checkpoint-000000003.safetensors", "weights.safetensors", "result.json"} <= names
    assert holding(folder, secrets) == []
    write_state(folder / "party-1" / "leak", first.passive[0].memory())  # the search can find them
    assert holding(folder, secrets) == ["party-1/leak"]


def test_weights_do_not_depend_on_the_keys_drawn() -> None:
    cfg = replace(TINY, epochs=2, batch_size=647, schedule="cosine")
    one, other = Attempt(cfg, None), Attempt(cfg, None)
    for each in (one, other):
        each.run()
    keys = [set(pair_keys_of(each.passive[0]).values()) for each in (one, other)]
    assert not keys[0] & keys[1]
    for a, b in zip(one.passive, other.passive, strict=True):
        for p, q in zip(a.net.parameters(), b.net.parameters(), strict=True):
            assert torch.equal(p, q)


def test_without_blinding_floats_travel_and_nothing_claims_to_protect() -> None:
    cfg = replace(TINY, parties=3, blinding="none")
    protected, unprotected = protections(cfg)
    assert protected == []
    assert CLEAR in unprotected
    assert list(agree_keys(cfg)) == []
    for party in passive(2, blinding="none"):
        sent = answer(party, 1, "embed_only", ROWS_I)
        assert sent.dtype == np.float32
        assert sent.tolist() == embeddings(party, ROWS_I).tolist()


def test_with_blinding_ring_words_travel_and_the_result_says_by_what() -> None:
    (claim,), unprotected = protections(TINY)
    assert CLEAR not in unprotected
    for word in ("X25519", "HKDF-SHA256", "ChaCha20", "2^32"):
        assert word in claim
    parties = agreed(2)
    words = [answer(party, 3, "embed_only", ROWS_I) for party in parties]
    assert {w.dtype for w in words} == {np.dtype(np.uint32)}
    total = sum(embeddings(party, ROWS_I).double() for party in parties)
    assert isinstance(total, Tensor)
    assert (decode_ring(added(words)).double() - total).abs().max().item() <= 2 * 2**-17


def test_flowers_own_masks_are_used_nowhere() -> None:
    """Its generator folds the key to 32 bits and seeds MT19937."""
    root = Path(__file__).resolve().parents[2]
    packages = ("vfl_flower", "strategies", "clients")
    sources = [path for package in packages for path in (root / package).rglob("*.py")]
    assert len(sources) > 20
    for path in sources:
        text = path.read_text()
        assert not re.search(r"flwr[\w.]*\.secure_aggregation", text), path
        assert "pseudo_rand_gen" not in text, path
