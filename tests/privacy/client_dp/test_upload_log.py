"""A party's durable count of uploads."""

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from vfl_flower.common.errors import PrivacyError, RunError
from vfl_flower.privacy.client_dp.upload_log import Counts, Uploads

ROWS = np.arange(3, dtype=np.int32)


def anything(counts: Counts) -> bool:
    return True


def test_uploads_are_counted_in_a_file_of_the_partys_own(tmp_path: Path) -> None:
    folder = tmp_path / "party-1"
    for kind in ("training", "training", "evaluation"):
        assert Uploads(folder).add(kind, ROWS, anything)  # another object goes on in the same file
    assert Uploads(folder).counts() == {"training": 2, "evaluation": 1}
    (file,) = folder.iterdir()
    assert file.stat().st_mode & 0o777 == 0o600
    assert folder.stat().st_mode & 0o777 == 0o700


def test_what_is_not_allowed_is_not_counted(tmp_path: Path) -> None:
    uploads = Uploads(tmp_path)
    assert uploads.add("training", ROWS, lambda counts: counts["training"] <= 1)
    assert not uploads.add("training", ROWS, lambda counts: counts["training"] <= 1)
    assert uploads.counts() == Counts(training=1)


def test_one_party_built_many_times_at_once_counts_each_upload_once(tmp_path: Path) -> None:
    def add(number: int) -> bool:
        kind = "training" if number % 2 else "evaluation"
        return Uploads(tmp_path).add(kind, ROWS, lambda counts: counts.total() <= 40)

    with ThreadPoolExecutor(8) as pool:
        counted = list(pool.map(add, range(60)))
    assert sum(counted) == Uploads(tmp_path).counts().total() == 40


def test_a_damaged_count_is_an_error(tmp_path: Path) -> None:
    Uploads(tmp_path).add("training", ROWS, anything)
    Uploads(tmp_path).path.write_bytes(b"tt\0t")
    for use in (
        Uploads(tmp_path).counts,
        partial(Uploads(tmp_path).add, "training", ROWS, anything),
    ):
        with pytest.raises(PrivacyError, match="uploads is damaged"):
            use()


def test_a_count_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "party-1").write_text("")
    with pytest.raises(RunError, match="cannot be used"):
        Uploads(tmp_path / "party-1").add("training", ROWS, anything)
