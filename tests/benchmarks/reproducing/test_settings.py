"""Results are those of the settings asked for."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.reproducing import plan, small
from benchmarks.reproducing.paper import Cell, Experiment, Search, Table
from benchmarks.reproducing.verdicts import NOT_RUN
from tests.benchmarks.reproducing.made import ALONE, BENCHMARK, PAPER, kept, words


def run_results(tmp_path: Path) -> list[Path]:
    """Return the results of all runs, there or not."""
    return [each / "result.json" for each in (tmp_path / "out").iterdir()]


def last_epoch(tmp_path: Path) -> int:
    epoch: int = kept(tmp_path, "alone.json")["seeds"][0]["course"][-1]["epoch"]
    return epoch


def test_changed_settings_are_run_anew_in_the_same_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    BENCHMARK.run(words(tmp_path, "--seeds", "1", "made:table1"))
    assert last_epoch(tmp_path) == 1
    longer = Experiment(ALONE | {"epochs": "2"}, minutes=1)
    monkeypatch.setitem(PAPER.experiments, "alone", longer)
    (before,) = BENCHMARK.run(words(tmp_path, "--show", "made:table1")).tables
    assert before.rows[0][7] == NOT_RUN  # what there is, has other settings
    BENCHMARK.run(words(tmp_path, "--seeds", "1", "made:table1"))
    assert kept(tmp_path, "alone.json")["flags"]["epochs"] == "2"
    assert last_epoch(tmp_path) == 2


def test_a_tiny_run_is_not_taken_for_a_whole_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(small, "LEAST", {"epochs": "1"})  # the settings of the whole one
    BENCHMARK.run(words(tmp_path, "--seeds", "1", "--scale", "small", "made:table1"))
    (tmp_path / "results").rename(tmp_path / "tiny")
    BENCHMARK.run(words(tmp_path, "--seeds", "1", "made:table1"))
    assert [path.is_file() for path in run_results(tmp_path)] == [True, True]


def test_another_precision_is_another_run(tmp_path: Path) -> None:
    whole = words(tmp_path, "--seeds", "1", "made:table1")
    BENCHMARK.run(whole)
    (tmp_path / "results").rename(tmp_path / "whole")
    BENCHMARK.run([*whole, "--precision", "bf16"])
    assert [path.is_file() for path in run_results(tmp_path)] == [True, True]


def test_a_search_of_other_points_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    BENCHMARK.run(words(tmp_path, "--seeds", "1", "made:table2"))
    other = Search({"learning-rates": ("0.001", "0.02", "0.01")})
    monkeypatch.setitem(PAPER.experiments, "chosen", Experiment(ALONE, minutes=2, search=other))
    BENCHMARK.run(words(tmp_path, "--seeds", "1", "made:table2"))
    found = kept(tmp_path, "chosen.json")
    tried = {each["flags"]["learning-rates"] for each in found["searched"]}
    assert tried == {"0.001", "0.02", "0.01"}
    assert found["chosen"]["learning-rates"] in tried
    assert found["seeds"]


def test_misspelt_values_are_refused(tmp_path: Path) -> None:
    for wrong in (("--scale", "smal"), ("--precision", "bf17"), ("--device", "gpu")):
        with pytest.raises(SystemExit, match="2"):
            BENCHMARK.run(words(tmp_path, *wrong, "made:table1"))


def test_an_experiments_own_precision_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    halved = Experiment(ALONE | {"precision": "bf16"}, minutes=1)
    monkeypatch.setitem(PAPER.experiments, "alone", halved)
    BENCHMARK.run(words(tmp_path, "--seeds", "1", "made:table1"))
    assert kept(tmp_path, "alone.json")["seeds"][0]["precision"] == "bf16"


def test_settings_are_chosen_on_validation_rows(tmp_path: Path) -> None:
    BENCHMARK.run(words(tmp_path, "--seeds", "2", "made:table2", "made:figure1"))
    found = kept(tmp_path, "chosen.json")
    assert len(found["searched"]) == 3  # one of them is refused
    assert found["chosen"] == {"learning-rates": "0.01"}
    assert len(found["seeds"]) == 2
    assert kept(tmp_path, "broken.json")["seeds"][0]["failed"]


def test_a_point_that_was_tried_twice_is_no_other_point(tmp_path: Path) -> None:
    """Two commands at once may both have tried it."""
    BENCHMARK.run(words(tmp_path, "--seeds", "1", "made:table2"))
    found = kept(tmp_path, "chosen.json")
    others = [each for each in found["searched"] if each["flags"] != found["chosen"]]
    twice = found | {"searched": [*others, others[0]], "chosen": {}, "seeds": []}
    (tmp_path / "results" / "made" / "chosen.json").write_text(json.dumps(twice))
    BENCHMARK.run(words(tmp_path, "--seeds", "1", "made:table2"))
    assert kept(tmp_path, "chosen.json")["chosen"] == found["chosen"]


def test_equal_runs_are_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Seed 0 of a choice is one of its points, too."""
    for name in ("alone", "chosen"):
        monkeypatch.setitem(PAPER.experiments, f"like {name}", PAPER.experiments[name])
    asked = {"alone", "like alone", "chosen", "like chosen"}
    table = Table("table1", "", "", tuple(Cell("", "", name) for name in asked))
    monkeypatch.setattr(plan, "papers", lambda: {"made": replace(PAPER, tables=(table,))})
    BENCHMARK.run(words(tmp_path, "--seeds", "2", "made:table1"))
    assert sum(path.is_file() for path in run_results(tmp_path)) == 2 + 2 + 1
    for name in asked:
        seeds = kept(tmp_path, name.replace(" ", "-") + ".json")["seeds"]
        assert [each["seed"] for each in seeds] == [0, 1]
