"""Training from Python: tables in memory, options, folders, errors."""

import gc
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import vfl_flower as vfl
from tests.interface.conftest import Frames, made
from vfl_flower.common.errors import ConfigError, DataError, RunError
from vfl_flower.common.state import weights_from_bytes
from vfl_flower.interface.data.source import begun, source_of
from vfl_flower.interface.folders import Place
from vfl_flower.interface.progress import watch_of
from vfl_flower.protocol.observer import Observer
from vfl_flower.reporting.console.lines import out

QUICK: dict[str, Any] = {"method": "splitnn", "epochs": 1, "batch_size": 16}


class Stream:
    """A table of another library, as an Arrow stream."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)


def weights(run: vfl.Run) -> dict[str, bytes]:
    """Return all parties' weights as bytes."""
    files = sorted(run.path.glob("*/model/weights.safetensors"))
    tensors = {file.parts[-3]: weights_from_bytes(file.read_bytes()) for file in files}
    return {
        f"{party} {name}": tensor.numpy().tobytes()
        for party, each in tensors.items()
        for name, tensor in each.items()
    }


def test_the_package_is_quick_to_import() -> None:
    code = (
        "import sys, time; t = time.perf_counter(); import vfl_flower; "
        "t = time.perf_counter() - t; slow = {'torch', 'pandas', 'pyarrow'} & set(sys.modules); "
        "assert not slow and {'train', 'Table'} <= set(dir(vfl_flower)); print(t)"
    )
    told = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert float(told.stdout) < 0.3


def test_every_public_name_is_found() -> None:
    assert all(getattr(vfl, name) is not None for name in vfl.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        vfl.nothing  # noqa: B018


def test_training_is_silent_and_has_metrics(
    frames: Frames, capfd: pytest.CaptureFixture[str]
) -> None:
    run = vfl.train(frames.tables(), **QUICK)
    assert capfd.readouterr() == ("", "")
    assert 0 <= run.metrics["active"]["accuracy"] <= 1
    assert {"auc", "f1", "confusion"} <= set(run.metrics["active"])
    assert list(run.history["epoch"]) == [1]
    assert run.config.batch_size == 16 and run.complete


def test_progress_is_shown_on_request(frames: Frames, capsys: pytest.CaptureFixture[str]) -> None:
    vfl.train(frames.tables(), **QUICK, progress=True)
    assert "epoch 1" in capsys.readouterr().out


def test_a_notebook_shows_progress_unasked(monkeypatch: pytest.MonkeyPatch) -> None:
    assert type(watch_of(None).observer("run")) is Observer
    monkeypatch.setattr(out, "is_jupyter", True)
    for found, shown in ((None, "LineLog"), (object(), "_Bar")):
        monkeypatch.setattr("vfl_flower.reporting.console.progress.find_spec", lambda _: found)  # noqa: B023
        assert type(watch_of(None).observer("run")).__name__ == shown
        assert type(watch_of(False).observer("run")) is Observer


def test_tables_of_every_kind_give_the_same_weights(
    frames: Frames, run: vfl.Run, tmp_path: Path
) -> None:
    frames.bank.to_csv(tmp_path / "bank.csv", index=False)
    bank = vfl.Table(tmp_path / "bank.csv", id="customer", label="defaulted")
    arrow = pa.table(frames.shop.reset_index(drop=True))
    for shop in (
        Stream(arrow),
        arrow.to_pydict(),
        frames.shop.set_index("customer"),
    ):
        other = vfl.train([bank, vfl.Table(shop, id="customer")], **QUICK | {"epochs": 2}, seed=0)
        assert weights(other) == weights(run)


def test_the_index_of_a_frame_is_no_column(frames: Frames) -> None:
    for index in (None, pd.Index(range(len(frames.shop)), name="number")):
        shop = frames.shop.sample(frac=1) if index is None else frames.shop.set_index(index)
        assert "3 columns" in repr(vfl.Table(shop, id="customer"))


def test_categories_of_numbers_stay_categories(frames: Frames) -> None:
    shop = frames.shop.assign(kind=pd.Categorical(np.arange(len(frames.shop)) % 3))
    run = vfl.train([frames.tables()[0], vfl.Table(shop, id="customer")], **QUICK)
    encoder = (run.path / "party-1" / "model" / "encoder.json").read_text()
    assert '"kind"' in encoder and '"values"' in encoder


def test_options_are_python_values(frames: Frames) -> None:
    run = vfl.train(
        frames.tables(),
        **QUICK,
        models=["mlp", "linear"],
        learning_rates=0.01,
        seed=np.int64(3),
        loss=None,
    )
    cfg = run.config
    assert (cfg.models, cfg.learning_rates, cfg.seed) == ("mlp,linear", "0.01", 3)


@pytest.mark.parametrize(("rates", "text"), [(0.01, "0.01"), ([0.01, 0.1], "0.01,0.1")])
def test_second_names_take_the_same_values(rates: object, text: str, frames: Frames) -> None:
    place = Place()
    folder = begun(
        source_of(frames.tables()), place, task="train", options={"method": "splitnn", "lr": rates}
    )
    folder.end()
    assert folder.cfg.learning_rates == text


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"epoch": 3}, "unknown option 'epoch'; did you mean 'epochs'"),
        ({"method": "splitn"}, "unknown method 'splitn'; .*did you mean 'splitnn'"),
        ({"parties": 3}, "tables names 2 tables, and parties is 3"),
        ({"dataset": "digits"}, "dataset is no keyword"),
        ({"batch_size": 1000}, "batch-size 1000 is more than"),
        ({"lr": 0.01, "learning_rates": 0.1}, "learning-rates and lr are one option"),
        ({"callbacks": vfl.Callback()}, "callbacks has .*, not a list of vfl.Callback"),
        ({"callbacks": "mlflow"}, "callbacks has 'mlflow', not a list"),
    ],
)
def test_wrong_options_are_refused_as_on_the_command_line(
    frames: Frames, options: dict[str, Any], text: str, tmp_path: Path
) -> None:
    with pytest.raises(vfl.VflError, match=text):
        vfl.train(frames.tables(), out=tmp_path / "run", **{"method": "splitnn"} | options)
    assert not (tmp_path / "run").exists()


