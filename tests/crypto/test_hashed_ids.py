"""Equality of ids, and refused columns of ids."""

from typing import Any
from unicodedata import normalize
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vfl_flower.common.errors import DataError
from vfl_flower.common.text.case import folded
from vfl_flower.crypto import hashed_ids as module
from vfl_flower.crypto.curve25519 import tags
from vfl_flower.crypto.hashed_ids import KINDS, normalised

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


PARTS = st.lists(st.tuples(TEXT, TEXT, st.integers(-9, 9)), min_size=1, max_size=8)


def several(rows: list[tuple[Any, ...]]) -> Any:
    """Return ids of several columns."""
    return pa.StructArray.from_arrays(
        [pa.array(column) for column in zip(*rows, strict=True)], [*"abcd"[: len(rows[0])]]
    )


@given(PARTS)
def test_ids_of_several_columns_are_the_same_where_all_parts_are(
    rows: list[tuple[str, str, int]],
) -> None:
    """Wherever one part ends and the next begins."""
    found = normalised(several(rows), "first")
    alike = {(normalize("NFC", a).strip(), normalize("NFC", b).strip(), n) for a, b, n in rows}
    assert found.kind == "text and text and whole numbers"
    assert len(found) == len(alike)


@given(TEXT, TEXT)
def test_parts_are_joined_without_doubt(a: str, b: str) -> None:
    for other in ((a + b[:1], b[1:] or "x"), (b, a), (a + b, "x"), (f"1:{a}", b)):
        parts = [normalize("NFC", each).strip() for each in other]
        if all(parts) and parts != [normalize("NFC", each).strip() for each in (a, b)]:
            assert len(normalised(several([(a, b), (parts[0], parts[1])]))) == 2


@given(TEXT)
def test_folding_ignores_case_alone(text: str) -> None:
    once = folded(text)
    assert folded(once) == once == folded(normalize("NFD", text)) == normalize("NFC", once)
    spellings = [text, once, normalize("NFD", text)]
    if text.isascii():
        spellings += [text.upper(), text.lower()]
    assert len(normalised(spellings, "first", "fold")) == 1
    assert normalised([text], case="fold").kind == "text in any case"
    assert normalised([7], case="fold").kind == "whole numbers"


def test_messages_name_the_kinds_of_one_column_as_before() -> None:
    assert KINDS[:2] == ("text", "whole numbers")
    assert len({*KINDS}) == len(KINDS) == 120


def test_case_and_blanks_inside_count() -> None:
    assert not same("Anna", "anna")
    assert not same("Anna B", "AnnaB")
    assert not same("7", "07")


@pytest.mark.parametrize(
    ("values", "kind"),
    [(["b", "a", "ä"], "text"), ([3, -1, 2**40], "whole numbers")],
)
def test_every_container_reads_alike(values: list[Any], kind: str) -> None:
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
