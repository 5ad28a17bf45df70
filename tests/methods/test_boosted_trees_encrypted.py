"""Boosted trees of encrypted gradients equal those of gradients in the clear."""

import csv
import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from clients.boosted_trees import BoostedTreesClient
from strategies.boosted_trees import BoostedTrees
from tests.helpers.contract import Tap
from tests.helpers.joint.small_keys import KEY_BITS, P, Q, usual_keys
from tests.helpers.outcomes.attempts import Attempt
from tests.methods.test_boosted_trees import SMALL, Holed, pooled, splits_of, trained
from tests.methods.test_boosted_trees_refuses import refused
from vfl_flower.algorithms.boosting.channels import slots
from vfl_flower.algorithms.boosting.channels.encrypted_growth import EncryptedGrowth
from vfl_flower.algorithms.boosting.importance import IMPORTANCE
from vfl_flower.analysis.audit.protection import protections_of, unprotected
from vfl_flower.common.codec import from_parameters
from vfl_flower.common.errors import ConfigError, ExtraError, Interrupted, PartyError
from vfl_flower.config.run_config import RunConfig
from vfl_flower.config.validation.extras import check_extras
from vfl_flower.crypto.paillier import PrivateKey
from vfl_flower.privacy.guarantees import protections
from vfl_flower.protocol.uploads import Upload
from vfl_flower.transport.endpoint import Endpoint
from vfl_flower.transport.local import serve
from vfl_flower.workflows.build_parties import build_active, build_passive

ENCRYPTED: dict[str, Any] = SMALL | {"gradient_encryption": "paillier", "train_rows": 70}
SHORT = RunConfig(**(ENCRYPTED | {"epochs": 2, "tree_depth": 2, "bins": 8}))


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"dataset": "breast-cancer"},
        {"row_share": 0.6, "column_share": 0.5, "leaf_l2": 0.0, "least_child": 3.0},
        {"active_columns": "none"},
        {"tree_leaves": 5, "bins": 6},
    ],
)
def test_equal_to_trees_in_the_clear(options: dict[str, Any]) -> None:
    cfg = RunConfig(**(ENCRYPTED | options))
    sealed, clear = trained(cfg), trained(cfg.changed(gradient_encryption="none"))
    assert splits_of(*sealed) == splits_of(*clear)
    assert torch.equal(sealed[0].net.value, clear[0].net.value)
    assert torch.equal(sealed[0].net.gain, clear[0].net.gain)
    assert len({rank for rank, *_ in splits_of(*sealed).values()}) > 1


@pytest.mark.slow
def test_equal_to_pooled_trees_where_values_are_missing() -> None:
    cfg = RunConfig(**ENCRYPTED)
    active, passive = trained(cfg, Holed(cfg))
    joint = pooled(active, passive)
    assert splits_of(active, passive) == joint.splits
    np.testing.assert_allclose(active.scores.numpy(), joint.scores, rtol=1e-6, atol=1e-9)


def test_a_user_has_keys_of_2048_bits() -> None:
    cfg = RunConfig(**(SMALL | {"gradient_encryption": "paillier", "train_rows": 30}))
    cfg = cfg.changed(dataset="breast-cancer", epochs=1, tree_depth=1, bins=4)
    with usual_keys():
        assert (KEY_BITS, slots.count(), slots.sizes()) == (2048, 19, {"X": 256, "Y": 512})
        taps, active, passive = tapped(cfg)
    assert splits_of(active, passive) == splits_of(*trained(cfg))  # type: ignore[arg-type]
    [(_, (_, key, sealed))] = [each for each in taps[0].requests() if each[0] == "boost_encrypted"]
    assert key.shape == (256,)
    assert key[0] >= 128
    assert sealed.shape == (30, 1, 512)


def tapped(cfg: RunConfig) -> tuple[list[Tap], BoostedTrees, list[BoostedTreesClient]]:
    """Train, and keep all messages."""
    active = build_active(cfg)
    passive = [build_passive(cfg, k) for k in range(1, cfg.parties)]
    taps = [Tap(Endpoint(party)) for party in passive]
    serve(active, taps)
    assert isinstance(active, BoostedTrees)
    return taps, active, passive  # type: ignore[return-value]


def test_equal_rows_and_equal_sums_have_other_ciphertexts() -> None:
    """Both sides draw fresh randomness."""
    taps, _, _ = tapped(SHORT)
    down = [a for name, a in taps[0].requests() if name == "boost_encrypted"]
    sealed = np.concatenate([a[2].reshape(-1, a[2].shape[-1]) for a in down])
    assert len(np.unique(sealed, axis=0)) == len(sealed)
    up = [
        a.reshape(-1, a.shape[-1])
        for _, res in taps[0].sent
        for a in from_parameters(res.parameters)
        if a.ndim == 3
    ]
    replies = np.concatenate(up)
    assert len(np.unique(replies, axis=0)) == len(replies)


def test_replies_do_not_have_the_randomness_of_their_rows() -> None:
    """The product of its rows' residues would tell a bin's rows."""
    _, _, [party, _] = tapped(SHORT)
    growth, key = party.growth, PrivateKey(P, Q)
    assert isinstance(growth, EncryptedGrowth)
    [index, *_], count = growth.layer.smaller().tolist(), slots.count()
    left = growth.left(index)
    bare = [
        key.public.packed(left[at : at + count], slots.WIDTH) for at in range(0, len(left), count)
    ]
    sent = key.public.ciphertexts(growth.sums()[0].tobytes())
    assert [*map(key.decrypt, bare)] == [*map(key.decrypt, sent)]
    assert {*map(int, bare)}.isdisjoint(map(int, sent))


