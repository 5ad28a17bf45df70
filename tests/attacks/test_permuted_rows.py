"""One party's rows permuted in a second masked sum unmask to noise.

An explanation permutes what one party says of rows. A deviating active party that could do that
between machines, by asking one party for permuted rows and all others for the same rows again,
would subtract the two sums: what is left is the difference of two embeddings of that party.
"""

from collections.abc import Sequence

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.helpers.blinding import SPLIT, agree, answer, passive, refusal
from vfl_flower.common.codec import Array, to_tensor
from vfl_flower.crypto.fixed_point import decode_ring
from vfl_flower.parties.passive import PassiveParty

PHASES = {"easter": "embed_only", "vfedmh": "embed_only", "agg_vfl": "predict_only"}
ROWS = SPLIT["test"][:64]
PERMUTED = np.roll(ROWS, 1)


def parties_of(method: str, blinding: str) -> list[PassiveParty]:
    parties = passive(3, method=method, blinding=blinding)
    for party in parties:
        party.only_predict()
    if blinding != "none":
        agree(parties)
    return parties


def summed(parties: Sequence[PassiveParty], exchange: int, rows: Sequence[Array]) -> Tensor:
    """Return the sum of the parties' answers about their rows."""
    phase = PHASES[parties[0].cfg.method]
    said = [
        answer(party, exchange, phase, asked) for party, asked in zip(parties, rows, strict=True)
    ]
    if said[0].dtype == np.uint32:
        return decode_ring(np.add.reduce(said, dtype=np.uint32))
    return torch.stack([to_tensor(each) for each in said]).sum(0)


def learnt(method: str, blinding: str) -> tuple[Tensor, Tensor]:
    """Return the difference of two sums, and the victim's own."""
    parties = parties_of(method, blinding)
    first = summed(parties, 3, [ROWS] * 3)
    second = summed(parties, 4, [PERMUTED, ROWS, ROWS])
    (alone,) = [party for party in passive(3, method=method, blinding="none") if party.rank == 1]
    said = to_tensor(answer(alone, 3, PHASES[method], ROWS))
    return second - first, said.roll(1, 0) - said


@pytest.mark.parametrize("method", PHASES)
def test_permuted_rows_of_one_party_unmask_to_noise(method: str) -> None:
    """Without masks they give the difference of its answers, exactly."""
    found, true = learnt(method, "none")
    assert torch.allclose(found, true, atol=1e-4)
    found, true = learnt(method, "auto")
    assert found.abs().median() > 1000 * true.abs().max()
    assert abs(torch.corrcoef(torch.stack([found.ravel(), true.ravel()]))[0, 1]) < 0.3


@pytest.mark.parametrize("method", PHASES)
def test_rows_permuted_at_all_parties_say_nothing_new(method: str) -> None:
    """The same sums come out, in another order."""
    parties = parties_of(method, "auto")
    first, second = (summed(parties, n, [rows] * 3) for n, rows in ((3, ROWS), (4, PERMUTED)))
    assert torch.allclose(first.roll(1, 0), second, atol=1e-3)


def test_the_exchange_of_a_sum_is_not_asked_again() -> None:
    """With other rows, which would be masked alike."""
    parties = parties_of("easter", "auto")
    summed(parties, 3, [ROWS] * 3)
    for rows in (PERMUTED, ROWS[:4], SPLIT["test"][64:128]):
        kind, text = refusal(parties[0], 3, "embed_only", rows)
        assert kind == "ProtocolError" and "exchange 3 comes after exchange 3" in text