def test_a_folder_is_a_path(frames: Frames) -> None:
    for wrong in (3, b"run"):
        with pytest.raises(ConfigError, match="out must be the path of"):
            vfl.train(frames.tables(), out=wrong)  # type: ignore[arg-type]


def test_wrong_data_are_refused(frames: Frames) -> None:
    bank = frames.tables()[0]
    for data, text in (
        ([bank], "for each of two parties or more"),
        ([bank, frames.shop], r"must be a Table, .* not DataFrame"),
        ("digit", "did you mean 'digits'"),
    ):
        with pytest.raises(ConfigError, match=text):
            vfl.train(data)
    with pytest.raises(DataError, match="or a path, not int"):
        vfl.Table(3, id="customer")
    with pytest.raises(ConfigError, match="column 'age' must be numeric or"):
        vfl.Table(frames.bank, id="customer", columns={"age": "number"})
    with pytest.raises(DataError, match="Arrow columns: "):
        vfl.Table({"customer": [1, 2], "spent": [1.0]}, id="customer")


def test_errors_tell_the_detail_to_the_owner_of_the_data(frames: Frames) -> None:
    twice = pd.concat([frames.shop, frames.shop[frames.shop["customer"] == 50]])
    with pytest.raises(DataError, match=r"ids twice.*: 50$"):
        vfl.train([frames.tables()[0], vfl.Table(twice, id="customer")], **QUICK)


def test_labels_among_the_columns_of_another_party_are_refused_at_once(frames: Frames) -> None:
    twin = vfl.Table(frames.shop.assign(defaulted=1.0), id="customer")
    with pytest.raises(DataError, match=r"^party-1: a column has the name .*: defaulted$"):
        vfl.train([frames.tables()[0], twin], **QUICK)


