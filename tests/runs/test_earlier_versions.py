"""Run folders of earlier versions are read as they are."""

import json
import shutil
from pathlib import Path

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