@pytest.mark.parametrize("sign", [-1, 1])
def test_the_largest_sums_stay_in_their_slots(sign: int) -> None:
    key, largest = PrivateKey(P, Q), 2**52
    pairs = [(sign * largest, largest), (sign * largest, 0)][: slots.count()]
    sealed = [key.encrypt(slots.joined(*each)) for each in pairs]
    message = key.decrypt(key.public.packed(sealed, slots.WIDTH))
    assert slots.divided(message) == pairs
    assert slots.divided(message + (1 << slots.count() * slots.WIDTH)) is None


def test_a_run_is_interrupted_and_goes_on_with_another_key(tmp_path: Path) -> None:
    cfg = SHORT.changed(epochs=3)
    with pytest.raises(Interrupted):
        Attempt(cfg, tmp_path / "run").run(stop_at=1)
    attempt = Attempt(cfg, tmp_path / "run")
    attempt.run()
    active, passive = trained(cfg)
    assert isinstance(attempt.active, BoostedTrees)
    assert torch.equal(attempt.active.net.value, active.net.value)
    lines = csv.DictReader(io.StringIO((tmp_path / f"run/party-1/model/{IMPORTANCE}").read_text()))
    found = [(int(each["splits"]), each["gain"]) for each in lines]
    assert sum(count for count, _ in found) == sum(
        each[0] == 1 for each in splits_of(active, passive).values()
    )
    assert {gain for _, gain in found} == {""}
    assert [count for count, _ in found] == sorted((count for count, _ in found), reverse=True)


class Junk(BoostedTreesClient):
    """Sends other bytes than ciphertexts of sums."""

    octets = b"\0"

    def sums(self) -> Upload:
        made = super().sums()
        values = np.frombuffer(self.octets.rjust(made.shape[2], b"\0"), np.uint8)
        return replace(made, values=torch.from_numpy(np.tile(values, (*made.shape[:2], 1))))


class Beside(Junk):
    """Sends a message with something in no slot."""

    octets = int(PrivateKey(P, Q).encrypt(1 << 250)).to_bytes(64)


class Negative(Junk):
    """Sends sums that no rows come to."""

    octets = int(PrivateKey(P, Q).encrypt(-5)).to_bytes(64)


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        (Junk, "party-2: a number came that is no ciphertext"),
        (Beside, "histogram of party-2 does not add up: a message has something beside its sums"),
        (Negative, "histogram of party-2 does not add up: it has a sum that no rows"),
    ],
)
def test_a_party_that_sends_no_sums_is_named(kind: type[BoostedTreesClient], told: str) -> None:
    active = build_active(SHORT)
    passive = [build_passive(SHORT, k) for k in (1, 2)]
    passive[1].__class__ = kind
    with pytest.raises(PartyError, match=told):
        serve(active, [Endpoint(party) for party in passive])


def test_protections_say_what_is_hidden_and_what_is_not() -> None:
    protected, open_ends = protections(SHORT)
    assert any("modulus of 2048 bits" in each for each in protected)
    assert any("can guess labels from that, as splits part classes" in each for each in open_ends)
    protected, open_ends = protections(SHORT.changed(label_privacy="laplace"))
    assert (
        sum("labels of training rows noised" in each or "2048" in each for each in protected) == 2
    )
    assert not any("guess labels" in each for each in open_ends)


def test_cards_compare_with_the_run_in_the_clear() -> None:
    cfg = SHORT.changed(gradient_epsilon=2.0)
    assert protections_of(cfg) == ["noised gradients (epsilon 2)", "encrypted gradients"]
    assert not protections_of(unprotected(cfg))


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vfl_flower.common.optional.extras.find_spec", lambda package: None)
    with pytest.raises(ExtraError, match=r"gradient-encryption = paillier needs .*'paillier'"):
        check_extras(SHORT, 0)
    check_extras(SHORT.changed(gradient_encryption="none"), 0)


def test_another_scheme_is_refused() -> None:
    with pytest.raises(ConfigError, match="gradient-encryption"):
        SHORT.changed(gradient_encryption="rsa")


def first_request() -> list[Any]:
    """Return name and arrays of an honest run's first request."""
    taps, _, _ = tapped(SHORT)
    name, arrays = next(each for each in taps[0].requests() if each[0] == "boost_encrypted")
    return [name, *map(np.array, arrays)]


@pytest.mark.parametrize(
    ("at", "place", "told"),
    [
        (1, -1, "public key came that is not an odd number of 256 bits"),
        (1, 0, "public key came that is not an odd number of 256 bits"),
        (2, (3, 1), "no ciphertext under the run's key"),
    ],
)
def test_a_party_refuses_what_is_no_key_or_no_ciphertext(at: int, place: Any, told: str) -> None:
    name, *arrays = first_request()
    arrays[at][place] = 0
    party = build_passive(SHORT, 1)
    assert isinstance(party, BoostedTreesClient)
    refused(party, told, name, *arrays)


def test_phases_of_the_other_kind_are_refused() -> None:
    name, rows, *arrays = first_request()
    clear = build_passive(SHORT.changed(gradient_encryption="none"), 1)
    assert isinstance(clear, BoostedTreesClient)
    refused(clear, "this run does not encrypt them", name, rows, *arrays)
    party = build_passive(SHORT, 1)
    assert isinstance(party, BoostedTreesClient)
    g = np.ones((len(rows), 3), np.int32)
    refused(party, "this run encrypts them", "boost", rows, g, g, np.ones(2, np.float32))
