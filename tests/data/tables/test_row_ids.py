"""Ids of the rows of own tables."""

from typing import Any

import pyarrow as pa
import pytest

from tests.helpers.own_data.own_tables import Read, lines
from vfl_flower.common.errors import DataError


@pytest.mark.parametrize(
    ("written", "said", "expected"),
    [
        (["1", "-2", "30"], "", [1, -2, 30]),
        (["1", "-2", "30"], "text", ["1", "-2", "30"]),
        (["1", "02"], "", ["1", "02"]),
        (["1", "a"], "", ["1", "a"]),
        (["NA", " b "], "", ["NA", "b"]),
    ],
)
def test_ids_are_integers_or_text(
    written: list[str], said: str, expected: list[Any], table: Read
) -> None:
    read = table(lines("id,a", lambda n: f"{written[n]},{n}", len(written)), id_type=said)
    assert read.ids.to_pylist() == expected
    whole = isinstance(expected[0], int)
    assert read.ids.type == (pa.int64() if whole else pa.large_string())


@pytest.mark.parametrize(
    ("ids", "said", "told", "detail"),
    [
        (["1", "", "3", ""], "", "no id in 2 of 4 rows, first in row 2", ""),
        (["a", "b", "a"], "", "ids twice, in 1 of 3 rows", "a"),
        (["e\u0301", "\u00e9"], "", "ids twice", "\u00e9"),
        (["1", "secret"], "integer", "an id in row 2 that is no whole number", "secret"),
    ],
)
def test_ids_that_cannot_be_are_refused(
    ids: list[str], said: str, told: str, detail: str, table: Read
) -> None:
    """Text for other parties quotes no id."""
    with pytest.raises(DataError, match=f"^party-3: own.csv has .*{told}") as refusal:
        table(lines("id,a", lambda n: f"{ids[n]},{n}", len(ids)), id_type=said)
    assert refusal.value.detail == detail
    assert not detail or len(detail) == 1 or detail not in str(refusal.value)
