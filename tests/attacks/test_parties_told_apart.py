"""Parties with different options or phases mask their sum away.

A deviating active party that could shrink the embeddings of all parties but one, or change one
party alone between two sums, would read that party's embedding in the sum or in the difference.
"""

from collections.abc import Sequence

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.helpers.blinding import ROWS_I, TINY, agree, agreed, answer, client, embeddings, send
from vfl_flower.config.policy.run_options import OF_A_PARTY, TAKEN, terms_of
from vfl_flower.config.run_config import RunConfig
from vfl_flower.crypto.fixed_point import decode_ring
from vfl_flower.parties.passive import PassiveParty
from vfl_flower.workflows.build_parties import build_passive


def summed(parties: Sequence[PassiveParty], exchange: int) -> Tensor:
    """Return the sum that the active party decodes."""
    words = [answer(party, exchange, "embed_only", ROWS_I) for party in parties]
    return decode_ring(np.add.reduce(words, dtype=np.uint32))


def told(rank: int, **options: object) -> PassiveParty:
    return build_passive(RunConfig.from_mapping({**TINY.to_mapping(), **options}), rank)


@pytest.mark.parametrize("others", ["16", "0.001"])
def test_parties_with_other_options_unmask_to_noise(others: str) -> None:
    """With the same bound the sum is decoded."""
    bounds = ["16", others, others]
    parties = [told(rank, **{"embedding-bound": b}) for rank, b in enumerate(bounds, 1)]
    agree(parties)
    true = torch.stack([embeddings(party, ROWS_I) for party in parties]).sum(0)
    assert torch.allclose(summed(parties, 3), true, atol=2**-10) == (others == "16")


def test_options_of_a_party_alone_change_no_mask() -> None:
    own = {"models": "linear", "learning-rates": "0.5", "optimizers": "sgd", "threads": 2}
    assert terms_of(told(1).cfg) == terms_of(told(1, **own).cfg)
    assert set(own) <= OF_A_PARTY <= TAKEN


@pytest.mark.parametrize("alone", [False, True])
def test_a_party_that_is_changed_alone_unmasks_to_noise(alone: bool) -> None:
    """Best weights are taken back at one party, which keeps its keys."""
    parties = agreed(3)
    for party in parties:
        assert send(party, 3, "keep") == ([], {})
    first = summed(parties, 4)
    for party in parties[:1] if alone else parties:
        assert send(party, 5, "take_best") == ([], {})
    assert torch.allclose(summed(parties, 6), first, atol=2**-10) != alone


def test_a_party_goes_on_where_it_was_rebuilt() -> None:
    """The history is in the memory between messages."""
    party = client(agreed(2)[0])
    masker = party.masker  # type: ignore[attr-defined]
    kept = masker.state_dict()
    send(party, 3, "keep")
    assert masker.state_dict()["history"] != kept["history"] != b""
