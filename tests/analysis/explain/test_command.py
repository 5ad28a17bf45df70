"""The command `explain`, and its refusals."""

import json
import shutil
import stat
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tests.helpers.outcomes.attempts import Attempt
from tests.helpers.outcomes.commands import explain as run
from tests.helpers.outcomes.commands import train as simulate
from tests.helpers.outcomes.explained import SMALL, Runs, findings_of, result_of
from vfl_flower.analysis.explain.trained import complete_run
from vfl_flower.common.errors import RunError


@pytest.mark.slow
def test_command_draws_writes_and_trains(
    runs: Runs, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {path: path.stat().st_mtime_ns for path in (runs / "strips").rglob("*")}
    accuracies, out = {}, tmp_path / "out"
    for end in ("top", "bottom"):
        arguments = [str(runs / "strips"), "--out", str(out / end), "--retrain", f"{end}:50"]
        arguments += ["--json", *(["--tsne", "party-1,active"] if end == "top" else [])]
        assert run(arguments) == 0
        printed = capsys.readouterr()
        written = json.loads(printed.out)
        accuracies[end] = written["retrained"]["accuracy"]
    assert {path: path.stat().st_mtime_ns for path in (runs / "strips").rglob("*")} == before
    assert accuracies["bottom"] < accuracies["top"]

    findings = findings_of(runs / "strips")
    falling = sorted(findings.parties[1:], key=lambda each: each.norm)
    least = [each.party for each in findings.parties if each in falling[:4]]
    assert written["retrained"]["parties"] == least
    assert [each["norm"] for each in written["parties"]] == [p.norm for p in findings.parties]
    assert [each["party"] for each in written["permutation"]["parties"]] == [
        each.party for each in findings.parties
    ]
    assert result_of(out / "bottom" / "bottom-50")["parties"] == 5
    assert f"{accuracies['bottom']:.2%}; with all 7: {findings.accuracy:.2%}" in " ".join(
        printed.err.split()
    )

    for name in ("importance.png", "pixels.png", "embeddings.png"):
        path = out / "top" / name
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        with Image.open(path) as image:
            assert len(image.convert("RGB").getcolors(1 << 20) or []) > 20


@pytest.mark.slow
def test_tables_have_no_pixels_and_without_out_nothing_is_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    flags = ["--method", "linear_admm", "--dataset", "wine", "--epochs", "1", "--batch-size", "50"]
    assert simulate([*flags, "--seeds", "2", "--baselines", "off", "--out", "run"]) == 0
    before = sorted(tmp_path.rglob("*"))
    assert run(["run"]) == 0
    assert sorted(tmp_path.rglob("*")) == before
    assert run(["run", "--out", "out", "--tsne", "party-3"]) == 0
    assert sorted(path.name for path in Path("out").iterdir()) == [
        "embeddings.png",
        "importance.png",
    ]
    assert findings_of(Path("run")) == findings_of(Path("run/seed-0"))


@pytest.mark.slow
def test_a_result_that_is_not_met_is_told(copied: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([str(copied)]) == 0
    assert "own result" not in capsys.readouterr().out
    result = result_of(copied)
    result["test_accuracy"]["active"] = 0.125
    (copied / "result.json").write_text(json.dumps(result))
    assert run([str(copied)]) == 0
    assert "the run's own result has 12.50%" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--noise", "0"], "noise must be above 0"),
        (["--noise", "-1"], "noise must be above 0"),
        (["--noise", "nan"], "noise must be above 0"),
        (["--noise", "inf"], "noise must be above 0"),
        (["--noise", "much"], "not a valid float"),
        (["--out", "out", "--retrain", "top:100"], "below 100, not 'top:100'"),
        (["--out", "out", "--retrain", ""], "below 100, not ''"),
        (["--retrain", "top:50"], "say where with --out"),
        (["--tsne", "party-1"], "say where with --out"),
        (["--out", "out", "--tsne", "party-9"], "no party with columns is 'party-9'"),
        (["--out", "run"], "run exists and is not empty"),
        (["--out", "run/result.json"], "is a file"),
        (["another"], "unexpected extra argument"),
    ],
)
def test_what_cannot_be_done_is_refused_and_nothing_is_written(
    arguments: list[str],
    says: str,
    copied: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(copied.parent)
    before = sorted(copied.parent.rglob("*"))
    assert run(["run", *arguments]) == 2
    assert says in capsys.readouterr().err
    assert sorted(copied.parent.rglob("*")) == before


def forget(run: Path) -> None:
    shutil.rmtree(run)


def unfinish(run: Path) -> None:
    (run / "result.json").unlink()


def leave_out(run: Path) -> None:
    shutil.rmtree(run / "party-2")


def cut(run: Path) -> None:
    path = run / "party-2" / "model/weights.safetensors"
    path.write_bytes(path.read_bytes()[:100])


def exchange(run: Path) -> None:
    shutil.copy(run / "active" / "model/weights.safetensors", run / "party-2" / "model")


@pytest.mark.parametrize(
    ("harm", "says"),
    [
        (forget, "holds no run"),
        (unfinish, "is not complete; resume it first"),
        (leave_out, "party-2/model/weights.safetensors is missing; the folders of all parties"),
        (cut, "party-2/model/weights.safetensors is missing or damaged"),
        (exchange, "missing or damaged, or another run's or party's"),
    ],
)
def test_a_run_that_cannot_be_read_is_refused(
    harm: Any, says: str, copied: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    harm(copied)
    before = sorted(copied.parent.rglob("*"))
    assert run([str(copied), "--out", str(copied.parent / "out")]) == 2
    assert says in " ".join(capsys.readouterr().err.split())
    assert sorted(copied.parent.rglob("*")) == before


@pytest.mark.slow
def test_a_method_without_heads_has_the_common_table_and_figures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cfg = SMALL.changed(method="easter", epochs=1)
    Attempt(cfg, tmp_path / "run").run()
    assert run([str(tmp_path / "run"), "--out", str(tmp_path / "out"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert set(found) == {"method", "dataset", "recorded", "retrained", "permutation"}
    assert {*found["permutation"]["parties"][0]} == {
        *("party", "holds", "permuted", "drop", "low", "high")
    }
    drawn = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert drawn == ["importance.png", "pixels.png"]
    with Image.open(tmp_path / "out" / "pixels.png") as image:
        assert len(image.convert("RGB").getcolors(1 << 20) or []) > 20


def test_a_deployments_folder_says_what_is_missing(copied: Path) -> None:
    for rank in range(1, 8):
        shutil.rmtree(copied / f"party-{rank}")
    with pytest.raises(RunError, match="as a simulation that is complete has them"):
        complete_run(copied)
