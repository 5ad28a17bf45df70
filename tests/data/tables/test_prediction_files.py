"""Files with predictions."""

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vfl_flower.common.errors import DataError
from vfl_flower.data.tables.prediction_file import (
    check_path,
    class_names,
    prediction_columns,
    write_columns,
)


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_predictions_are_written_whole_beside_their_ids(suffix: str, tmp_path: Path) -> None:
    path, classes = tmp_path / f"out{suffix}", ("no", 'y"es')
    ids = pa.array(['a,"b', "ü", "1"], pa.large_string())
    shares = np.array([[0.25, 0.75], [1, 0], [0.5, 0.5]], np.float32)
    write_columns(path, {"id": ids} | prediction_columns(["no", 'y"es', "no"], shares, classes))
    read = pa.csv.read_csv if suffix == ".csv" else pa.parquet.read_table
    assert read(path).to_pydict() == {
        "id": ['a,"b', "ü", "1"],
        "prediction": ["no", 'y"es', "no"],
        "probability_no": [0.25, 1, 0.5],
        "probability_y_es": [0.75, 0, 0.5],
    }
    assert [each.name for each in tmp_path.iterdir()] == [path.name]
    write_columns(path, {"id": pa.array([1, 2])} | prediction_columns(np.array([0.5, 2.0])))
    assert read(path).to_pydict() == {"id": [1, 2], "prediction": [0.5, 2.0]}


def test_predictions_never_replace_what_they_come_from(tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    path.write_text("id,a\n1,2\n")
    os.link(path, tmp_path / "hard.csv")
    (tmp_path / "soft.csv").symlink_to(path)
    for name in ("own.csv", "hard.csv", "soft.csv"):
        with pytest.raises(DataError, match="is an input of this prediction"):
            check_path(tmp_path / name, [path])
    with pytest.raises(DataError, match="must end in"):
        check_path(tmp_path / "out.txt", [])
    with pytest.raises(DataError, match="cannot be written"):
        check_path(path / "out.csv", [path])
    assert path.read_text() == "id,a\n1,2\n"


@pytest.mark.parametrize(
    ("classes", "names"),
    [
        (["benign", "malignant"], ["benign", "malignant"]),
        (["<=50K", ">50K"], ["__50K", "_50K"]),
        (["a b", "a-b", "a_b_2", "a/b"], ["a_b", "a_b_3", "a_b_2", "a_b_4"]),
        (["Yes", "yes", "-1", "1", "=cmd"], ["Yes", "yes_2", "_1", "1", "_cmd"]),
        (["größer", "हिंदी", "+", "-"], ["größer", "हिंदी", "_", "__2"]),
    ],
)
def test_classes_become_names_of_columns(classes: list[str], names: list[str]) -> None:
    assert class_names(classes) == names


@given(st.lists(st.text(st.sampled_from("aA_2 -="), max_size=5), unique=True, max_size=8))
def test_names_of_columns_are_distinct_in_every_case(classes: list[str]) -> None:
    names = class_names(classes)
    assert len({name.casefold() for name in names}) == len(classes)
    for plain, name in zip(classes, names, strict=True):
        if plain.replace("_", "a").isalnum() and classes.index(plain) == 0:
            assert name == plain
