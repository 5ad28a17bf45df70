"""Files with predictions."""

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from vfl_flower.common.errors import DataError
from vfl_flower.data.tables.prediction_file import check_path, write_predictions


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_predictions_are_written_whole_beside_their_ids(suffix: str, tmp_path: Path) -> None:
    path, classes = tmp_path / f"out{suffix}", ("no", 'y"es')
    ids = pa.array(['a,"b', "ü", "1"], pa.large_string())
    shares = np.array([[0.25, 0.75], [1, 0], [0.5, 0.5]], np.float32)
    write_predictions(path, ids, ["no", 'y"es', "no"], shares, classes)
    read = pa.csv.read_csv if suffix == ".csv" else pa.parquet.read_table
    assert read(path).to_pydict() == {
        "id": ['a,"b', "ü", "1"],
        "prediction": ["no", 'y"es', "no"],
        "probability of no": [0.25, 1, 0.5],
        'probability of y"es': [0.75, 0, 0.5],
    }
    assert [each.name for each in tmp_path.iterdir()] == [path.name]
    write_predictions(path, pa.array([1, 2]), np.array([0.5, 2.0]))
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
