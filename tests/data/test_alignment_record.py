"""Records of alignments: read as they were written, or refused."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vfl_flower.common.errors import RunError
from vfl_flower.common.layout import ALIGNMENT
from vfl_flower.common.state import write_state
from vfl_flower.data.alignment_record import Alignment

RECORD = Alignment(np.array([4, 0, 7]), 3, 2, "binary", "00" * 16, "digest")


def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    RECORD.save(tmp_path)
    kept = Alignment.load(tmp_path)
    assert kept.index.dtype == np.int64
    assert kept.index.tolist() == [4, 0, 7]
    assert asdict(kept) | {"index": None} == asdict(RECORD) | {"index": None}


@pytest.mark.parametrize(
    "change",
    [
        {"index": np.empty(0, np.int64)},
        {"index": np.array([[4, 0, 7]])},
        {"index": np.array([4, 0, 7], np.int32)},
        {"index": np.array([4.0, 0.0, 7.0])},
        {"parties": "3"},
        {"nonce": 0},
    ],
    ids=str,
)
def test_a_damaged_record_is_refused(change: dict[str, Any], tmp_path: Path) -> None:
    """Among others one without rows, which no alignment comes to."""
    write_state(tmp_path / ALIGNMENT, asdict(RECORD) | change)
    with pytest.raises(RunError, match="is damaged, or of another version; align the tables again"):
        Alignment.load(tmp_path)


def test_a_missing_record_is_told_of(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="is missing: align the tables first"):
        Alignment.load(tmp_path)
