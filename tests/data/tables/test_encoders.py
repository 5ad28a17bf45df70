"""Encoders of own tables, saved and applied to other files."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.helpers.own_data.own_tables import FEWER, Read, fitted, lines, unseen
from vfl_flower.common.errors import DataError, RunError
from vfl_flower.data.columns import Column
from vfl_flower.data.preprocessing.encoder import Encoder
from vfl_flower.data.preprocessing.scaling import encoded
from vfl_flower.data.preprocessing.target import Target
from vfl_flower.data.tables.description import Description
from vfl_flower.data.tables.reader import read_table


@st.composite
def raw(draw: st.DrawFn) -> tuple[NDArray[np.float32], tuple[Column, ...], NDArray[Any]]:
    """Draw a table, its column types, and training rows without empty columns."""
    rows, width = draw(st.integers(3, 20)), draw(st.integers(1, 4))
    random = np.random.default_rng(draw(st.integers(0, 99)))
    made = random.normal(draw(st.floats(-99, 99)), 3, (rows, width)).astype(np.float32)
    described = []
    for rank in range(width):
        names = draw(st.none() | st.lists(st.text(max_size=3), min_size=1, max_size=4, unique=True))
        described.append(Column(f"c{rank}", None if names is None else tuple(names), True))
        if names is not None:
            made[:, rank] = random.integers(0, len(names), rows)
    made[random.random(made.shape) < 0.3] = np.nan
    made[0] = np.where(np.isnan(made[0]), 0, made[0])
    train = np.concatenate([[0], 1 + random.permutation(rows - 1)[: rows // 2]])
    return made, tuple(described), train


@FEWER
@given(given_=raw())
def test_a_saved_encoder_does_the_same(
    given_: tuple[NDArray[np.float32], tuple[Column, ...], NDArray[Any]],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """Bit for bit, as in training without a file."""
    made, described, train = given_
    encoder = Encoder.fit(made, described, train, "x", ("z",))
    path = tmp_path_factory.mktemp("own") / "encoder.json"
    path.write_bytes(encoder.to_json())
    loaded = Encoder.load(path)
    assert loaded == encoder
    result = loaded.apply(made, described)
    assert result.shape == (len(made), encoder.width)
    assert np.array_equal(result, encoder.apply(made, described))
    assert np.array_equal(result, encoded(made, described, train, "x").numpy())
    order = np.random.default_rng(0).permutation(len(described))
    shuffled = [described[rank] for rank in order]
    assert np.array_equal(result, loaded.apply(made[:, order], shuffled))


def test_a_new_file_is_encoded_by_the_training_rows_of_the_old(table: Read) -> None:
    content = lines("id,a,b", lambda n: f"{n},{n},{'xyxz'[n // 3]}")
    read = table(content)
    encoder = fitted(read, np.arange(9))
    new = "b,c,id,a\nx,1,k,4\nnew,1,l,\n,1,m,5\nz,1,n,8\n"
    with pytest.raises(DataError, match=r"party-3: column c, of type number, was not there at tra"):
        table(new, encoder)
    other = table(new, encoder, columns={"c": "ignored"})
    made = encoder.apply(other.features, other.columns)
    scaled = (np.array([4, 4, 5, 8]) - 4) / np.std(np.arange(9))
    expected = np.array([*zip(scaled, [1, 0, 0, 0], [0, 0, 0, 0], strict=True)], np.float32)
    np.testing.assert_allclose(made, expected, rtol=1e-6)
    assert unseen(encoder, other) == {"b": 3}
    assert np.array_equal(
        encoder.apply(read.features, read.columns),
        encoder.apply(table(content, encoder).features, read.columns),
    )


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"id,b\n1,x\n", "column a was of type number at training, and is missing now"),
        (b"id,a\n1,2\n", "column b was of type text at training, and is missing now"),
        (b"id,a,b\n1,old,x\n", "column a was of type number at training, and is of type text now"),
        (b"id,a,b\n1,inf,x\n", "column a holds infinity"),
    ],
)
def test_other_columns_than_at_training_are_refused(content: bytes, told: str, table: Read) -> None:
    encoder = fitted(table(lines("id,a,b", lambda n: f"{n},{n},{'xy'[n % 2]}")))
    with pytest.raises(DataError, match=f"^party-3: {told}"):
        table(content, encoder)


def test_a_type_that_parquet_says_must_be_that_of_training(table: Read, tmp_path: Path) -> None:
    encoder = fitted(table(lines("id,a,b", lambda n: f"{n},{n},{'xy'[n % 2]}")))
    path = tmp_path / "new.parquet"
    for b, told in ((pa.array([1]), "number"), (pa.array([True]), "boolean")):
        pa.parquet.write_table(pa.table({"id": [1], "a": [1.0], "b": b}), path)
        with pytest.raises(DataError, match=f"b was of type text at .* is of type {told} now"):
            read_table(Description(path, "id"), "party-3", encoder)
    pa.parquet.write_table(pa.table({"id": [1], "a": [1.0], "b": ["x"]}), path)
    read = read_table(Description(path, "id"), "party-3", encoder)
    assert unseen(encoder, read) == {}


def test_a_new_file_may_have_gaps_only_and_lack_what_is_ignored(
    table: Read, tmp_path: Path
) -> None:
    said = {"c": "ignored"}
    encoder = fitted(table(lines("id,a,b,c", lambda n: f"{n},{n},{'xy'[n % 2]},0"), columns=said))
    path = tmp_path / "new.parquet"
    pa.parquet.write_table(pa.table({"id": [1], "a": pa.nulls(1), "b": pa.nulls(1)}), path)
    for new in (
        table("id,b,a\n1,,\n", encoder, columns=said),
        read_table(Description(path, "id", columns=said), "party-3", encoder),
    ):
        assert encoder.apply(new.features, new.columns).tolist() == [[0, 0, 0]]
        assert unseen(encoder, new) == {"b": 1}


def test_a_damaged_encoder_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "encoder.json"
    for content in ("", "{", "[]", '{"numeric": [{}], "categorical": [], "ignored": []}'):
        path.write_text(content)
        with pytest.raises(RunError, match=r"encoder\.json is missing or damaged"):
            Encoder.load(path)
    with pytest.raises(RunError, match="is missing or damaged"):
        Target.load(tmp_path / "none.json")


def test_a_method_may_ask_for_gaps_in_numbers_and_dates() -> None:
    made = np.array([[1, 24, 0], [np.nan, np.nan, np.nan], [3, 48, 1]], np.float32)
    columns = (
        Column("n", None, True),
        Column("d", None, True, use="date"),
        Column("c", ("x", "y"), True),
    )
    encoder = Encoder.fit(made, columns, np.arange(3), "x")
    kept, filled = (encoder.apply(made, columns, gaps=gaps) for gaps in (True, False))
    numbers = [0, *range(4, 12)]  # the categories are between
    assert np.isnan(kept[1, numbers]).all()
    assert np.isfinite(filled).all()
    kept[1, numbers] = filled[1, numbers]
    assert np.array_equal(kept, filled)
