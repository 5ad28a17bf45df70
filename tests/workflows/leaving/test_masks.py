"""Masks of parties that go on without another."""

from dataclasses import replace

import pytest

from vfl_flower.common.errors import PartyError
from vfl_flower.config.run_config import RunConfig
from vfl_flower.transport.local import run_local
from vfl_flower.workflows.build_parties import build_active, build_passive

CFG = RunConfig(
    method="agg_vfl", models="mlp", epochs=1, batch_size=300, embedding_dim=4, missing_parties="use"
)
WITHOUT = replace(CFG, without="party-2")


def test_a_party_trains_under_masks_with_all_others_only() -> None:
    """Whatever the active party asks."""
    with pytest.raises(PartyError, match="training goes on under masks with all parties only"):
        run_local(build_active(WITHOUT), [build_passive(WITHOUT, k) for k in (1, 3)])


def test_parties_that_were_told_of_different_leavers_have_other_masks() -> None:
    """One that knows of no leaver misses a key."""
    with pytest.raises(PartyError, match=r"party-3 failed in 'agree'"):
        run_local(build_active(WITHOUT), [build_passive(WITHOUT, 1), build_passive(CFG, 3)])
