"""The command: runs that are missing, and results that are kept."""

import signal
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.reproduce import MADE
from benchmarks.reproducing import runs
from benchmarks.reproducing.paper import AT_THE_END, Experiment
from benchmarks.reproducing.readings import read
from benchmarks.reproducing.runs import Run, completed
from benchmarks.reproducing.verdicts import (
    FAILED,
    MEASURED,
    MISSED,
    NOT_RUN,
    REACHED,
    cost,
)
from tests.benchmarks.reproducing.made import ALONE, BENCHMARK, PAPER, kept, words
from vfl_flower.protocol.observer import Observer
from vfl_flower.runs.run_folder import RunFolder
from vfl_flower.workflows.local.train import train_in
from vfl_flower.workflows.local.watch import Watch


def test_what_is_missing_is_run_and_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (table,) = BENCHMARK.run(words(tmp_path, "--seeds", "1", "made:table1")).tables
    assert [table.rows[0][n] for n in (0, 6, 7)] == ["local", 1, REACHED]
    first = kept(tmp_path, "alone.json")
    assert [each["seed"] for each in first["seeds"]] == [0]
    assert (first["seeds"][0]["device"], first["seeds"][0]["precision"]) == ("cpu", "float32")
    assert first["seeds"][0]["machine"]["cores"] and first["seeds"][0]["versions"]["torch"]
    capsys.readouterr()
    BENCHMARK.run(words(tmp_path, "--seeds", "3", "made:table1"))
    told = capsys.readouterr().out
    assert "seed-1" in told
    assert "seed-0" not in told
    both = kept(tmp_path, "alone.json")["seeds"]
    assert [each["seed"] for each in both] == [0, 1]  # two at most
    assert both[0] == first["seeds"][0]


def test_a_figure_of_curves_shows_where_they_end(tmp_path: Path) -> None:
    (before,) = BENCHMARK.run(words(tmp_path, "--show", "made:figure2")).tables
    assert before.rows[0][:7] == ["local", AT_THE_END, *[None] * 4, 0]
    assert before.rows[0][7:] == [NOT_RUN, cost(PAPER.experiments["alone"])]
    (table,) = BENCHMARK.run(words(tmp_path, "--seeds", "1", "made:figure2")).tables
    (row,) = table.rows
    last = kept(tmp_path, "alone.json")["seeds"][0]["course"][-1]
    assert row[4] == pytest.approx(100 * last["validation"]["active"])
    assert [row[6], row[7]] == [1, MEASURED]


def test_experiments_without_data_are_passed_over_and_fail_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="no data set cinic10"):
        BENCHMARK.run(words(tmp_path, "--seeds", "2", "made", "--data-dir", "nowhere"))
    told = capsys.readouterr().out
    assert told.count("nowhere") == 1  # its second seed is not tried
    for verdict in (REACHED, MISSED, NOT_RUN, FAILED, MEASURED):
        assert verdict in told


def test_a_tiny_run_that_fails_fails_the_command(tmp_path: Path) -> None:
    for _ in range(2):  # it is kept, and failed then too
        with pytest.raises(SystemExit, match="broken"):
            BENCHMARK.run(words(tmp_path, "--seeds", "1", "--scale", "small", "made"))


def test_tiny_runs_have_no_verdict(tmp_path: Path) -> None:
    tiny = words(tmp_path, "--seeds", "1", "--scale", "small", "made:table1")
    (table,) = BENCHMARK.run(tiny).tables
    assert table.rows[0][6:] == [1, MADE, ""]


def test_parties_count_is_told_by_heads_and_by_noise(tmp_path: Path) -> None:
    flags = ALONE | {"method": "vimadmm", "baselines": "off", "seed": "0"}
    run = Run("made", flags, tmp_path / "run", Experiment(flags, 1, noise=100))
    seed = completed(run)
    assert seed
    parties = ("active", "party-1", "party-2")
    assert max(read(f"norm:{party}", seed) or 0 for party in parties) == 100
    noised = [read(f"noised:{party}", seed) or 0 for party in parties]
    assert max(noised) < (read("test:active", seed) or 0)
    assert read("rank-correlation", seed) is not None
    assert "heads" not in (completed(replace(run, point=True)) or {})


