"""Tables in memory: copies, types, columns that are not used."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import vfl_flower as vfl
from vfl_flower.common.errors import ConfigError, DataError, RunError
from vfl_flower.config.run_config import RunConfig
from vfl_flower.data.tables.description import described
from vfl_flower.data.tables.reader import read_table
from vfl_flower.interface.data.labels import type_labels


def written(table: vfl.Table, folder: Path) -> dict[str, list[Any]]:
    """Return the cells that a run would read."""
    (folder / "table").mkdir(exist_ok=True)
    table.write(folder)
    cells: dict[str, list[Any]] = pq.read_table(folder / "table" / "table.parquet").to_pydict()
    return cells


def cfg_of(active: vfl.Table, folder: Path) -> RunConfig:
    """Return the options of a run with a table."""
    written(active, folder)
    table = folder / "table" / "table.toml"
    return RunConfig(method="splitnn", dataset="own", parties=2, tables=f"{table},{table}")


def test_later_changes_of_a_frame_do_not_reach_its_table(tmp_path: Path) -> None:
    columns = {"id": np.arange(5), "a": np.zeros(5)}
    frame = pd.DataFrame(columns)
    tables = [vfl.Table(columns, id="id"), vfl.Table(frame, id="id")]
    columns["a"][0] = columns["id"][0] = 77
    frame.loc[0, "a"] = 77.0
    frame["a"].array._ndarray[1] = 77.0  # as one that writes to its memory does
    for table in tables:
        assert written(table, tmp_path) == {"id": [0, 1, 2, 3, 4], "a": [0] * 5}


def test_a_named_range_index_is_a_column(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": [1.0, 2.0]}, index=pd.RangeIndex(2, name="id"))
    assert written(vfl.Table(frame, id="id"), tmp_path)["id"] == [0, 1]


def test_names_of_columns_need_not_be_text() -> None:
    frame = pd.DataFrame(np.zeros((3, 2)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "2 columns" in repr(vfl.Table(frame, id="0"))


def test_categories_of_intervals_are_refused_with_a_remedy() -> None:
    frame = pd.DataFrame({"id": range(6), "age": pd.cut(np.arange(6.0), 3)})
    with pytest.raises(DataError, match=r"column age .* astype\(str\)"):
        vfl.Table(frame, id="id")


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ({"id": None}, "id must be the name of one column"),
        ({"id": 0}, "id must be"),
        ({"id": ["id", 1]}, "id must be"),
        ({"id": ["id", "nobody"]}, "no column 'nobody'; it has id, a"),
        ({"id": ["id", "a"], "id_type": ["text"]}, "id-type lists 1 types, and id 2 columns"),
        ({"label": 0}, "label must be the name of a column"),
        ({"label": pd.Series([1, 2])}, "label must be"),
        ({"columns": ["a"]}, "columns must be uses by name"),
        ({"columns": {0: "numeric"}}, "columns must be uses by name"),
        ({"missing": "NA"}, "missing must be a list of texts"),
        ({"id": "nobody"}, "no column 'nobody'; it has id, a"),
    ],
)
def test_what_is_said_of_a_table_is_checked(said: dict[str, Any], text: str) -> None:
    with pytest.raises((ConfigError, DataError), match=text):
        vfl.Table({"id": [1, 2], "a": [1, 2]}, **{"id": "id"} | said)


def test_no_label_may_be_said() -> None:
    assert "label" not in repr(vfl.Table({"id": [1], "a": [1]}, id="id", label=None))


LABELS = [
    np.array([0, 1], np.int32),
    np.array([False, True]),
    np.array([0.0, 1.0]),
    np.array(["no", "yes"]),
    pd.Categorical([3, 4]),
]


@pytest.mark.parametrize("labels", LABELS)
def test_classes_come_back_in_the_type_of_labels(labels: Any, tmp_path: Path) -> None:
    frame = pd.DataFrame({"id": [0, 1], "y": labels})
    cfg = cfg_of(vfl.Table(frame, id="id", label="y"), tmp_path)
    label = read_table(described(cfg, 0), "active").label
    assert label
    said = pd.DataFrame({"prediction": label.values})
    type_labels(said, cfg)
    assert (said["prediction"] == frame["y"].to_numpy()).all()


def test_classes_of_a_table_that_is_gone_are_text(tmp_path: Path) -> None:
    cfg = cfg_of(vfl.Table({"id": [0, 1], "y": [0, 1]}, id="id", label="y"), tmp_path)
    for file in ("table.parquet", "table.toml"):
        (tmp_path / "table" / file).unlink()
        said = pd.DataFrame({"prediction": ["0", "1"]})
        type_labels(said, cfg)
        assert list(said["prediction"]) == ["0", "1"]


def test_a_saved_run_predicts_in_the_type_of_labels(tmp_path: Path) -> None:
    x = np.random.default_rng(0).normal(size=(100, 2))
    parts = [vfl.Arrays(x[:, 0], x[:, 0] > 0), vfl.Arrays(x[:, 1])]
    run = vfl.train(parts, method="splitnn", epochs=3, batch_size=16, baselines="off")
    run.save(tmp_path / "run")
    run = vfl.load(tmp_path / "run")
    new = run.predict([vfl.Arrays(x[:9, 0]), vfl.Arrays(x[:9, 1])])
    for said in (run.predict(), new):
        assert said["prediction"].dtype == bool


def test_columns_that_cannot_be_used_are_named(tmp_path: Path) -> None:
    rows = 200
    frame = pd.DataFrame({"id": range(rows), "a": 1.0, "y": np.arange(rows) % 2})
    frame["when"] = pd.date_range("2020", periods=rows)
    frame["list"] = [[1]] * rows
    frame["bytes"] = [b"x"] * rows
    frame["void"] = np.nan
    frame["name"] = [f"customer {n}" for n in range(rows)]
    frame["said"] = frame["when"]
    (tmp_path / "other").touch()
    table = vfl.Table(frame, id="id", label="y", columns={"said": "ignored"})
    assert [*table.unused()] == ["list", "bytes", "void", "name"]
    with (
        pytest.warns(UserWarning, match=r"active: .*list \(of type list.*'ignored' too") as caught,
        pytest.raises(RunError),  # before any work
    ):
        passive = vfl.Table(frame[["id", "a"]], id="id")
        vfl.train([table, passive], method="splitnn", batch_size=16, out=tmp_path)
    assert caught[0].filename == __file__


def test_a_warning_names_the_marks_of_the_caller_s_own_frame() -> None:
    told = [*map(str, range(300)), *["unknown"] * 9]
    frame = pd.DataFrame({"id": range(len(told)), "a": told})
    assert 'missing = ["unknown", "NA",' in vfl.Table(frame, id="id").unused()["a"]


@pytest.mark.parametrize(
    ("first", "second", "text"),
    [
        ({}, {}, "names no label; use Table"),
        ({"label": "z"}, {}, "active: its table has no column 'z'"),
        ({"label": "y", "columns": {"b": "numeric"}}, {}, "active: its table has no column 'b'"),
        ({"label": "y"}, {"label": "y"}, "party-1: its table names a label"),
    ],
)
def test_errors_of_tables_in_memory_name_no_file(
    first: dict[str, Any], second: dict[str, Any], text: str
) -> None:
    columns = {"id": [0, 1], "y": [0, 1]}
    tables = [vfl.Table(columns, id="id", **each) for each in (first, second)]
    with pytest.raises((ConfigError, DataError), match=text):
        vfl.train(tables)


def test_categories_as_polars_holds_them_are_categories(tmp_path: Path) -> None:
    words = pa.array(["u", "v"], pa.string_view())
    codes = pa.array([0, 1, 1, None], pa.uint32())
    cells = pa.table({"id": [1, 2, 3, 4], "kind": pa.DictionaryArray.from_arrays(codes, words)})
    assert written(vfl.Table(cells, id="id"), tmp_path)["kind"] == ["u", "v", "v", None]


def test_several_labels_are_learnt_and_predicted_in_their_types(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    x = random.normal(size=(100, 2))
    labels = {"fraud": (x[:, 0] > 0).astype(np.int64), "late": x[:, 1] > 0}
    bank = vfl.Table({"id": range(100), "a": x[:, 0], **labels}, id="id", label=[*labels])
    shop = vfl.Table({"id": range(100), "b": x[:, 1]}, id="id")
    assert bank.labels == ("fraud", "late") and "label=['fraud', 'late']" in repr(bank)
    run = vfl.train([bank, shop], method="splitnn", epochs=1, batch_size=16)
    assert {"f1", "micro_f1", "subset_accuracy", "auc"} <= set(run.metrics["active"])
    said = run.predict([bank, shop], truth=True)
    assert (said["truth_fraud"] == labels["fraud"]).all() and said["truth_late"].dtype == bool
    assert said["prediction_fraud"].dtype == np.int64 and said["prediction_late"].dtype == bool
    assert ((said["probability_late"] > 0.5) == said["prediction_late"]).all()
    with pytest.raises(DataError, match="no column 'lat'"):
        vfl.train([vfl.Table({"id": [1], "fraud": [0]}, id="id", label=["fraud", "lat"]), shop])
    with pytest.raises(ConfigError, match="label must be the name of a column, or a list"):
        vfl.Table({"id": [1]}, id="id", label=3)  # type: ignore[arg-type]
