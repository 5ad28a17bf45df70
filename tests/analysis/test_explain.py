"""How much each party counts: what it holds, what noise on it costs, and what the others can do."""

import json
import shutil
import stat
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from torch import Tensor

from tests.helpers.attempts import Sitting
from tests.helpers.commands import explain as run
from tests.helpers.commands import train as simulate
from tests.helpers.data import columns_of, labels_of
from vfl_flower.analysis.explain.figures import importance_of_pixels
from vfl_flower.analysis.explain.importance import Findings, explain, told
from vfl_flower.analysis.explain.retraining import Choice, reduced
from vfl_flower.analysis.explain.trained import complete_run, trained
from vfl_flower.common.errors import ConfigError, RunError
from vfl_flower.config.run_config import RunConfig
from vfl_flower.data.loading import load_parties
from vfl_flower.data.preprocessing.scaling import noised
from vfl_flower.data.splits import rows_of

SMALL = RunConfig(
    method="vimadmm",
    heads="ridge",
    models="mlp",
    epochs=5,
    batch_size=200,
    embedding_dim=16,
    bounds="off",
)
BLANK = "listed:10-14,18-22;26-30,34-38;42-46,50-54;0,8,16,24,32,40,48,56,39"
"""Three parties in the middle of the digits, and party-3 with nine pixels at their edges."""