def test_a_private_folder_goes_with_its_run(frames: Frames) -> None:
    run = vfl.train(frames.tables(), **QUICK)
    path = run.path
    assert path.stat().st_mode & 0o077 == 0
    del run
    gc.collect()
    assert not path.exists()


def test_a_run_needs_a_free_folder(frames: Frames, tmp_path: Path) -> None:
    (tmp_path / "kept").touch()
    with pytest.raises(RunError, match="not empty"):
        vfl.train(frames.tables(), out=tmp_path, **QUICK)
    assert [each.name for each in tmp_path.iterdir()] == ["kept"]


def test_runs_in_other_threads_are_the_same(frames: Frames, run: vfl.Run) -> None:
    made: list[vfl.Run] = []
    options = QUICK | {"epochs": 2}
    thread = threading.Thread(target=lambda: made.append(vfl.train(frames.tables(), **options)))
    thread.start()
    thread.join()
    assert weights(made[0]) == weights(run)


def test_ctrl_c_leaves_a_resumable_run(frames: Frames, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(self: Observer, step: int, losses: list[float]) -> None:
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr("vfl_flower.runs.metrics_file.MetricsFile.on_step", stop)
    with pytest.raises(KeyboardInterrupt) as caught:
        vfl.train(frames.tables(), **QUICK)
    monkeypatch.undo()
    (note,) = caught.value.__notes__
    assert "resume()" in note
    path = Path(note.split("'")[1])
    assert (path / "config.toml").is_file()


def test_new_rows_are_predicted(frames: Frames, run: vfl.Run) -> None:
    new = made(1)
    bank = vfl.Table(new.bank.drop(columns="defaulted"), id="customer")
    with pytest.warns(UserWarning, match="10 rows are not at all parties"):
        said = run.predict([bank, vfl.Table(new.shop, id="customer")])
    names = ["id", "prediction", "probability_no", "probability_yes"]
    assert list(said.columns) == names
    common = new.bank["customer"].isin(new.shop["customer"])
    assert list(said["id"]) == list(new.bank["customer"][common])  # in the order of the first table
    assert set(said["prediction"]) <= {"no", "yes"}
    assert sorted(said.attrs["missing"]["id"]) == list(range(10))


def test_frames_have_the_truth_and_rows_that_are_missing(run: vfl.Run) -> None:
    new = made(1)
    tables = [
        vfl.Table(new.bank, id="customer", label="defaulted"),
        vfl.Table(new.shop, id="customer"),
    ]
    with pytest.warns(UserWarning, match="10 rows are not at all parties"):
        said = run.predict(tables, truth=True, keep_missing=True)
    assert list(said["id"]) == list(new.bank["customer"])
    assert list(said["truth"]) == list(new.bank["defaulted"])
    assert said["prediction"].isna().sum() == said["probability_yes"].isna().sum() == 10
    own = run.predict(truth=True)
    assert (own["prediction"] == own["truth"]).mean() == run.metrics["active"]["accuracy"]
    with pytest.raises(ConfigError, match="keep_missing is of new rows"):
        run.predict(keep_missing=True)


def test_the_runs_own_rows_are_predicted(frames: Frames, run: vfl.Run) -> None:
    said = run.predict().merge(frames.bank, left_on="id", right_on="customer")
    accuracy = (said["prediction"] == said["defaulted"]).mean()
    assert accuracy == pytest.approx(run.metrics["active"]["accuracy"])
    assert len(run.predict(rows="all")) == 110
    with pytest.raises(ConfigError, match="unknown rows 'tests'"):
        run.predict(rows="tests")


def test_a_data_set_by_name() -> None:
    run = vfl.train("digits", parties=3, epochs=1, train_rows=200, baselines="off")
    assert run.config.dataset == "digits" and len(run.metrics) == 3
    assert list(run.predict().columns[:2]) == ["id", "prediction"]
