"""Attacks on masks by an active party: other requests, counters, repeats."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from torch import nn

from tests.helpers.blinding import (
    ROWS_I,
    ROWS_J,
    TINY,
    Party,
    added,
    agree,
    agreed,
    answer,
    client,
    embeddings,
    rebuilt,
    refusal,
    send,
)
from tests.helpers.data import next_batch, rows_for
from vfl_flower.common.codec import Array
from vfl_flower.crypto.fixed_point import encode_ring
from vfl_flower.parties.passive import PassiveParty
from vfl_flower.protocol.automaton.machine import Automaton
from vfl_flower.workflows.build_parties import build_passive

Make = Callable[[int], Sequence[Party]]
live_and_rebuilt = pytest.mark.parametrize("make", [agreed, rebuilt])


def difference_attack(
    parties: list[PassiveParty], first: tuple[str, Array], others: tuple[str, Array]
) -> float:
    """Ask all for rows i, then party 1 otherwise; return hits.

    The share of hits.

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
    """The attack succeeds where all parties are asked for the same rows."""
    parties = agreed(count)
    for party in parties[1:]:  # nothing of theirs changes, as the attack needs it
        x = party.data.numbers.clone()  # the data set itself is shared
        x[ROWS_J] = x[ROWS_I]
        party.data = replace(party.data, x=x)
    asked = ("embed_only", ROWS_J)
    assert difference_attack(parties, asked, asked) == 1.0


@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize(
    ("first", "others"),
    [
        (("embed_only", ROWS_J), ("embed_only", ROWS_I)),
        (("embed_only", ROWS_I[::-1].copy()), ("embed_only", ROWS_I)),
    ],
    ids=["other rows", "other order"],
)
def test_parties_that_were_asked_different_things_unmask_to_noise(
    first: tuple[str, Array], others: tuple[str, Array], count: int
) -> None:
    assert difference_attack(agreed(count), first, others) < 0.05


@live_and_rebuilt
def test_a_counter_that_does_not_grow_is_refused(make: Make) -> None:
    (party, _) = make(2)
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
    rows = rows_for(party, phase)
    first = answer(party, 3, phase, rows)
    again = answer(party, 3, phase, rows.copy())
    assert first.tobytes() == again.tobytes()
    assert passes == [phase]
    party.automaton = Automaton(party)  # as if the run began again, under the same keys
    later = answer(party, 4, phase, rows)
    assert (first != later).mean() > 0.99  # another exchange, another mask
    assert passes == [phase] * 2


@live_and_rebuilt
def test_one_exchange_has_one_request(make: Make) -> None:
    """A second request under a used counter would get the same mask."""
    (party, _) = make(2)
    answer(party, 3, "embed_only", ROWS_I)
    for phase, rows in (
        ("embed_only", ROWS_J),
        ("embed", ROWS_I),
        ("embed_only", ROWS_I.reshape(2, 4)),
    ):
        assert refusal(party, 3, phase, rows)[0] == "ProtocolError"


@live_and_rebuilt
def test_a_counter_is_used_up_by_a_request_that_fails(make: Make) -> None:
    (party, _) = make(2)
    assert refusal(party, 3, "embed_only", np.array([10**6], np.int32))[0] == "ProtocolError"
    assert refusal(party, 3, "embed_only", ROWS_I)[0] == "ProtocolError"
    answer(party, 4, "embed_only", ROWS_I)


def test_a_party_that_goes_back_to_a_checkpoint_forgets_its_keys(tmp_path: Path) -> None:
    """Else masks would cancel after taking one party back alone."""
    parties = [build_passive(TINY, rank, tmp_path) for rank in range(1, 4)]
    agree(parties)
    answer(parties[0], 3, "embed", next_batch(parties[0]))
    step = np.array(1), np.zeros(8, np.uint8)
    assert send(parties[0], 4, "checkpoint", *step) == ([], {})
    assert send(parties[0], 5, "restore", *step) == ([], {})
    error, message = refusal(parties[0], 6, "embed_only", ROWS_I)
    assert error == "BlindingError"
    assert "no keys have been agreed" in message
    error, message = refusal(parties[0], 7, "predict", np.zeros((8, 8), np.float32))
    assert "must follow 'embed'" in message  # the step in hand is forgotten too