LOGITS = {"method": "vimadmm_j", "heads": "sgd", "head_rate": 0.3}
LINEAR = LOGITS | {"method": "linear_admm", "models": "mixed"}
RUNS: dict[str, dict[str, Any]] = {
    "strips": {"parties": 8},
    "blank": {"partition": BLANK},
    "blank logits": LOGITS | {"partition": BLANK},
    "blank linear": LINEAR | {"partition": BLANK},
    "noisy": {"column_noise": "2:10"},
    "labels only": LOGITS | {"active_columns": "none", "column_noise": "3:10"},
    "deep": {"heads": "sgd", "top_layers": 2, "keep": "best", "eval_every": 2},
    "uploads noised": {"heads": "sgd", "dp_sigma": 1.0, "dp_clip": 0.01, "dp_eval": "clear"},
    "images": {"models": "cnn,lenet,mlp,mlp", "parties": 4, "participation": 0.5},
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return a folder with a complete run of each kind."""
    root = tmp_path_factory.mktemp("explained")
    for name, changes in RUNS.items():
        Sitting(replace(SMALL, **changes), root / name).run()
    yield root


@pytest.fixture
def copied(runs: Path, tmp_path: Path) -> Path:
    """Return a copy of a run that a test may change."""
    return Path(shutil.copytree(runs / "strips", tmp_path / "run"))


def findings_of(path: Path, sigma: float = 10) -> Findings:
    folder, _ = complete_run(path)
    return explain(trained(folder), sigma)


def result_of(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((path / "result.json").read_text())
    return content


# What is measured ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", RUNS)
def test_without_noise_the_parties_reach_what_the_run_reached(name: str, runs: Path) -> None:
    result, findings = result_of(runs / name), findings_of(runs / name)
    assert findings.accuracy == result["test_accuracy"]["active"] > 0.3
    assert findings.rows == 359
    expected = range(1 if name == "labels only" else 0, result["parties"])
    assert [each.party for each in findings.parties] == [
        f"party-{rank}" if rank else "active" for rank in expected
    ]
    if result["method"] == "vimadmm":
        norms = {f"head_of_{each.party}": each.norm for each in findings.parties}
        assert norms == pytest.approx(result["figures"])
    assert max(each.relative for each in findings.parties) == 1


@pytest.mark.parametrize("name", ["blank", "blank logits", "blank linear"])
def test_a_party_of_blank_pixels_is_the_least_important(name: str, runs: Path) -> None:
    *others, blank = findings_of(runs / name).parties
    assert blank.norm < 0.85 * min(each.norm for each in others)
    assert blank.drop < 0.5 * min(each.drop for each in others)


def test_parties_at_the_edges_are_less_important_and_the_ranks_agree(runs: Path) -> None:
    findings = findings_of(runs / "strips")
    first, *middle, last = findings.parties
    assert max(first.norm, last.norm) < min(each.norm for each in middle)
    assert findings.correlation is not None
    assert findings.correlation > 0.5


@pytest.mark.parametrize(("name", "noisy"), [("noisy", "party-2"), ("labels only", "party-3")])
def test_noise_in_training_is_told_and_noise_on_noise_costs_least(
    name: str, noisy: str, runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    parties = findings_of(runs / name).parties
    assert {each.party: each.trained_noise for each in parties if each.trained_noise} == {noisy: 10}
    assert min(parties, key=lambda each: each.drop).party == noisy
    assert run([str(runs / name)]) == 0
    table, names = capsys.readouterr().out, [each.party for each in parties]
    cells = [[cell.strip() for cell in line.split("│")] for line in table.splitlines()]
    told_of = {row[1]: row[3] for row in cells if row[1:2] and row[1] in names}
    assert told_of == {name: "10" if name == noisy else "-" for name in names}
    assert "noise in" in table


def test_noise_is_on_the_test_columns_of_one_party_at_a_time(runs: Path) -> None:
    """As a program says that has neither parties nor shares."""
    folder, _ = complete_run(runs / "noisy")
    cfg, parties = folder.cfg, trained(folder)
    rows = torch.from_numpy(rows_of(cfg, 1797)["test"])
    y = labels_of(cfg)[rows]

    def predicted(noisy: int) -> Tensor:
        total = torch.zeros(len(rows), 10)
        for rank, holder in enumerate(parties.holders):
            x = columns_of(cfg, rank)[rows]
            x = noised(x, 3.0, cfg.seed, rank) if rank == noisy else x
            total += holder.head(holder.party.net.embed(x))  # type: ignore[operator]
        return total

    found = explain(parties, 3.0)
    for rank, each in enumerate(found.parties):
        expected = (predicted(rank).argmax(1) == y).double().mean().item()
        assert each.accuracy == pytest.approx(expected, abs=1.5 / 359)  # a tie may be rounded apart
        assert each.drop == found.accuracy - each.accuracy
    assert findings_of(runs / "noisy", 1e-9).parties[1].drop == 0


def test_the_same_noise_comes_out_each_time(runs: Path) -> None:
    assert findings_of(runs / "strips") == findings_of(runs / "strips")


@pytest.mark.parametrize(
    ("share", "images", "says"),
    [
        ((slice(None), slice(2, 4), slice(None)), True, "rows 2-3"),
        ((slice(None), slice(None), slice(7, 8)), True, "columns 7"),
        ((slice(None), slice(0, 4), slice(4, 8)), True, "rows 0-3, columns 4-7"),
        ((slice(None), slice(None), slice(None)), True, "all"),
        (np.array([7, 0, 1, 2]), False, "columns 0-2, 7"),
        (np.arange(14), True, "pixels 0-13"),
        (np.arange(0, 14, 2), False, "7 columns"),
    ],
)
def test_what_a_party_holds_is_told(share: Any, images: bool, says: str) -> None:
    assert told(share, images) == says


# Pixels -------------------------------------------------------------------------------------------


def test_a_pixel_is_as_important_as_the_party_that_holds_it() -> None:
    strips = importance_of_pixels(load_parties(RunConfig(partition="strips")), [1, 2, 3, 4])
    assert np.array_equal(strips, np.repeat([[1.0, 2, 3, 4]], 8, 0).repeat(2, 1))
    tiles = importance_of_pixels(load_parties(RunConfig(partition="grid:2x2")), [1, 2, 3, 4])
    assert np.array_equal(tiles, np.kron([[1, 2], [3, 4]], np.ones((4, 4))))


def test_a_pixel_of_several_is_as_important_as_their_mean_and_one_of_nobody_is_blank() -> None:
    cfg = RunConfig(method="splitnn", parties=2, partition="overlapping:40")
    values = importance_of_pixels(load_parties(cfg), [1, 4]).ravel()
    assert np.array_equal(values, [1.0] * 24 + [2.5] * 16 + [4.0] * 24)
    some = importance_of_pixels(load_parties(replace(cfg, partition="strips@0,3/4")), [1, 4])
    assert np.isnan(some).sum() == np.isnan(some[:, 2:6]).sum() == 32


# Fewer parties ------------------------------------------------------------------------------------


@given(
    st.lists(st.floats(0, 100), min_size=2, max_size=30),
    st.floats(0, 100, exclude_min=True, exclude_max=True),
    st.sampled_from(("top", "bottom")),
)
def test_the_parties_that_stay_are_at_one_end(norms: list[float], percent: float, end: str) -> None:
    by_place = dict(enumerate(norms, 1))
    kept = Choice(end, percent).places(by_place)
    left = set(by_place) - set(kept)
    assert kept == sorted(set(kept))
    assert kept
    assert left
    assert abs(len(kept) - percent / 100 * len(norms)) <= 1
    inner, outer = [norms[p - 1] for p in kept], [norms[p - 1] for p in left]
    assert min(inner) >= max(outer) if end == "top" else max(inner) <= min(outer)


@pytest.mark.parametrize("text", ["top:0", "top:100", "bottom:-1", "top:nan", "top", "best:50", ""])
def test_a_choice_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="must be top:PERCENT or bottom:PERCENT"):
        Choice.read(text)


@pytest.mark.parametrize("partition", ["auto", "strips:rows", "grid:2x3", "importance:1", BLANK])
@pytest.mark.parametrize("active_columns", ["own", "none"])
def test_the_parties_that_stay_are_as_they_were(partition: str, active_columns: str) -> None:
    holders = partition.count(";") + 1 if partition == BLANK else 6
    cfg = RunConfig(
        method="vimadmm",
        partition=partition,
        active_columns=active_columns,
        parties=holders + (active_columns == "none"),
        optimizers=",".join(["sgd", "adam", "momentum", "adagrad", "sgd", "adam", "sgd"][:holders])
        + (",adam" if active_columns == "none" else ""),
    )
    places = [0, 2, 3]
    fewer = reduced(replace(cfg, column_noise="3:0.5"), places[1:])
    assert fewer.parties == 3
    assert fewer.noises() == {2: 0.5}
    fewer = replace(fewer, column_noise="")
    for rank, earlier in enumerate(places):
        assert columns_of(fewer, rank).equal(columns_of(cfg, earlier))
        for of in (RunConfig.model_of, RunConfig.optimizer_of, RunConfig.rate_of):
            assert of(fewer, rank) == of(cfg, earlier)
    least = reduced(fewer, [2])
    assert columns_of(least, 1).equal(columns_of(cfg, 3))
    changed = {"parties", "partition", "models", "optimizers"}
    for key, value in least.to_mapping().items():
        assert key in changed or value == cfg.to_mapping()[key]


def test_too_few_parties_for_the_method_are_refused() -> None:
    with pytest.raises(ConfigError, match="keeps 1 of 3 passive parties: vimadmm_j blinds"):
        reduced(RunConfig(method="vimadmm_j"), [2])


# The command --------------------------------------------------------------------------------------


def test_command_draws_writes_and_trains(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {path: path.stat().st_mtime_ns for path in runs.rglob("*")}
    accuracies, out = {}, tmp_path / "out"
    for end in ("top", "bottom"):
        arguments = [str(runs / "strips"), "--out", str(out / end), "--retrain", f"{end}:50"]
        arguments += ["--tsne", "party-1,active", "--json"]
        assert run(arguments) == 0
        printed = capsys.readouterr()
        written = json.loads(printed.out)
        accuracies[end] = written["retrained"]["accuracy"]
    assert {path: path.stat().st_mtime_ns for path in runs.rglob("*")} == before
    assert accuracies["bottom"] < accuracies["top"]

    findings = findings_of(runs / "strips")
    falling = sorted(findings.parties[1:], key=lambda each: each.norm)
    least = [each.party for each in findings.parties if each in falling[:4]]
    assert written["retrained"]["parties"] == least
    assert [each["norm"] for each in written["parties"]] == [p.norm for p in findings.parties]
    assert result_of(out / "bottom" / "bottom-50")["parties"] == 5
    assert f"{accuracies['bottom']:.2%}; with all 7: {findings.accuracy:.2%}" in " ".join(
        printed.err.split()
    )

    for name in ("importance.png", "pixels.png", "embeddings.png"):
        path = out / "top" / name
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        with Image.open(path) as image:
            assert len(image.convert("RGB").getcolors(1 << 20) or []) > 20


def test_tables_have_no_pixels_and_without_out_nothing_is_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    flags = ["--method", "linear_admm", "--dataset", "wine", "--epochs", "1", "--batch-size", "50"]
    assert simulate([*flags, "--seeds", "2", "--bounds", "off", "--out", "run"]) == 0
    before = sorted(tmp_path.rglob("*"))
    assert run(["run"]) == 0
    assert sorted(tmp_path.rglob("*")) == before
    assert run(["run", "--out", "out", "--tsne", "party-3"]) == 0
    assert sorted(path.name for path in Path("out").iterdir()) == [
        "embeddings.png",
        "importance.png",
    ]
    assert findings_of(Path("run")) == findings_of(Path("run/seed-0"))


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
        (["--noise", "0"], "--noise must be above 0"),
        (["--noise", "-1"], "--noise must be above 0"),
        (["--noise", "nan"], "--noise must be above 0"),
        (["--noise", "inf"], "--noise must be above 0"),
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


def test_a_method_that_adds_up_no_shares_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cfg = replace(SMALL, method="easter", heads="sgd", epochs=1)
    Sitting(cfg, tmp_path / "run").run()
    assert run([str(tmp_path / "run")]) == 2
    text = " ".join(capsys.readouterr().err.split())
    assert "can be explained are vimadmm, vimadmm_j, linear_admm" in text


def test_too_few_parties_are_refused_before_anything_is_drawn(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert run([str(runs / "labels only"), "--out", str(out), "--retrain", "top:10"]) == 2
    assert "--retrain keeps 1 of 3 passive parties" in " ".join(capsys.readouterr().err.split())
    assert not out.exists()


def test_a_reduced_run_with_labels_only_trains(runs: Path, tmp_path: Path) -> None:
    arguments = ["--out", str(tmp_path / "out"), "--retrain", "bottom:60"]
    assert run([str(runs / "labels only"), *arguments]) == 0
    result = result_of(tmp_path / "out" / "bottom-60")
    assert result["parties"] == 3
    assert result["models"][0] == "none"


def test_a_deployments_folder_says_what_is_missing(copied: Path) -> None:
    for rank in range(1, 8):
        shutil.rmtree(copied / f"party-{rank}")
    with pytest.raises(RunError, match="as a simulation that is complete has them"):
        complete_run(copied)
