"""A party's durable count of each row's uploads."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from vfl_flower.common.codec import Array
from vfl_flower.common.errors import PrivacyError
from vfl_flower.privacy.client_dp.row_level.upload_log import RowUploads
from vfl_flower.privacy.client_dp.upload_log import Counts, Uploads

COSTS = {"training": 2, "evaluation": 1}


def rows(*numbers: int) -> Array:
    return np.array(numbers, np.int32)


def anything(counts: Counts) -> bool:
    return True


def test_the_busiest_row_is_counted(tmp_path: Path) -> None:
    for kind, named in (
        ("training", rows(0, 1)),
        ("training", rows(1, 5)),  # beyond the file's end so far
        ("evaluation", rows(2, 3)),
        ("evaluation", rows(1, 2)),
    ):
        uploads = RowUploads(tmp_path, COSTS)  # another object goes on in the same file
        reached = uploads.after(kind, named)
        assert uploads.add(kind, named, anything)
        assert uploads.counts() == reached
    assert RowUploads(tmp_path, COSTS).counts() == {
        "training": 2,
        "evaluation": 2,
        "row_training": 2,
        "row_evaluation": 2,
        "row": 5,  # row 1: twice in training, once in evaluation
    }
    (file,) = tmp_path.iterdir()
    assert file.stat().st_mode & 0o777 == 0o600


def test_an_evaluation_without_noise_costs_nothing(tmp_path: Path) -> None:
    uploads = RowUploads(tmp_path, {"training": 2, "evaluation": 0})
    for _ in range(3):
        uploads.add("evaluation", rows(4), anything)
    assert uploads.counts() == Counts(evaluation=3, row_evaluation=3)


def test_what_is_not_allowed_is_not_counted(tmp_path: Path) -> None:
    uploads = RowUploads(tmp_path, COSTS)
    allowed = [
        uploads.add("training", named, lambda counts: counts["row"] <= 2)
        for named in (rows(0, 1), rows(2), rows(1, 2), rows(3))
    ]
    assert allowed == [True, True, False, True]
    assert uploads.after("training", rows(0))["row"] == 4
    assert uploads.counts()["training"] == 3


def test_one_party_built_many_times_at_once_counts_each_upload_once(tmp_path: Path) -> None:
    def add(number: int) -> bool:
        kind = "training" if number % 2 else "evaluation"
        counted = RowUploads(tmp_path, COSTS)
        return counted.add(kind, rows(number % 5), lambda counts: counts["row"] <= 9)

    with ThreadPoolExecutor(8) as pool:
        counted = list(pool.map(add, range(60)))
    counts = RowUploads(tmp_path, COSTS).counts()
    assert sum(counted) == counts["training"] + counts["evaluation"]
    assert 8 <= counts["row"] <= 9


@pytest.mark.parametrize("named", [rows(), rows(3, 4, 3)])
def test_unnamed_rows_and_rows_named_twice_are_refused(named: Array, tmp_path: Path) -> None:
    uploads = RowUploads(tmp_path, COSTS)
    with pytest.raises(PrivacyError, match=r"unnamed rows|a row twice"):
        uploads.add("training", named, anything)
    assert not uploads.counts().total()


@pytest.mark.parametrize("cut", [0, 3, 28, 35, 51])
def test_a_damaged_or_lost_count_is_an_error(cut: int, tmp_path: Path) -> None:
    uploads = RowUploads(tmp_path, COSTS)
    uploads.add("training", rows(0, 1, 2), anything)
    uploads.path.write_bytes(uploads.path.read_bytes()[:cut])
    with pytest.raises(PrivacyError, match=r"damaged|cut short"):
        uploads.counts()
    uploads.path.unlink()
    with pytest.raises(PrivacyError, match="missing or cut short"):
        uploads.add("training", rows(3), anything)


def test_counts_of_letters_and_of_rows_are_not_read_as_each_other(tmp_path: Path) -> None:
    for _ in range(36):  # as long as a header and a row
        Uploads(tmp_path).add("training", rows(0), anything)
    with pytest.raises(PrivacyError, match="damaged"):
        RowUploads(tmp_path, COSTS).counts()
    (tmp_path / "uploads").unlink()
    RowUploads(tmp_path, COSTS).add("training", rows(0), anything)
    with pytest.raises(PrivacyError, match="damaged"):
        Uploads(tmp_path).counts()
