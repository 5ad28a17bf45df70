"""The command line: files of a run, and repeating it from them."""

import json
import os
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from safetensors.numpy import load_file

from tests.helpers.outcomes.commands import inspect
from tests.helpers.outcomes.commands import train as run
from tests.helpers.outcomes.edits import values_of
from vfl_flower.config.catalog import NETWORKS
from vfl_flower.config.run_config import RunConfig, read_toml
from vfl_flower.privacy.guarantees import CLEAR, MASKS, PRIVATE, PUBLIC, READABLE

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
NAMES = ["active", "party-1", "party-2", "party-3"]
TINY = ["--epochs", "2", "--batch-size", "300", "--embedding-dim", "8", "--models", "mlp"]
KEYS = {
    *("method", "dataset", "transport", "seed", "epochs", "parties", "test_accuracy"),
    *("metrics", "majority_share", "classes"),
    *("validation_accuracy", "baselines", "exchanges", "bytes_up", "bytes_down", "bytes_by_phase"),
    *("uploads_per_party", "seconds", "exchange_ms", "connections", "device"),
    *("protections", "unprotected", "epsilon", "client_privacy"),
}


def result_of(folder: Path) -> dict[str, Any]:
    return values_of(folder / "result.json")


def metrics_of(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


def weights_of(folder: Path) -> list[bytes]:
    return [(folder / name / "model/weights.safetensors").read_bytes() for name in NAMES]


def trained(out: Path, *flags: str) -> Path:
    assert run([*TINY, "--baselines", "off", *flags, "--out", str(out)]) == 0
    return out


@pytest.fixture(scope="module")
def default_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One run of the main job in a process of its own."""
    folder = tmp_path_factory.mktemp("default")
    done = subprocess.run(  # noqa: S603
        [sys.executable, str(ROOT / "run_simulation.py"), "--epochs", "2"],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "epoch 2" in done.stdout
    assert "protected by pairwise masks" in done.stdout
    (out,) = (folder / "runs").iterdir()
    assert out.name.startswith("easter-digits-")
    assert str(Path("runs") / out.name) in done.stdout
    return out


def test_result(default_run: Path) -> None:
    result = result_of(default_run)
    assert set(result) >= KEYS
    assert (result["method"], result["dataset"], result["transport"]) == (
        "easter",
        "digits",
        "local",
    )
    assert (result["seed"], result["epochs"], result["parties"]) == (0, 2, 4)
    for key in ("test_accuracy", "validation_accuracy"):
        assert list(result[key]) == NAMES
        assert all(0 < accuracy <= 1 for accuracy in result[key].values())
    assert set(result["baselines"]) == {"local", "central"}
    assert result["baselines"]["central"] > result["baselines"]["local"] > 0
    assert result["exchanges"] == 2 * result["steps"] == 44
    for total, direction in (("bytes_up", "up"), ("bytes_down", "down")):
        assert result[total] == sum(n[direction] for n in result["bytes_by_phase"].values()) > 0
    assert set(result["uploads_per_party"]) == set(NAMES[1:])
    assert result["seconds"] > 0
    assert result["epsilon"] is None
    assert len(result["protections"]) == 1


def test_metrics_have_a_line_per_evaluation(default_run: Path) -> None:
    lines = metrics_of(default_run)
    assert [line["epoch"] for line in lines] == [1, 2]
    for line in lines:
        for key in ("train_loss", "validation_loss", "validation_accuracy"):
            assert list(line[key]) == NAMES
    for key in ("step", "seconds", "exchanges", "bytes_up", "bytes_down"):
        assert 0 < lines[0][key] < lines[1][key], key
    assert result_of(default_run)["bytes_up"] == lines[-1]["bytes_up"]


def test_folders_and_weights(default_run: Path) -> None:
    assert {p.name for p in default_run.iterdir()} == {
        *NAMES,
        "config.toml",
        "metrics.jsonl",
        "result.json",
    }
    for name in NAMES:
        assert (default_run / name).stat().st_mode & 0o777 == 0o700
        weights = load_file(default_run / name / "model/weights.safetensors")
        assert len(weights) > 3
        assert all(array.size for array in weights.values())
    files = [p for p in default_run.rglob("*") if p.is_file()]
    assert {p.suffix for p in files} == {".toml", ".jsonl", ".json", ".md", ".safetensors"}
    assert not any(p.read_bytes()[:2] in (b"\x80\x04", b"\x80\x02", b"PK") for p in files)


def test_config_repeats_the_run(default_run: Path, tmp_path: Path) -> None:
    again = tmp_path / "again"
    assert run(["--config", str(default_run / "config.toml"), "--out", str(again)]) == 0
    assert weights_of(again) == weights_of(default_run)
    ours, theirs = result_of(again), result_of(default_run)
    assert ours.pop("seconds") != theirs.pop("seconds")
    assert min(each.pop("peak_memory") for each in (ours, theirs)) > 100 << 20  # of torch alone
    assert ours.pop("exchange_ms") != theirs.pop("exchange_ms")
    assert ours == theirs
    other = trained(tmp_path / "other")
    assert weights_of(other) != weights_of(again)


def test_eval_every(tmp_path: Path) -> None:
    """Every third step and at each epoch's end; training does not notice."""
    often = trained(tmp_path / "often", "--eval-every", "3")
    seldom = trained(tmp_path / "seldom")
    lines = metrics_of(often)
    assert [line["step"] for line in lines] == [3, 5, 6, 9, 10]
    assert all(a["bytes_down"] < b["bytes_down"] for a, b in pairwise(lines))
    assert [line["step"] for line in metrics_of(seldom)] == [5, 10]
    assert weights_of(often) == weights_of(seldom)


def test_unblinded_run_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bare = trained(tmp_path / "bare", "--blinding", "none", "--parties", "2")
    assert f"UNPROTECTED: {CLEAR}" in capsys.readouterr().out
    assert result_of(bare)["protections"] == []
    assert result_of(bare)["unprotected"] == [CLEAR, PUBLIC, READABLE]
    hidden = ("--party-randomness", "private", "--label-privacy", "alibi")
    private = trained(tmp_path / "private", *hidden)
    assert "UNPROTECTED" not in capsys.readouterr().out
    assert result_of(private)["protections"][:2] == [MASKS, PRIVATE]
    assert result_of(private)["unprotected"] == []


def test_no_epochs_is_a_run_of_untrained_parties(tmp_path: Path) -> None:
    out = trained(tmp_path / "run", "--epochs", "0")
    assert result_of(out)["exchanges"] == 0
    assert list(result_of(out)["test_accuracy"]) == NAMES
    assert metrics_of(out) == []


def test_seeds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Mean and deviation over runs, each in an ordinary run folder."""
    out = trained(tmp_path / "runs", "--seeds", "2", "--seed", "5")
    summary = result_of(out)
    single = [result_of(out / f"seed-{seed}") for seed in (5, 6)]
    assert summary["seeds"] == [5, 6]
    for name in NAMES:
        a, b = (s["test_accuracy"][name] for s in single)
        assert summary["test_accuracy"][name]["mean"] == pytest.approx((a + b) / 2)
        assert summary["test_accuracy"][name]["std"] == pytest.approx(abs(a - b) / 2**0.5)
    assert "±" in capsys.readouterr().out
    assert inspect([str(out)]) == 0
    told = capsys.readouterr().out
    assert "±" in told
    assert "seed 5:" in told
    assert "seed-6/party-3/model" in told
    assert inspect([str(out), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["result"] == summary
    assert weights_of(trained(tmp_path / "six", "--seed", "6")) == weights_of(out / "seed-6")


def test_json_is_all_that_a_program_reads(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = trained(tmp_path / "run", "--json")
    shown = capsys.readouterr()
    assert json.loads(shown.out) == result_of(out)
    for text in ("epoch 2", "bytes on the wire", "saved in"):
        assert text in shown.err
    assert run(["--resume", str(out), "--json"]) == 0
    again = capsys.readouterr()
    assert again.out == shown.out
    assert "was complete already" in again.err
    assert run(["--resume", str(out), "--json", "--seed", "9"]) == 2
    assert capsys.readouterr().out == ""
    assert run(["--resume", str(out)]) == 0
    assert "was complete already" in capsys.readouterr().out


def test_inspect(default_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert inspect([str(default_run)]) == 0
    told = capsys.readouterr().out
    settings, rest = told.split("easter on digits", 1)
    assert settings.startswith(f"{default_run}: complete")
    rows = [line.split() for line in settings.splitlines() if line.startswith("│")]
    assert ["│", "epochs", "│", "2", "│", "20", "│"] in rows
    assert {row[1] for row in rows} <= {"epochs", "data-dir"} | {"│"}  # a long folder is folded
    for text in ("bytes on the wire", "protected by pairwise masks", "UNPROTECTED"):
        assert text in rest
    for name in NAMES:
        assert f"{name}/model" in rest


def test_inspect_for_a_program(default_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert inspect([str(default_run), "--json"]) == 0
    shown = capsys.readouterr()
    told = json.loads(shown.out)
    assert told["result"] == result_of(default_run)
    assert RunConfig.from_mapping(told["config"]) == RunConfig.from_mapping(
        read_toml(default_run / "config.toml")
    )
    assert shown.err == ""


def test_inspect_tells_how_far_a_run_is(
    default_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "run"
    shutil.copytree(default_run, path)
    (path / "result.json").unlink()
    assert inspect([str(path)]) == 0
    told = capsys.readouterr().out
    assert f"{path}: not complete" in told
    assert "seed 0: epoch 2 of 2, step 22, validation" in told
    assert f"--resume {path}" in told
    assert inspect([str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["result"] is None
    (path / "config.toml").unlink()
    assert inspect([str(path), "--json"]) == 2
    assert capsys.readouterr().out == ""


def test_ctrl_c_at_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(cfg: RunConfig) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("vfl_flower.workflows.simulate.start", interrupted)
    assert run([]) == 130
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("interrupted: at once")


def test_precedence(tmp_path: Path) -> None:
    """Flags win over the file, the file over the defaults."""
    file = tmp_path / "options.toml"
    file.write_text('epochs = 1\nbatch-size = 400\nembedding-dim = 8\nmodels = "mlp"\nseed = 3\n')
    flags = ["--config", str(file), "--batch-size", "350", "--baselines", "off"]
    assert run([*flags, "--out", str(tmp_path / "run")]) == 0
    kept = RunConfig.from_mapping(read_toml(tmp_path / "run" / "config.toml"))
    assert (kept.batch_size, kept.seed, kept.epochs) == (350, 3, 1)
    assert kept.party_timeout == RunConfig().party_timeout


def test_names_in_brackets_are_shown_as_they_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Paths and values are never read as markup of the console."""
    monkeypatch.chdir(tmp_path)
    out = trained(Path("[bold]"), "--epochs", "1")
    assert "[bold]" in capsys.readouterr().out
    assert run(["--out", str(out)]) == 2
    assert "[bold]" in capsys.readouterr().err
    assert run(["--method", "[/red]"]) == 2
    assert "[/red]" in capsys.readouterr().err


def test_user_network_from_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A network added to `NETWORKS` is a value of ``--models`` at once."""
    monkeypatch.setitem(NETWORKS, "mine", NETWORKS["mlp"])
    mine = trained(tmp_path / "mine", "--models", "mine,mlp,mine,mlp")
    assert weights_of(mine) == weights_of(trained(tmp_path / "mlp"))
