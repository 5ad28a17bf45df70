"""Equality of ids, and refused columns of ids."""

from typing import Any
from unicodedata import normalize
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vfl_flower.common.errors import DataError
from vfl_flower.crypto import hashed_ids as module
from vfl_flower.crypto.curve25519 import tags
from vfl_flower.crypto.hashed_ids import normalised

TEXT = st.text(st.characters(exclude_categories=["Cs"])).filter(str.strip)


def same(a: object, b: object) -> bool:
    """Tell whether two ids count as one."""
    return normalised([a]).hashed.tobytes() == normalised([b]).hashed.tobytes()


@given(TEXT, TEXT)
def test_text_is_compared_in_nfc_without_blanks_around(a: str, b: str) -> None:
    assert same(a, b) == (normalize("NFC", a).strip() == normalize("NFC", b).strip())
    assert same(a, f" \t{normalize('NFD', a)}\u2003\n")


@given(st.integers(), st.integers())
def test_numbers_are_compared_as_numbers(a: int, b: int) -> None:
    assert same(a, b) == (a == b)
    assert not same(a, str(a))


def test_case_and_blanks_inside_count() -> None:
    assert not same("Anna", "anna")
    assert not same("Anna B", "AnnaB")
    assert not same("7", "07")


@pytest.mark.parametrize(
    ("values", "kind"),
    [(["b", "a", "ä"], "text"), ([3, -1, 2**40], "whole numbers")],
)
def test_every_container_reads_alike(values: list[Any], kind: str) -> None:
    pa = pytest.importorskip("pyarrow")
    columns: list[Any] = [
        values,
        tuple(values),
        np.array(values),
        np.array(values, object),
        pa.array(values),
        pa.chunked_array([values[:1], values[1:]]),
    ]
    if kind == "text":
        columns += [np.array(values, np.dtypes.StringDType()), pa.array(values, pa.large_string())]
    for column in columns:
        read = normalised(column)
        assert read.kind == kind
        assert (read.hashed == normalised(values).hashed).all()
        assert read.rows.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("column", "text", "detail"),
    [
        ([], "no ids", ""),
        (["a", None], "a row has no id", "row 1"),
        (np.array([1.0, np.nan]), "a row has no id", "row 1"),
        (["a", " \n"], "only blanks", "row 1"),
        (["\ud800"], "no Unicode text", "row 0"),
        ([1.5], "not float", ""),
        ([True], "not bool", ""),
        ([b"a"], "not bytes", ""),
        (["a", 1], "not int, str", ""),
    ],
)
def test_unusable_ids_are_refused(column: Any, text: str, detail: str) -> None:
    """Public text names no row; the detail for the own party does."""
    with pytest.raises(DataError, match=text) as refused:
        normalised(column)
    assert refused.value.detail.startswith(detail)
    assert "row 1" not in str(refused.value)


def test_a_column_that_changes_its_type_later_is_refused() -> None:
    with (
        patch.object(module, "CHUNK", 2),
        pytest.raises(DataError, match="some ids are text and some are whole numbers"),
    ):
        normalised(["a", "b", 3])


@given(st.lists(st.sampled_from("abcdefg"), min_size=1), st.sampled_from([1, 3, 100]))
def test_duplicates_are_refused_or_the_first_counts(column: list[str], chunk: int) -> None:
    firsts = [i for i, value in enumerate(column) if value not in column[:i]]
    padded = [value if i % 2 else f"{value} " for i, value in enumerate(column)]
    with patch.object(module, "CHUNK", chunk):
        kept = normalised(padded, "first")
        assert kept.rows.tolist() == firsts
        assert (tags(kept.hashed) == tags(normalised([column[i] for i in firsts]).hashed)).all()
        if len(firsts) < len(column):
            with pytest.raises(DataError, match=f"{len(column) - len(firsts)} of {len(column)}"):
                normalised(padded)
