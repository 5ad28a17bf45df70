"""Text with many values: grouped, hashed or left out, and booleans."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.own_data.own_tables import FEWER, Read, fitted, lines, unseen, uses
from vfl_flower.common.errors import DataError, RunError
from vfl_flower.data.preprocessing.encoder import Encoder
from vfl_flower.data.tables.reader import OwnTable
from vfl_flower.data.tables.reading.hashing import as_buckets
from vfl_flower.data.tables.summary import left_out


def again(encoder: Encoder, tmp_path: Path) -> Encoder:
    """Return an encoder as it is read from its file."""
    path = tmp_path / "encoder.json"
    path.write_bytes(encoder.to_json())
    loaded = Encoder.load(path)
    assert loaded == encoder
    return loaded


def applied(encoder: Encoder, read: OwnTable) -> "np.typing.NDArray[np.float32]":
    return encoder.apply(read.features, read.columns)


@pytest.mark.parametrize(
    ("values", "rows", "use"),
    [(100, 400, "categorical"), (101, 400, "grouped"), (1000, 2000, "grouped"),
     (1001, 2002, "hashed"), (1001, 2001, "ignored"), (150, 299, "ignored")],
)  # fmt: skip
def test_how_many_values_differ_tells_the_use(
    values: int, rows: int, use: str, table: Read
) -> None:
    read = table(lines("id,k,a", lambda n: f"{n},1,x{n % values}", rows))
    assert uses(read) == {"k": "numeric", "a": use}


def test_of_a_long_file_the_first_cells_tell_whether_values_come_again(table: Read) -> None:
    """Gaps do not count."""
    read = table(
        lines("id,a,b,c", lambda n: f"{n},x{n % 20_000},x{n},{'' if n % 3 else f'y{n}'}", 70_000)
    )
    assert uses(read) == {"a": "hashed", "b": "ignored", "c": "ignored"}
    assert left_out(read) == [
        f"column {name} is ignored: over 1,000 values in 70,000 rows; if values come again, "
        '"hashed" would use it'
        for name in "bc"
    ]


def town(n: int) -> str:
    """Return one of two towns, a rare one, or none."""
    return "a" if n < 30 else "b" if n < 50 else f"t{n}" if n < 59 else ""


def test_rare_categories_share_a_column(table: Read, tmp_path: Path) -> None:
    content = lines("id,town", lambda n: f"{n},{town(n)}", 60)
    read = table(content, columns={"town": "grouped"})
    encoder = again(fitted(read), tmp_path)
    made = applied(encoder, read)
    assert made.shape == (60, 4)
    expected = [[n < 30, 30 <= n < 50, 50 <= n < 59, n == 59] for n in range(60)]
    np.testing.assert_array_equal(made, expected)
    new = table("id,town\n1,b\n2,t55\n3,never\n4,\n", encoder)
    np.testing.assert_array_equal(applied(encoder, new), np.eye(4)[[1, 2, 2, 3]])
    assert unseen(encoder, new) == {"town": 1}
    few = fitted(table(content, columns={"town": "grouped:21"}))
    assert (few.grouped[0].values, few.width, few.uses) == (("a",), 3, {"town": "grouped:21"})


def test_without_rare_categories_there_is_no_column_for_them(table: Read) -> None:
    content = lines("id,a", lambda n: f"{n},{'xy'[n % 2]}", 40)
    encoder = fitted(table(content, columns={"a": "grouped"}))
    assert encoder.width == 2
    new = table("id,a\n1,z\n2,\n3,y\n", encoder)
    np.testing.assert_array_equal(applied(encoder, new), [[0, 0], [0, 0], [0, 1]])
    assert unseen(encoder, new) == {"a": 2}


def test_grouped_columns_are_a_hundred_at_most(table: Read) -> None:
    content = lines("id,a", lambda n: f"{n},x{n % 150 if n < 1500 else n % 7}", 2000)
    encoder = fitted(table(content))
    assert (encoder.width, len(encoder.grouped[0].rare)) == (101, 50)
    assert {f"x{n}" for n in range(7)} <= set(encoder.grouped[0].values)


@FEWER
@given(text=st.lists(st.none() | st.text(min_size=1, max_size=5), min_size=1, max_size=9))
def test_text_is_hashed_each_for_itself(text: list[str | None]) -> None:
    made = as_buckets(pa.array(text, pa.string()))
    one = [as_buckets(pa.array([each], pa.string()))[0] for each in text]
    np.testing.assert_array_equal(made, one)
    assert [each is None for each in text] == np.isnan(made).tolist()
    assert (np.isnan(made) | ((np.abs(made) >= 1) & (np.abs(made) <= 64))).all()


def test_hashes_are_the_same_for_ever() -> None:
    """Encoders that are kept depend on them."""
    made = as_buckets(pa.array(["shop", "Ärzte", "x"]))
    assert made.tolist() == [-9, -57, 28]


def test_hashed_text_has_columns_for_what_was_trained(table: Read, tmp_path: Path) -> None:
    content = lines("id,a", lambda n: f"{n},{'' if n == 11 else f'x{n % 5}'}")
    read = table(content, columns={"a": "hashed"})
    encoder = again(fitted(read), tmp_path)
    assert b"x1" not in encoder.to_json()
    made = applied(encoder, read)
    codes = np.array(as_buckets(pa.array([f"x{n}" for n in range(5)])))
    assert made.shape[1] == len(set(np.abs(codes))) + 1
    for n in range(11):
        place = sorted(set(np.abs(codes))).index(abs(codes[n % 5]))
        assert made[n, place] == np.sign(codes[n % 5])
    assert np.abs(made).sum(1).tolist() == [1] * 12
    new = table("id,a\n" + "".join(f"{n},new{n}\n" for n in range(50)), encoder)
    others = unseen(encoder, new)["a"]
    assert others == (np.abs(applied(encoder, new)).sum(1) == 0).sum() > 0


def test_booleans_have_many_spellings(table: Read, tmp_path: Path) -> None:
    words = ["yes", "No", "TRUE", "f", "1", "0", "T", "N", "on", "off", "Y", ""]
    content = lines("id,a", lambda n: f"{n},{words[n]}")
    read = table(content, columns={"a": "boolean"})
    np.testing.assert_array_equal(read.features[:, 0], [1, 0] * 5 + [1, np.nan])
    encoder = again(fitted(read), tmp_path)
    assert (encoder.width, encoder.uses) == (1, {"a": "boolean"})
    new = table("id,a\n1,true\n2,no\n", encoder)
    assert new.features[:, 0].tolist() == [1, 0]
    with pytest.raises(DataError, match="a was of type boolean at training, and is of type text"):
        table("id,a\n1,true\n2,perhaps\n", encoder)
    with pytest.raises(DataError, match="column a is no boolean, such as true or no, in row 13"):
        table(content + "x,perhaps\n", columns={"a": "boolean"})
    spelt = table(lines("id,a", lambda n: f"{n},{words[n % 3]}"))
    assert uses(spelt) == {"a": "categorical"}
    assert '"boolean" would make one column' in spelt.looked[0].advice.text


def test_an_encoder_of_before_is_read_and_written_as_it_was(table: Read, tmp_path: Path) -> None:
    """Its bytes are those that checkpoints have the digest of."""
    read = table(lines("id,a,b,c", lambda n: f"{n},{n},{'xy'[n % 2]},c{n}"))
    scaled = {"name": "a", "median": 5.5, "mean": 5.5, "deviation": 3.452052593231201}
    categories = {"name": "b", "values": ["x", "y"], "gap": False, "type": "text"}
    made = {"numeric": [scaled], "categorical": [categories], "ignored": ["c"]}
    kept = f"{json.dumps(made, indent=2)}\n".encode()
    path = tmp_path / "encoder.json"
    path.write_bytes(kept)
    assert Encoder.load(path) == fitted(read)
    assert fitted(read).to_json() == kept


@pytest.mark.parametrize("key", ["grouped", "hashed", "dates", "readings"])
def test_a_damaged_encoder_is_refused(key: str, tmp_path: Path) -> None:
    path = tmp_path / "encoder.json"
    path.write_text(f'{{"numeric": [], "categorical": [], "ignored": [], "{key}": [{{}}]}}')
    with pytest.raises(RunError, match="is missing or damaged"):
        Encoder.load(path)
