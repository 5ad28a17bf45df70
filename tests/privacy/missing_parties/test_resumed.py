"""Stopped runs on rows that parties lack end as unbroken ones."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from tests.helpers.outcomes.attempts import Attempt
from tests.helpers.outcomes.run_folders import NAMES, TINY
from vfl_flower.common.errors import Interrupted
from vfl_flower.common.layout import ROW_SETS, SUBSETS
from vfl_flower.common.names import party_name

PARTLY = replace(TINY, missing_parties="use", row_presence=0.8, subset_training="on")


@pytest.mark.slow
def test_a_stopped_run_equals_an_unbroken_one(tmp_path: Path) -> None:
    """Under masks, with the secret of both runs the same."""
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    Attempt(PARTLY, whole).run()
    for rank in range(1, PARTLY.parties):
        (broken / party_name(rank)).mkdir(parents=True)
        shutil.copy(whole / party_name(rank) / SUBSETS, broken / party_name(rank) / SUBSETS)
    for step in (3, 5):
        with pytest.raises(Interrupted):
            Attempt(PARTLY, broken).run(step)
    Attempt(PARTLY, broken).run()
    for name in NAMES:
        paths = [out / name / "model/weights.safetensors" for out in (whole, broken)]
        assert paths[0].read_bytes() == paths[1].read_bytes(), name


def test_sets_of_an_interrupted_run_stay(tmp_path: Path) -> None:
    with pytest.raises(Interrupted):
        Attempt(PARTLY, tmp_path).run(7)
    kept = (tmp_path / party_name(1) / ROW_SETS).read_bytes()
    Attempt(PARTLY, tmp_path).run()
    assert (tmp_path / party_name(1) / ROW_SETS).read_bytes().startswith(kept)
