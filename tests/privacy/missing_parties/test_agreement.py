"""Presence is agreed among passive parties, sealed, and enforced by each."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from vfl_flower.common.codec import Array
from vfl_flower.common.errors import ConfigError, PartyError, PartyRefusal
from vfl_flower.config.run_config import RunConfig
from vfl_flower.crypto.sealed import seal
from vfl_flower.parties.active import ActiveParty
from vfl_flower.parties.passive import PassiveParty
from vfl_flower.privacy.secure_aggregation import agree_keys
from vfl_flower.protocol.exchange import Protocol, ask, ask_each
from vfl_flower.transport.local import LocalTransport
from vfl_flower.workflows.build_parties import build_active, build_passive

CFG = RunConfig(method="agg_vfl", models="linear", missing_parties="use", row_presence=0.7)


def parties(
    cfg: RunConfig = CFG, folder: Path | None = None
) -> tuple[ActiveParty, list[PassiveParty]]:
    return build_active(cfg), [build_passive(cfg, k, folder) for k in range(1, cfg.parties)]


def carried_out(active: ActiveParty, passive: list[PassiveParty], protocol: Any) -> None:
    active.task = protocol
    LocalTransport(passive).run(active)


def usable(active: ActiveParty) -> Array:
    return active.rows["test"][:40]


def asked(active: ActiveParty, rows: Array, sums: list[Array] | None = None) -> Any:
    """Return a protocol that asks for one sum."""

    def protocol() -> Protocol:
        yield from agree_keys(active.cfg)
        replies = yield ask("predict_only", rows, purpose="evaluation")
        if sums is not None:
            sums.append(replies.sum().numpy())
            sums.extend(replies.singles)

    return protocol


def test_the_sum_is_over_those_present() -> None:
    active, passive = parties()
    rows, sums = usable(active), list[Array]()
    carried_out(active, passive, asked(active, rows, sums))
    presence = active.data.presence
    assert presence is not None
    assert not presence[rows].all()
    each = [party.phases["predict_only"](rows).detach().numpy() for party in passive]
    expected = np.where(presence[rows].T[:, :, None], each, 0).sum(0)
    assert np.allclose(sums[0], expected, atol=1e-3)


def test_a_party_that_lacks_a_row_sends_masked_zeros() -> None:
    active, passive = parties()
    rows, sums = usable(active), list[Array]()
    carried_out(active, passive, asked(active, rows, sums))
    presence = active.data.presence
    assert presence is not None
    for k, words in enumerate(sums[1:]):
        absent = words[~presence[rows, k]]
        assert len(absent)
        assert (absent != 0).mean() > 0.99


def test_a_row_of_too_few_parties_is_refused() -> None:
    active, passive = parties()
    presence = active.data.presence
    assert presence is not None
    alone = np.flatnonzero(presence.sum(1) == 1).astype(np.int32)[:3]
    for party in passive:
        party.only_predict()
    with pytest.raises(PartyRefusal, match="fewer than 2 passive parties"):
        carried_out(active, passive, asked(active, alone))


def test_another_set_of_parties_is_refused_after_a_restart(tmp_path: Path) -> None:
    active, passive = parties(folder=tmp_path)
    rows = usable(active)
    carried_out(active, passive, asked(active, rows))
    active, passive = parties(folder=tmp_path)
    lacking = passive[0].data.presence
    assert lacking is not None
    lacking[rows] = ~lacking[rows]  # whose rows were others before
    for k in (1, 2):
        there = passive[k].data.presence
        assert there is not None
        there[rows] = True
    with pytest.raises(PartyRefusal, match="rows were in sums of other parties"):
        carried_out(active, passive, asked(active, rows))


def test_the_same_set_is_answered_after_a_restart(tmp_path: Path) -> None:
    for _ in range(2):
        active, passive = parties(folder=tmp_path)
        carried_out(active, passive, asked(active, usable(active)))


def test_what_is_relayed_cannot_be_changed() -> None:
    active, passive = parties()

    def protocol() -> Protocol:
        yield from agree_keys(replace(active.cfg, missing_parties="refuse"))
        told = yield ask("tell_presence", purpose="control")
        rows = np.stack(told.singles)
        rows[0, 1, 5] ^= 1
        yield ask_each("take_presence", [*rows.swapaxes(0, 1)], purpose="control")

    with pytest.raises(PartyError, match="did not arrive as it was sent"):
        carried_out(active, passive, protocol)


def test_rows_are_refused_before_presence_is_agreed() -> None:
    active, passive = parties()

    def protocol() -> Protocol:
        yield from agree_keys(replace(active.cfg, missing_parties="refuse"))
        yield ask("predict_only", usable(active), purpose="evaluation")

    with pytest.raises(PartyError, match="before the parties agreed"):
        carried_out(active, passive, protocol)


def test_parties_that_were_told_different_things_unmask_to_noise() -> None:
    active, passive = parties()
    rows, sums = usable(active), list[Array]()
    liar, first = passive[2], passive[0].presence
    assert first is not None
    take = first.take_presence

    def misled(told: Tensor) -> None:
        own = liar.data.presence
        assert own is not None
        own[rows[0]] = ~own[rows[0]]
        liar_keys, exchange = liar.masker.keys, first._exchange  # type: ignore[attr-defined]
        lie = seal(liar_keys[1], np.packbits(own).tobytes(), exchange, 3, 1)
        told[2] = torch.frombuffer(bytearray(lie), dtype=torch.uint8)
        own[rows[0]] = ~own[rows[0]]
        take(told)

    misled.phase = take.phase  # type: ignore[attr-defined]
    passive[0].phases["take_presence"] = misled
    carried_out(active, passive, asked(active, rows, sums))
    assert np.abs(sums[0]).mean() > 1000


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"method": "vimadmm"}, "vimadmm needs something of every party"),
        ({"dp_sigma": 1.0}, "dp-sigma or target-epsilon is set"),
        ({"colluding_share": 0.5}, "not all parties have pair keys"),
        ({"share_check": "on"}, "share-check is set"),
        ({"blinding": "none", "active_columns": "none", "least_parties": 4}, "4 passive parties"),
        ({"least_parties": 4}, "4 passive parties must have a row, and there are 3"),
        ({"active_columns": "none", "parties": 3}, "3 passive parties must have a row"),
        (
            {"method": "vimadmm_j", "participation": 0.5, "blinding": "none"},
            "asks some of the",
        ),
        ({"method": "fdml", "staleness": 2}, "staleness is 2"),
    ],
)
def test_runs_that_cannot_use_such_rows(changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        CFG.changed(**changes)
