"""Secret of drawn subsets: the same in every attempt."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.privacy.missing_parties.test_agreement import CFG, asked, carried_out, parties, usable
from vfl_flower.common.errors import ConfigError, PartyError
from vfl_flower.common.layout import SUBSETS
from vfl_flower.common.names import party_name
from vfl_flower.parties.passive import PassiveParty

DRAWN = replace(CFG, subset_training="on", parties=5)


def secrets_of(passive: list[PassiveParty]) -> set[bytes]:
    return {each.presence._drawing._secret for each in passive if each.presence}


def test_all_have_one_secret_which_survives_a_restart(tmp_path: Path) -> None:
    seen = set[bytes]()
    for _ in range(2):
        active, passive = parties(DRAWN, tmp_path)
        carried_out(active, passive, asked(active, usable(active)))
        seen |= secrets_of(passive)
    assert len(seen) == 1
    assert len(seen.pop()) == 32


def test_another_run_has_another_secret(tmp_path: Path) -> None:
    seen = set[bytes]()
    for name in ("one", "two"):
        active, passive = parties(DRAWN, tmp_path / name)
        carried_out(active, passive, asked(active, usable(active)))
        seen |= secrets_of(passive)
    assert len(seen) == 2


def test_without_masks_it_follows_from_the_seed() -> None:
    seen = set[bytes]()
    for _ in range(2):
        active, passive = parties(replace(DRAWN, blinding="none"))
        carried_out(active, passive, asked(active, usable(active)))
        seen |= secrets_of(passive)
    assert len(seen) == 1


def test_a_damaged_share_is_an_error(tmp_path: Path) -> None:
    active, passive = parties(DRAWN, tmp_path)
    carried_out(active, passive, asked(active, usable(active)))
    (tmp_path / party_name(1) / SUBSETS).write_bytes(b"nothing")
    active, passive = parties(DRAWN, tmp_path)
    with pytest.raises(PartyError, match="party-1"):
        carried_out(active, passive, asked(active, usable(active)))


def test_all_parties_add_in_an_evaluation() -> None:
    active, passive = parties(DRAWN)
    rows = usable(active)
    carried_out(active, passive, asked(active, rows))
    presence = active.data.presence
    assert presence is not None
    counts = active.contributors(rows)
    assert not isinstance(counts, int)
    assert counts.flatten().tolist() == presence[rows].sum(1).tolist()
    drawn = active.contributors(rows, training=True)
    assert not isinstance(drawn, int)
    assert (drawn <= counts).all() and (drawn < counts).any()


def test_nothing_is_drawn_where_all_must_have_a_row() -> None:
    with pytest.raises(ConfigError, match="subset-training is on, and missing-parties is refuse"):
        replace(DRAWN, missing_parties="refuse")
