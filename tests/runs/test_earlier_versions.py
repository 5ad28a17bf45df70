"""Run folders of earlier versions are read as they are."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from safetensors.numpy import save_file

import vfl_flower as vfl
from tests.helpers.outcomes.attempts import Attempt
from tests.helpers.outcomes.edits import edit, values_of
from tests.helpers.outcomes.run_folders import NAMES, TINY
from vfl_flower.cli.main import run as command
from vfl_flower.common.errors import Interrupted, RunError
from vfl_flower.common.layout import checkpoint_path
from vfl_flower.common.state import pack, read_state, write_state
from vfl_flower.config.run_config import read_toml
from vfl_flower.data.preprocessing.target import Target
from vfl_flower.runs.run_folder import RunFolder


def test_a_result_under_former_keys_is_read(whole: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    shutil.copytree(whole, out)
    result = values_of(out / "result.json")
    former = {"baselines": "bounds", "control": "upkeep"}
    earlier = {former.get(key, key): value for key, value in result.items()}
    assert {*former.values()} < {*earlier}
    (out / "result.json").write_text(json.dumps(earlier))
    assert RunFolder.reopen(out, {}).result() == result


@pytest.mark.slow
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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "option", "earlier"),
    [
        ("vimadmm", "residual", "new-heads"),
        ("vimadmm_j", "head-steps", "in-turns"),
        ("linear_admm", "solver", "steps"),
        ("fdml", "prediction", "mean"),
    ],
)
def test_a_run_keeps_the_reading_that_it_was_trained_with(
    method: str, option: str, earlier: str, tmp_path: Path
) -> None:
    """Earlier versions had no such option; weights equal an unbroken run's."""
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    former = TINY.changed(method=method, optimizers="momentum").updated({option: earlier})
    Attempt(former, whole).run()
    with pytest.raises(Interrupted):
        Attempt(former, broken).run(3)
    edit(broken / "config.toml", f'{option} = "{earlier}"\n', "")
    for name in NAMES:
        path = checkpoint_path(broken / name, 3)
        content = read_state(path)
        assert content["header"]["run"].pop(option) == earlier
        write_state(path, content)
    kept = RunFolder.reopen(broken, {}).cfg
    assert kept.to_mapping()[option] == earlier
    assert read_toml(broken / "config.toml")[option] == earlier
    Attempt(kept, broken).run()
    for name in NAMES:
        weights = [out / name / "model" / "weights.safetensors" for out in (whole, broken)]
        assert weights[0].read_bytes() == weights[1].read_bytes(), name


def test_checkpoints_without_a_sum_are_resumed_with_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    out = tmp_path / "run"
    with pytest.raises(Interrupted):
        Attempt(TINY, out).run(3)
    for name in NAMES:
        arrays, skeleton = pack(read_state(checkpoint_path(out / name, 3)))
        save_file(arrays, checkpoint_path(out / name, 3), metadata={"state": skeleton})
    Attempt(TINY, out).run()
    (told,) = [each for each in caplog.messages if "earlier version" in each]
    assert f"{out} has files of an earlier version" in told and "is not noticed" in told


@pytest.mark.slow
def test_a_regression_whose_score_was_called_accuracy_is_read(tmp_path: Path) -> None:
    bank, shop = ({"id": range(60), "x": [n * k % 7 for n in range(60)]} for k in (3, 5))
    tables = [vfl.Table(bank | {"y": [n / 9 for n in range(60)]}, id="id", label="y")]
    tables += [vfl.Table(shop, id="id")]
    options: dict[str, Any] = {"method": "splitnn", "batch_size": 16, "epochs": 1}
    run = vfl.train(tables, **options, baselines="off", out=tmp_path / "run")
    metrics, result = run.metrics, run.result
    assert "test_accuracy" not in result and list(result["test_r2"]) == ["active"]
    (run.path / "result.json").write_text(json.dumps(values_of(run.path / "result.json")))
    for name in ("result.json", "metrics.jsonl"):
        text = (run.path / name).read_text().replace('_r2"', '_accuracy"')
        (run.path / name).write_text(text.replace(', "metric": "r2"', ""))
    assert vfl.load(run.path).result == result and run.metrics == metrics
    assert list(vfl.load(run.path).history)[-1] == "validation_accuracy active"
    assert command(["inspect", str(run.path)]) == 0
    assert run.report(tmp_path / "page.html").is_file()


def test_a_target_without_a_positive_class_has_the_second(tmp_path: Path) -> None:
    kept = {"task": "binary", "classes": ["a", "b"], "mean": 0.0, "deviation": 1.0}
    (tmp_path / "target.json").write_text(json.dumps(kept))
    target = Target.load(tmp_path / "target.json")
    assert target.positive_class == "b"
    (tmp_path / "target.json").write_text(json.dumps(kept | {"positive": 2}))
    with pytest.raises(RunError, match="names no positive class"):
        Target.load(tmp_path / "target.json")
