"""Masks between neighbours: exact sums, few keys, nobody's graph."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.helpers.blinding import (
    ROWS_I,
    SALT,
    TINY,
    Party,
    Rebuilt,
    added,
    answer,
    embeddings,
    masker_of,
    passive,
    public_keys,
    refusal,
    send,
)
from tests.helpers.outcomes.attempts import Attempt
from vfl_flower.common.codec import Array
from vfl_flower.common.errors import ConfigError
from vfl_flower.crypto.fixed_point import decode_ring
from vfl_flower.crypto.joint_seed import JointSeed
from vfl_flower.parties.passive import PassiveParty
from vfl_flower.privacy.guarantees import protections
from vfl_flower.privacy.secure_aggregation import masks_of_each
from vfl_flower.workflows.build_parties import build_passive

COUNT = 15
SPARSE = replace(TINY, parties=COUNT + 1, partition="grid:4x4", colluding_share=0.25)
FEW = 4  # neighbours: more than the three that may collude


def revealed(parties: Sequence[Party]) -> Array:
    """Return all shares, revealed in exchange 2."""
    commitments = np.stack([answer(party, 1, "commit_seed") for party in parties])
    return np.stack([answer(party, 2, "reveal_seed", commitments) for party in parties])


def drawn(parties: Sequence[Party]) -> None:
    """Draw neighbours and agree on keys, in exchanges 1 to 5."""
    shares = revealed(parties)
    for party in parties:
        assert send(party, 3, "draw_neighbours", shares) == ([], {})
    keys_agreed(parties)


def keys_agreed(parties: Sequence[Party]) -> None:
    keys = public_keys(parties, 4)
    for party in parties:
        assert send(party, 5, "agree", keys, SALT) == ([], {})


def octets(each: Iterable[bytes]) -> Array:
    return np.array([[*one] for one in each], np.uint8)


def sparse() -> list[PassiveParty]:
    return [build_passive(SPARSE, rank) for rank in range(1, COUNT + 1)]


def keys_of(party: PassiveParty) -> dict[int, bytes]:
    keys: dict[int, bytes] = masker_of(party).state_dict()["keys"]
    return keys


def test_each_party_masks_with_its_neighbours_and_the_sum_is_exact() -> None:
    parties = sparse()
    drawn(parties)
    held = [keys_of(party) for party in parties]
    assert masks_of_each(SPARSE) == FEW and {len(keys) for keys in held} == {FEW}
    assert all(keys[j] == held[j - 1][i] for i, keys in enumerate(held, 1) for j in keys)
    words = [answer(party, 6, "embed_only", ROWS_I) for party in parties]
    true = torch.stack([embeddings(party, ROWS_I) for party in parties]).sum(0)
    assert torch.allclose(decode_ring(added(words)), true, atol=2**-10)


def test_a_sum_without_one_party_is_noise() -> None:
    parties = sparse()
    drawn(parties)
    words = [answer(party, 6, "embed_only", ROWS_I) for party in parties]
    for left_out in range(COUNT):
        rest = decode_ring(added([*words[:left_out], *words[left_out + 1 :]]))
        assert rest.abs().median() > 1000  # of 32768


def test_parties_that_are_rebuilt_draw_alike() -> None:
    rebuilt = [Rebuilt(SPARSE, rank) for rank in range(1, COUNT + 1)]
    drawn(rebuilt)
    words = [answer(party, 6, "embed_only", ROWS_I) for party in rebuilt]
    assert decode_ring(added(words)).abs().max() < 100


@pytest.mark.slow
def test_weights_are_those_of_masks_between_all() -> None:
    cfg = replace(SPARSE, epochs=2, batch_size=647)
    attempts = [Attempt(each, None) for each in (cfg, replace(cfg, colluding_share=1.0))]
    for each in attempts:
        each.run()
    few, all_others = attempts
    assert len(keys_of(few.passive[0])) == FEW
    assert len(keys_of(all_others.passive[0])) == COUNT - 1
    for a, b in zip(few.passive, all_others.passive, strict=True):
        for p, q in zip(a.net.parameters(), b.net.parameters(), strict=True):
            assert torch.equal(p, q)


# What an active party can try -----------------------------------------------------------------


def test_a_party_that_was_told_other_shares_names_the_liar_and_masks_with_all() -> None:
    parties = sparse()
    shares = revealed(parties)
    shares[7] ^= 1
    error, text = refusal(parties[0], 3, "draw_neighbours", shares)
    keys_agreed(parties)
    assert error == "BlindingError" and "party-8" in text
    assert len(keys_of(parties[0])) == COUNT - 1


def test_parties_of_two_draws_unmask_to_noise() -> None:
    """The active party draws with each half, and makes up the other."""
    parties, half = sparse(), COUNT // 2
    made_up = [JointSeed(rank) for rank in range(1, COUNT + 1)]
    false = octets(each.commit(1) for each in made_up)
    true = np.stack([answer(party, 1, "commit_seed") for party in parties])
    shares = octets(each.state_dict()["share"] for each in made_up)
    for own in (slice(half), slice(half, None)):
        commitments, opened = false.copy(), shares.copy()
        commitments[own] = true[own]
        opened[own] = [answer(party, 2, "reveal_seed", commitments) for party in parties[own]]
        for party in parties[own]:
            assert send(party, 3, "draw_neighbours", opened) == ([], {})
    keys_agreed(parties)
    words = [answer(party, 6, "embed_only", ROWS_I) for party in parties]
    for group in (slice(half), slice(half, None), slice(None)):
        assert decode_ring(added(words[group])).abs().median() > 1000


@pytest.mark.parametrize("first", ["reveal_seed", "draw_neighbours"])
def test_phases_of_a_draw_come_in_order(first: str) -> None:
    anything = np.zeros((COUNT, 32), np.uint8)
    assert refusal(sparse()[0], 1, first, anything)[0] == "ProtocolError"


def test_mask_keys_depend_on_the_draw() -> None:
    """Three parties all mask each other, in either draw."""
    parties, made_up = passive(3), [JointSeed(rank) for rank in (1, 2, 3)]
    commitments = octets(each.commit(1) for each in made_up)
    shares = octets(each.state_dict()["share"] for each in made_up)
    commitments[0] = answer(parties[0], 1, "commit_seed")
    shares[0] = answer(parties[0], 2, "reveal_seed", commitments)
    assert send(parties[0], 3, "draw_neighbours", shares) == ([], {})
    keys_agreed(parties)
    words = [answer(party, 6, "embed_only", ROWS_I) for party in parties]
    assert decode_ring(added(words)).abs().median() > 1000


@pytest.mark.parametrize("party", [lambda: sparse()[0], lambda: Rebuilt(SPARSE, 1)])
def test_a_share_is_revealed_right_after_its_commitment_alone(party: Callable[[], Party]) -> None:
    asked = party()
    commitments = np.zeros((COUNT, 32), np.uint8)
    commitments[0] = answer(asked, 1, "commit_seed")
    assert refusal(asked, 3, "reveal_seed", commitments)[0] == "BlindingError"


@pytest.mark.parametrize("options", [{"blinding": "none"}, {"method": "splitnn"}])
def test_a_share_of_colluders_without_masks_is_refused(options: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match="nothing is masked"):
        TINY.changed(colluding_share=0.5, **options)


def test_a_result_says_what_masks_withstand() -> None:
    ((claim, *_), _), ((plain, *_), _) = protections(SPARSE), protections(TINY)
    assert "with 4 of 14 others" in claim and "0.25" in claim and "2^-60" in claim
    assert "others" not in plain
