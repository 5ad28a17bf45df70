"""Relayed variances that were changed, and parties that ask or tell wrongly."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from flwr.common import Scalar

from tests.analysis.leakage.test_column_attacks import STEEP
from tests.helpers.blinding import TINY, agreed, answer, refusal
from tests.helpers.liars import run_with_liar
from tests.helpers.outcomes.stages import small
from vfl_flower.analysis.audit.attacks.integrity.chosen_labels import choose_labels
from vfl_flower.common.codec import Array
from vfl_flower.common.errors import PartyError, ProtocolError
from vfl_flower.config.policy.record import OPEN, Policy
from vfl_flower.crypto.sealed import seal
from vfl_flower.parties.passive import PassiveParty
from vfl_flower.privacy.sum_shares.component import SEALED
from vfl_flower.protocol.components import Received
from vfl_flower.transport.local import run_local
from vfl_flower.workflows.build_parties import build_active, build_passive

HALF, LIMITED = (Policy(**vars(OPEN) | {"largest_share": each}) for each in (0.5, 0.6))


def summed(parties: list[PassiveParty], exchange: int) -> Array:
    """Upload all rows in one step; return sealed variances, (K, K, 18)."""
    rows = parties[0].plan.batch(0)  # type: ignore[union-attr]
    for party in parties:
        answer(party, exchange, "embed", rows)
        party.automaton.last["training"] = ""  # a step that is over, without its residuals
        party.automaton.step = 0  # the next epoch's rows are the same
    return np.stack([answer(party, exchange + 1, "seal_variances") for party in parties])


@pytest.fixture
def parties() -> list[PassiveParty]:
    options: dict[str, Scalar] = {"share-check": "on", "epochs": 2}
    return agreed(3, **options)


def as_it_was(sealed: Array, before: Array) -> Array:
    return sealed[:, 0]


def changed(sealed: Array, before: Array) -> Array:
    rows = sealed[:, 0].copy()
    rows[1, 0] ^= 1
    return rows


def of_another(sealed: Array, before: Array) -> Array:
    """Put in the row of party-2 for party-3."""
    rows = sealed[:, 0].copy()
    rows[1] = sealed[1, 2]
    return rows


def swapped(sealed: Array, before: Array) -> Array:
    """Put the rows of party-2 and party-3 in each other's place."""
    rows: Array = sealed[[0, 2, 1], 0]
    return rows


def sent_back(sealed: Array, before: Array) -> Array:
    """Put in the row of party-1 for party-2, sent back."""
    rows = sealed[:, 0].copy()
    rows[1] = sealed[0, 1]
    return rows


def repeated(sealed: Array, before: Array) -> Array:
    """Put in the row of party-2 of an epoch ago."""
    rows = sealed[:, 0].copy()
    rows[1] = before[1, 0]
    return rows


@pytest.mark.parametrize("relay", [changed, of_another, swapped, sent_back, repeated])
def test_what_was_relayed_wrongly_is_noticed(
    parties: list[PassiveParty], relay: Callable[[Array, Array], Array]
) -> None:
    before = summed(parties, 3)
    assert answer(parties[0], 5, "check_share", as_it_was(before, before)) > 33
    sealed = summed(parties, 6)
    error, message = refusal(parties[0], 8, "check_share", relay(sealed, before))
    assert error == "ProtocolError"
    assert "what party-2 sealed for party-1 did not arrive as it was sent" in message
    assert answer(parties[0], 9, "check_share", as_it_was(sealed, before)) > 33


def test_all_parties_name_the_same_share_and_the_relay_reads_nothing(
    parties: list[PassiveParty],
) -> None:
    sealed = summed(parties, 3)
    assert sealed.shape == (3, 3, SEALED)
    told = [int(answer(p, 5, "check_share", sealed[:, k])) for k, p in enumerate(parties)]
    assert told == [told[0]] * 3
    others = [sealed[i, j].tobytes() for i in range(3) for j in range(3) if i != j]
    assert len({each[:2] for each in others}) > 3  # three variances, each under two keys
    assert not sealed[range(3), range(3)].any()


def test_limits_hold_against_a_run_that_forgets_its_checks(parties: list[PassiveParty]) -> None:
    """A second epoch of uploads, whether variances were sealed or not."""
    party = parties[0]
    rows = party.plan.batch(0)  # type: ignore[union-attr]
    summed(parties, 3)
    assert len(answer(party, 5, "embed", rows)) == len(rows)  # without a limit it answers
    party.automaton.step, party.policy = 0, HALF
    error, message = refusal(party, 6, "embed", rows)
    assert error == "PolicyError"
    assert "rule largest-share: it is 0.5, and shares were not checked since" in message


def test_variances_are_told_once_an_epoch_at_most(parties: list[PassiveParty]) -> None:
    assert "nothing was summed" in refusal(parties[0], 3, "seal_variances")[1]
    summed(parties, 4)
    error, message = refusal(parties[0], 6, "seal_variances")
    assert (error, message) == (
        "ProtocolError",
        "phase 'seal_variances' may be asked 2 times, and was",
    )


def test_one_exchange_seals_once(parties: list[PassiveParty]) -> None:
    """A key is for one message."""
    summed(parties, 3)
    party = parties[0]
    party.received = Received(4, "seal_variances", [])
    party.sum_shares._variance.add(torch.randn(4, 2))  # type: ignore[attr-defined]
    with pytest.raises(ProtocolError, match="twice in one exchange"):
        party.sum_shares.seal_variances()  # type: ignore[attr-defined]


def test_labels_of_choice_are_stopped_by_a_limit() -> None:
    """By which an active party makes one party dominate; see `chosen_labels`."""
    cfg = small("easter", **STEEP, share_check="on")
    for deviation in (None, choose_labels):
        active = build_active(cfg)
        passive = [build_passive(cfg, k, policy=LIMITED) for k in range(1, cfg.parties)]
        if deviation is None:
            run_local(active, passive)
            assert max(active.progress.shares) < 60
            continue
        deviation(active, passive)
        with pytest.raises(PartyError, match=r"party-. failed in 'check_share'.*largest-share"):
            run_local(active, passive)
        assert len(active.progress.shares) < 3  # of six epochs


def test_without_keys_nothing_is_sealed() -> None:
    (party, *_) = agreed(3, **{"share-check": "on"})
    party.masker.state_dict()["keys"].clear()  # type: ignore[attr-defined]
    party.received = Received(3, "embed", [])
    party.sum_shares._variance.count = 1  # type: ignore[attr-defined]
    assert "not all were agreed" in refusal(party, 4, "seal_variances")[1]


def test_a_party_that_tells_different_variances_is_noticed() -> None:
    """By the active party, unless all are told the same lie."""
    cfg = TINY.changed(share_check="on")

    def lie(arrays: list[Array]) -> list[Array]:
        return [np.array(99, np.uint8)]

    with pytest.raises(PartyError, match="name 2 different largest shares of the sum"):
        run_with_liar(cfg, "check_share", lie)


def test_a_message_of_another_length_is_refused(parties: list[PassiveParty]) -> None:
    sealed = summed(parties, 3)
    assert "is uint8(3, 17)" in refusal(parties[0], 5, "check_share", sealed[:, 0, :17])[1]
    assert len(seal(bytes(32), b"ab", 1, 1, 2)) == SEALED
