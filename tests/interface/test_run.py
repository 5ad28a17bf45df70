"""Runs from Python: kept, loaded, resumed, shown, attacked."""

import pickle
import shutil
import signal
import tomllib
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import vfl_flower as vfl
from tests.interface.conftest import Frames
from tests.interface.test_train import QUICK, weights
from vfl_flower.cli.main import run as command
from vfl_flower.common.errors import ConfigError, DataError, PrivacyError, RunError


@pytest.fixture(scope="module")
def digits() -> vfl.Run:
    """Train with images once for all tests."""
    options: dict[str, Any] = {"train_rows": 200, "epochs": 1, "baselines": "off", "batch_size": 64}
    return vfl.train("digits", method="vimadmm", parties=3, **options)


def test_a_saved_run_is_whole_wherever_it_is(frames: Frames, tmp_path: Path) -> None:
    run = vfl.train(frames.tables(), **QUICK)
    before, said = weights(run), run.predict()
    private = run.path
    run.save(tmp_path / "kept")
    assert run.path == tmp_path / "kept" and not private.exists()
    shutil.move(tmp_path / "kept", tmp_path / "moved")
    loaded = vfl.load(tmp_path / "moved")
    assert weights(loaded) == before
    assert loaded.predict().equals(said)
    assert tomllib.loads((loaded.path / "config.toml").read_text())["tables"] == ""
    out = tmp_path / "said.csv"
    assert command(["predict", str(loaded.path), "--rows", "test", "--out", str(out)]) == 0