def test_some_experiments_are_run(tmp_path: Path) -> None:
    BENCHMARK.run(words(tmp_path, "--seeds", "1", "--only", "Alone", "made"))
    assert [path.name for path in (tmp_path / "results" / "made").iterdir()] == ["alone.json"]


def test_a_failed_run_names_the_party_and_no_file_of_this_machine(tmp_path: Path) -> None:
    flags = ALONE | {"method": "easter", "baselines": "off", "seed": "0"}
    flags |= {"optimizers": "sgd", "learning-rates": "1e30"}
    seed = completed(Run("made", flags, tmp_path / "run", Experiment(flags, 1)))
    assert seed
    assert "party-1" in seed["failed"]
    assert ".py" not in seed["failed"]


def test_results_are_shown_and_nothing_is_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = BENCHMARK.run(words(tmp_path, "--show", "made"))
    assert capsys.readouterr().out.startswith("missing: 11 runs, about ")
    assert [row[7] for table in report.tables for row in table.rows] == [NOT_RUN] * 5
    assert "about a minute for the first seed" in str(report.tables[0].rows[0][8])
    assert not [*tmp_path.iterdir()]


def test_without_time_no_run_is_made(tmp_path: Path) -> None:
    report = BENCHMARK.run(words(tmp_path, "--minutes", "1e-9", "made:table1"))
    assert [row[7] for table in report.tables for row in table.rows] == [NOT_RUN]


def _trained_again(tmp_path: Path) -> Run:
    flags = ALONE | {"method": "vimadmm", "baselines": "off", "seed": "0"}
    return Run("made", flags, tmp_path / "run", Experiment(flags, 1, retrained=("top:50",)))


def test_training_with_some_parties_goes_on_where_it_stopped(tmp_path: Path) -> None:
    run = _trained_again(tmp_path)
    whole = completed(run)
    assert whole
    (tmp_path / "run-top-50" / "top-50" / "result.json").unlink()
    again = completed(run)
    assert again
    assert again["retrained"] == whole["retrained"]
    assert (again["failed"], list(again["retrained"])) == ("", ["top:50"])


def test_what_passive_parties_learn_by_themselves_is_tested(tmp_path: Path) -> None:
    # true labels: no seed draws their noise
    flags = ALONE | {"method": "pravfed", "baselines": "off", "seed": "0", "label-privacy": "none"}
    of = Experiment(flags, 1, pretrained=True)
    short, longer = (
        completed(Run("made", flags | {"local-epochs": epochs}, tmp_path / epochs, of)) or {}
        for epochs in ("1", "8")
    )
    assert list(short["pretrained"]) == ["party-1", "party-2"]
    for party, share in longer["pretrained"].items():
        assert short["pretrained"][party] < share < longer["test_accuracy"]["active"]


class _OutOfTime(Observer):
    def on_step(self, step: int, losses: list[float]) -> None:
        if step == 2:
            signal.raise_signal(signal.SIGALRM)


def test_training_with_some_parties_that_runs_out_of_time_has_not_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, again, folders = _trained_again(tmp_path), _trained_again(tmp_path / "again"), list[Path]()
    whole = completed(run)

    def started(folder: RunFolder, watch: Watch) -> object:
        folders.append(folder.path)
        late = Watch(observer=lambda title: _OutOfTime())
        return train_in(folder, late if len(folders) == 2 else watch)

    monkeypatch.setattr(runs, "train_in", started)
    assert completed(again, 600) is None
    assert (folders[1] / "config.toml").is_file() and not (folders[1] / "result.json").is_file()
    assert whole and (completed(again) or {})["retrained"] == whole["retrained"]
    assert folders[1:] == [folders[1]] * 2
