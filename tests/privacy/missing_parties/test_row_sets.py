"""Sets of contributors: written down once for each row, whatever happens then."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vfl_flower.common.errors import PrivacyError
from vfl_flower.common.layout import ROW_SETS
from vfl_flower.privacy.missing_parties.row_sets import RowSets, decode_keys, encode_keys

keys = st.lists(st.integers(0, 2**64 - 1), max_size=50)


def keyed(*numbers: int) -> np.ndarray:
    return np.array(numbers, np.uint64)


@given(keys)
def test_keys_survive_their_text(numbers: list[int]) -> None:
    assert decode_keys(encode_keys(keyed(*numbers))).tolist() == numbers


@given(st.text(max_size=20))
def test_other_text_is_refused_or_read_as_keys(text: str) -> None:
    try:
        read = decode_keys(text)
    except ValueError:
        return
    assert len(encode_keys(read)) == len(text)


@pytest.mark.parametrize("kept", [True, False])
def test_a_row_keeps_its_set(tmp_path: Path, kept: bool) -> None:
    sets = RowSets(tmp_path if kept else None)
    sets.settle(keyed(1, 2, 2**64 - 1), ["1 2", "1 2 3", "1 2"])
    sets.settle(keyed(2, 1), ["1 2 3", "1 2"])
    with pytest.raises(PrivacyError, match="1 rows were in sums of other parties"):
        sets.settle(keyed(5, 1), ["1 2", "1 2 3"])
    sets.settle(keyed(5), ["1 3"])  # of which nothing was written above
    assert sets.others(keyed(1, 5, 6), ["1 2", "1 2", "1 2"]).tolist() == [False, True, False]


def test_it_survives_a_restart(tmp_path: Path) -> None:
    RowSets(tmp_path).settle(keyed(7, 8), ["1 2", "1 3"])
    again = RowSets(tmp_path)
    again.settle(keyed(7), ["1 2"])
    with pytest.raises(PrivacyError, match="other parties"):
        again.settle(keyed(8), ["1 2"])


def test_two_processes_know_of_each_other(tmp_path: Path) -> None:
    one, two = RowSets(tmp_path), RowSets(tmp_path)
    one.settle(keyed(1), ["1 2"])
    with pytest.raises(PrivacyError, match="other parties"):
        two.settle(keyed(1), ["2 3"])


def test_nothing_new_writes_nothing(tmp_path: Path) -> None:
    sets = RowSets(tmp_path)
    sets.settle(keyed(1, 2), ["1 2", "1 2"])
    before = (tmp_path / ROW_SETS).read_bytes()
    sets.settle(keyed(2, 1), ["1 2", "1 2"])
    assert (tmp_path / ROW_SETS).read_bytes() == before


def test_a_changed_record_is_refused(tmp_path: Path) -> None:
    RowSets(tmp_path).settle(keyed(1), ["1 2"])
    path = tmp_path / ROW_SETS
    path.write_text(path.read_text().replace("1 2", "2 3"))
    with pytest.raises(PrivacyError, match="damaged"):
        RowSets(tmp_path).settle(keyed(2), ["1 2"])