def test_nothing_is_replaced_by_a_run(run: vfl.Run, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    with pytest.raises(RunError, match="there exists; choose another folder"):
        run.save(tmp_path / "there")
    assert list(tmp_path.iterdir()) == [tmp_path / "there"]


def test_a_run_in_a_private_folder_has_no_copies(run: vfl.Run) -> None:
    for copy in (deepcopy, pickle.dumps):
        with pytest.raises(RunError, match=r"a private temporary folder, .* save it first"):
            copy(run)


def test_a_run_is_not_saved_into_itself(run: vfl.Run) -> None:
    with pytest.raises(RunError, match="lies in the folder of the run itself"):
        run.save(run.path / "active" / "copy")


def test_a_run_in_a_folder_of_its_own_is_copied(frames: Frames, tmp_path: Path) -> None:
    run = vfl.train(frames.tables(), **QUICK, out=tmp_path / "run")
    again = pickle.loads(pickle.dumps(deepcopy(run)))  # noqa: S301
    assert again.path == run.path and again.metrics == run.metrics
    run.save(tmp_path / "copy")
    assert run.path == tmp_path / "run"
    assert weights(vfl.load(tmp_path / "copy")) == weights(run)
    (tmp_path / "secret").write_text("of somebody")
    (run.path / "active" / "link").symlink_to(tmp_path / "secret")
    with pytest.raises(RunError, match="run/active/link is a link"):
        run.save(tmp_path / "leak")
    assert not (tmp_path / "leak").exists()
    shutil.move(run.path, tmp_path / "moved")
    with pytest.raises(RunError, match=r"no run in .*run any more: it was moved"):
        run.metrics  # noqa: B018


def test_a_privacy_account_is_not_copied(frames: Frames, tmp_path: Path) -> None:
    options = QUICK | {
        "dp_sigma": 5.0,
        "method": "fdml",
        "blinding": "none",
        "out": tmp_path / "run",
    }
    run = vfl.train(frames.tables(), **options)
    with pytest.raises(PrivacyError, match="would count uploads apart"):
        run.save(tmp_path / "copy")


def test_an_interrupted_run_is_resumed(frames: Frames, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = vfl.train(frames.tables(), **QUICK | {"epochs": 3})
    steps = iter(range(1, 100))

    def stop(*args: object) -> None:
        if next(steps) == 9:
            signal.raise_signal(signal.SIGINT)

    with monkeypatch.context() as patched:
        patched.setattr("vfl_flower.runs.metrics_file.MetricsFile.on_step", stop)
        with pytest.raises(KeyboardInterrupt) as caught:
            vfl.train(frames.tables(), **QUICK | {"epochs": 3})
    run = vfl.load(caught.value.__notes__[0].split("'")[1])
    assert not run.complete and "not complete" in repr(run)
    with pytest.raises(RunError, match="resume it first"):
        run.predict()
    with pytest.raises(RunError, match="started with another configuration: seed is 0, not 1"):
        run.resume(seed=1)
    assert run.resume().complete
    assert weights(run) == weights(whole)
    shutil.rmtree(run.path)


def test_a_relative_folder_stays_where_it_is(
    frames: Frames, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path)
    run = vfl.train(frames.tables(), **QUICK, out="run")
    loaded, saved = vfl.load("run"), run.save("copy")
    monkeypatch.chdir("other")
    assert run.metrics == loaded.metrics == vfl.load(saved).metrics
    assert saved == tmp_path / "copy"


@pytest.mark.parametrize(
    ("ask", "text"),
    [
        (lambda run: vfl.load(None), "path must be the path of"),  # type: ignore[arg-type]
        (lambda run: vfl.Sweep(None), "path must be the path of"),  # type: ignore[arg-type]
        (lambda run: run.save(None), "path must be the path of"),
        (lambda run: run.report(3), "page must be the path of"),
        (lambda run: run.explain(noise="x"), "noise must be a number, not 'x'"),
        (lambda run: run.explain(rows=3), "rows must be a text, not 3"),
        (lambda run: run.explain(metric=2), "metric must be a text, not 2"),
        (lambda run: run.explain(party=1), "party must be a text, not 1"),
        (lambda run: run.explain(repeats=1.5), "repeats must be a whole number, not 1.5"),
        (lambda run: run.explain(3, party="active"), "noise is about all parties"),
        (lambda run: run.audit(epochs="1"), "epochs must be a whole number, not '1'"),
        (lambda run: run.audit(known=1.5), "known must be a whole number, not 1.5"),
        (lambda run: run.audit(3), "attack must be a text, not 3"),
        (lambda run: run.predict(rows=3), "rows must be a text, not 3"),
        (lambda run: run.predict("test"), "tables must be a list with a Table .*, not 'test'"),
        (lambda run: run.predict(pd.DataFrame()), "tables must be a list .*, not DataFrame"),
        (lambda run: run.predict([3]), "tables must be a list .*: 1 given for 2 parties"),
        (lambda run: run.predict([3, 4], rows="all"), "rows is of the run's own data"),
        (lambda run: vfl.align("ab"), "tables must be a list .*, not 'ab'"),
        (lambda run: vfl.align([]), "tables must be a list .*: 0 given for two or more"),
    ],
)
def test_an_argument_of_another_type_is_refused(
    run: vfl.Run, ask: Callable[[vfl.Run], object], text: str
) -> None:
    with pytest.raises(ConfigError, match=text):
        ask(run)


def test_what_holds_no_run_is_not_loaded(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="holds no run"):
        vfl.load(tmp_path)
    (tmp_path / "seeds.json").touch()
    with pytest.raises(RunError, match="load one of its folders"):
        vfl.load(tmp_path)


@pytest.mark.slow
def test_curves_and_a_page_are_drawn(run: vfl.Run, tmp_path: Path) -> None:
    figure = run.plot()
    assert len(figure.axes) == 3 and figure.axes[0].lines
    assert figure._repr_png_().startswith(b"\x89PNG")  # type: ignore[attr-defined]
    page = run.report(tmp_path / "page.html")
    assert "splitnn" in page.read_text()
    with pytest.raises(ConfigError, match=r"must name an \.html file"):
        run.report(tmp_path / "page.png")


def test_parties_are_explained(digits: vfl.Run, run: vfl.Run) -> None:
    found = digits.explain(repeats=1)
    assert list(found["party"]) == ["active", "party-1", "party-2"]
    assert found.attrs["score"] - found["permuted"][1] == pytest.approx(found["drop"][1])
    assert {"norm", "relative", "noise_accuracy", "noise_drop"} <= {*found}
    assert digits.explain(1e-9, repeats=1)["noise_drop"].abs().max() == 0
    with pytest.raises(ConfigError, match="noise must be above 0"):
        digits.explain(noise=0)
    found = run.explain(rows="test", repeats=3)
    assert list(found["holds"]) == ["3 columns", "2 columns"]
    assert (found["low"] <= found["high"]).all() and found.attrs["metric"] == "accuracy"
    with pytest.raises(ConfigError, match="noise is about the parties' heads"):
        run.explain(noise=3)


def test_columns_of_one_party_are_explained_in_its_folder(run: vfl.Run) -> None:
    found = run.explain(party="active", rows="test")
    assert list(found["column"]) == ["income", "age", "branch"]
    assert found.attrs["party"] == "active"
    assert (run.path / "active" / "explanation.json").stat().st_mode & 0o777 == 0o600
    assert not list((run.path / "party-1").glob("explanation.json"))


def test_labels_are_attacked(run: vfl.Run, frames: Frames) -> None:
    found = run.audit(epochs=1, known=3)
    assert found["rows"] == 79 and found["found"]
    for options, text in (
        ({"attack": "label"}, "did you mean 'labels'"),
        ({"epochs": 0}, "epochs must be at least 1"),
        ({"attack": "reconstruct"}, "no feature maps are sent"),
    ):
        with pytest.raises(ConfigError, match=text):
            run.audit(**options)


def test_an_alignment_serves_several_runs(frames: Frames, run: vfl.Run) -> None:
    aligned = vfl.align(frames.tables())
    assert aligned.rows == 110
    other = vfl.train(frames.tables(), **QUICK | {"epochs": 2}, alignment=aligned)
    assert weights(other) == weights(run)
    found = vfl.sweep(frames.tables(), over={"lr": [0.1]}, trials=1, **QUICK, alignment=aligned)
    gone, aligned = aligned.path, vfl.align(frames.tables())
    assert not gone.exists()
    for each in (other, found.best):
        assert len(each.predict(rows="all")) == 110
    frames.shop.iloc[0, 1] += 1
    with pytest.raises(DataError, match="has changed since the tables were aligned"):
        vfl.train(frames.tables(), **QUICK, alignment=aligned)
    frames.shop.iloc[0, 1] -= 1


def test_folders_of_parties_are_their_owners_alone(run: vfl.Run) -> None:
    parties = [run.path / party for party in ("active", "party-1")]
    assert [each.stat().st_mode & 0o777 for each in parties] == [0o700, 0o700]
