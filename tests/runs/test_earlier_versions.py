"""Run folders of earlier versions are read as they are."""

import json
import shutil
from pathlib import Path

import pytest

from tests.helpers.outcomes.attempts import Attempt
from tests.helpers.outcomes.run_folders import NAMES, TINY
from vfl_flower.common.errors import Interrupted
from vfl_flower.common.layout import checkpoint_path
from vfl_flower.common.state import read_state, write_state
from vfl_flower.runs.run_folder import RunFolder


def test_a_result_under_former_keys_is_read(whole: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    shutil.copytree(whole, out)
    result = json.loads((out / "result.json").read_text())
    former = {"baselines": "bounds", "control": "upkeep"}
    earlier = {former.get(key, key): value for key, value in result.items()}
    assert {*former.values()} < {*earlier}
    (out / "result.json").write_text(json.dumps(earlier))
    assert RunFolder.reopen(out, {}).result() == result


def test_a_checkpoint_under_former_names_is_resumed(tmp_path: Path) -> None:
    """The optimizer's state was called descent; weights equal an unbroken run's."""
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    Attempt(TINY, whole).run()
    with pytest.raises(Interrupted):
        Attempt(TINY, broken).run(3)
    for name in NAMES:
        path = checkpoint_path(broken / name, 3)
        content = read_state(path)
        content["state"]["descent"] = content["state"].pop("optimizer")
        write_state(path, content)
    Attempt(TINY, broken).run()
    for name in NAMES:
        weights = [out / name / "model" / "weights.safetensors" for out in (whole, broken)]
        assert weights[0].read_bytes() == weights[1].read_bytes(), name
