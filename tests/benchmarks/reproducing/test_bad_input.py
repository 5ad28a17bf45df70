"""Bad input is refused in one line, before a run begins."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from benchmarks.reproducing import plan
from benchmarks.reproducing.paper import Experiment
from benchmarks.reproducing.store import Store
from tests.benchmarks.reproducing.made import ALONE, BENCHMARK, PAPER, words


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["--seeds", "0"], "argument --seeds: 0 is not 1 or more"),
        (["--jobs", "0"], "argument --jobs: 0 is not 1 or more"),
        (["--jobs", "two"], "argument --jobs: 'two' is no int"),
        (["--minutes", "-1"], "argument --minutes: -1 is not 0 or more"),
        (["--minutes", "nan"], "argument --minutes: nan is not 0 or more"),
    ],
)
def test_numbers_out_of_range(
    given: list[str], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        BENCHMARK.run(words(tmp_path, *given, "made"))
    assert told in capsys.readouterr().err
    assert not [*tmp_path.iterdir()]


def test_a_name_that_no_experiment_has(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="error: no experiment is called alnoe; did you mean 'al"):
        BENCHMARK.run(words(tmp_path, "--only", "alnoe", "made"))
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("option", ["--out", "--results"])
def test_a_folder_that_cannot_be_made(option: str, tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    taken.touch()
    with pytest.raises(SystemExit, match=r"error: .*taken/runs cannot be used: Not a directory"):
        BENCHMARK.run(words(tmp_path, option, str(taken / "runs"), "made"))
    assert not [*tmp_path.rglob("*.json")]


def test_results_that_tiny_runs_would_replace(tmp_path: Path) -> None:
    store = Store(tmp_path / "results")
    whole = {"paper": "made", "experiment": "alone", "flags": {}, "searched": [], "seeds": []}
    store.write(whole)
    with pytest.raises(SystemExit, match=r"error: results of alone in .* are of other settings"):
        BENCHMARK.run(words(tmp_path, "--scale", "small", "made:table1"))
    assert store.read("made", "alone") == whole


def test_a_result_that_is_damaged_is_named(tmp_path: Path) -> None:
    path = Store(tmp_path / "results").path("made", "alone")
    path.parent.mkdir(parents=True)
    path.write_text('{"paper": "ma')
    with pytest.raises(SystemExit, match=r"error: .*alone\.json is no result: restore it, or"):
        BENCHMARK.run(words(tmp_path, "made:table1"))
    assert path.read_text() == '{"paper": "ma'


def test_a_refused_setting_names_its_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    of = {"alone": Experiment(ALONE | {"models": "none-such"}, minutes=1)}
    refused = replace(PAPER, experiments=of, tables=PAPER.tables[:1])
    monkeypatch.setattr(plan, "papers", lambda: {"made": refused})
    with pytest.raises(SystemExit, match=r"error: made: alone, seed-0: .*none-such"):
        BENCHMARK.run(words(tmp_path, "made:table1"))


def test_data_that_a_run_cannot_use_are_not_called_absent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    of = {"alone": Experiment(ALONE | {"train-rows": "99999"}, minutes=1)}
    few = replace(PAPER, experiments=of, tables=PAPER.tables[:1])
    monkeypatch.setattr(plan, "papers", lambda: {"made": few})
    with pytest.raises(SystemExit, match=r"error: made: alone, seed-0: train-rows is 99999, and"):
        BENCHMARK.run(words(tmp_path, "made:table1"))


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_device_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="error: device is cuda, but torch finds no NVIDIA GPU"):
        BENCHMARK.run(words(tmp_path, "--device", "cuda", "made"))
    assert not [*tmp_path.iterdir()]
