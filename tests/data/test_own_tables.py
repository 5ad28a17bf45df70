"""A party's own table: what is read, inferred and encoded; what is refused, and why."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.helpers.commands import data
from vfl_flower.common.errors import ConfigError, DataError, RunError
from vfl_flower.data.columns import Column
from vfl_flower.data.preprocessing.encoder import Encoder
from vfl_flower.data.preprocessing.scaling import encoded
from vfl_flower.data.preprocessing.target import Target
from vfl_flower.data.tables import reader as reading_module
from vfl_flower.data.tables.description import Description, read_description
from vfl_flower.data.tables.prediction_file import check_path, write_predictions
from vfl_flower.data.tables.reader import OwnTable, read_table, refuse_label
from vfl_flower.reporting.console.own_table import print_columns

FEWER = settings(max_examples=60, deadline=None)
ROWS = 12


@pytest.fixture
def table(tmp_path: Path) -> Callable[..., OwnTable]:
    """Return a function that writes a CSV file and reads it."""

    def read(content: str | bytes, trained: Encoder | None = None, **said: Any) -> OwnTable:
        path = tmp_path / "own.csv"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        said.setdefault("id", "id")
        return read_table(Description(path, **said), "party-3", trained)

    return read


Read = Callable[..., OwnTable]


def lines(header: str, row: Callable[[int], str], rows: int = ROWS) -> str:
    return "\n".join([header, *map(row, range(rows))]) + "\n"


def uses(read: OwnTable) -> dict[str, str]:
    return {each.name: each.use for each in read.looked}


# Described ----------------------------------------------------------------------------------------


def test_a_description_is_read_with_its_file_beside_it(tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text(
        'file = "data/own.csv"\nid = "client"\nlabel = "paid"\ndecimal = ","\nmissing = ["?"]\n'
        'id-type = "text"\ntask = "binary"\n[columns]\nage = "numeric"\n"größe" = "ignored"\n',
        encoding="utf-8",
    )
    assert read_description(tmp_path / "own.toml") == Description(
        tmp_path / "data" / "own.csv",
        "client",
        "paid",
        {"age": "numeric", "größe": "ignored"},
        "binary",
        "text",
        ",",
        ("?",),
    )


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ('id = "a"', "file is missing"),
        ('file = "a.csv"', "id is missing"),
        ('file = "a.csv"\nid = "a"\nlable = "b"', "unknown key 'lable'; did you mean 'label'"),
        ('file = "a.csv"\nid = 1', "id must be a text, not 1"),
        ('file = "a.csv"\nid = "a"\ntask = "ranking"', "task must be binary or multi-class or"),
        ('file = "a.csv"\nid = "a"\ncolumns = ["b"]', "columns must be a table"),
        ('file = "a.csv"\nid = "a"\n[columns]\nb = "number"', "column 'b' must be numeric or"),
        ('file = "a.csv"\nid = "a"\n[columns]\na = "numeric"', "'a' is the id or the label"),
        ('file = "a.csv"\nid = "a"\nlabel = "a"', "id and label are one column"),
        ('file = "a.csv"\nid = "a"\nmissing = "?"', "missing must be a list"),
        ("file = ", "cannot be read as toml"),
    ],
)
def test_a_description_that_cannot_be_is_refused(content: str, told: str, tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text(content)
    with pytest.raises(ConfigError, match=told) as refusal:
        read_description(tmp_path / "own.toml")
    assert str(tmp_path / "own.toml") in str(refusal.value)


def test_the_page_does_what_it_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its toml, on a table with the columns that it names."""
    page = (Path(__file__).resolve().parents[2] / "docs" / "tables.md").read_text()
    header = "client,defaulted,age,postcode,remarks"
    content = lines(header, lambda n: f"k{n},{n % 2},{n},0{n % 3},{n}")
    monkeypatch.chdir(tmp_path)
    Path("clients.csv").write_text(content)
    Path("clients.toml").write_text(page.split("```toml\n")[1].split("```")[0])
    assert data(["columns", "clients.toml"]) == 0
    told = capsys.readouterr().out
    for words in ("age", "numeric", "postcode", "categorical", "remarks", "ignored", "binary"):
        assert words in told


# Inferred -----------------------------------------------------------------------------------------


def test_columns_are_what_they_look_like(table: Read, capsys: pytest.CaptureFixture[str]) -> None:
    read = table(
        lines(
            "id,age,town,member,name,post code,empty",
            lambda n: (
                f"k{n},{'NA' if n == 4 else n / 2},{'ab'[n % 2]},{n % 3 == 0},n{n},0{n % 2}1,"
            ),
        )
    )
    assert uses(read) == {
        "age": "numeric",
        "town": "categorical",
        "member": "categorical",
        "name": "ignored",
        "post code": "categorical",
        "empty": "ignored",
    }
    assert read.columns == (
        Column("age", None, True),
        Column("town", ("a", "b"), False, "text"),
        Column("member", ("False", "True"), False, "text"),
        Column("post code", ("001", "011"), False, "text"),
    )
    assert read.ignored == ("name", "empty")
    expected = np.array([[n / 2, n % 2, n % 3 == 0, n % 2] for n in range(ROWS)], np.float32)
    expected[4, 0] = np.nan
    np.testing.assert_array_equal(read.features, expected)
    assert read.features.dtype == np.float32
    assert read.labels is None
    print_columns(read)
    printed = capsys.readouterr().out
    for told in ("post code", "12 values in 12 rows", "no value in any row"):
        assert told in printed


def test_what_is_said_counts(table: Read) -> None:
    content = lines("id,a,b,c", lambda n: f"{n},{n % 2},{n},x")
    read = table(content, columns={"a": "categorical", "b": "ignored"})
    assert uses(read) == {"a": "categorical", "b": "ignored", "c": "categorical"}
    assert read.columns[0] == Column("a", ("0", "1"), False, "number")


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_separators_are_inferred_and_byte_order_marks_and_unicode_read(
    separator: str, table: Read
) -> None:
    """Names and ids that are composed otherwise are the same; a comma may stand in quotes."""
    rows = [["id", "gro\u0308ße"], ["e\u0301", "1"], ["日", "2"], ['"a,;\tb"', "3"]]
    text = "\ufeff" + "\r\n".join(separator.join(row) for row in rows)
    read = table(text.encode())
    assert read.ids.to_pylist() == ["\u00e9", "日", "a,;\tb"]
    assert read.columns == (Column("gr\u00f6ße"),)
    assert read.features[:, 0].tolist() == [1, 2, 3]


def test_decimal_commas_are_read_when_said_and_noticed_when_not(table: Read) -> None:
    content = "id;a\n1;0,5\n2;1\n3;-2,25\n"
    assert table(content, decimal=",").features[:, 0].tolist() == [0.5, 1, -2.25]
    with pytest.raises(DataError, match=r'column a looks like .* commas; set decimal = ","'):
        table(content)
    with pytest.raises(DataError, match="column a is no number in row 2"):
        table("id;a\n1;0,5\n2;1.500\n", decimal=",", columns={"a": "numeric"})


def test_gaps_are_what_is_empty_or_said_to_be(table: Read) -> None:
    content = 'id,a,b\n1,?,x\n2,,""\n3,nan,?\n4,2,x\n5,3, \n'
    read = table(content, missing=("?",))
    np.testing.assert_array_equal(read.features[:, 0], np.array([np.nan] * 3 + [2, 3], np.float32))
    np.testing.assert_array_equal(read.features[:, 1], np.array([0, *[np.nan] * 2, 0, np.nan]))


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_number_may_stand_for_a_gap(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"own.{suffix}"
    made = pa.table({"id": [1, 2, 3, 4], "a": [1.5, -1.0, 999.0, 2.0]})
    if suffix == "csv":
        pa.csv.write_csv(made, path)
    else:
        pa.parquet.write_table(made, path)
    read = read_table(Description(path, "id", missing=("-1", "999", "?")), "x")
    expected = np.array([1.5, np.nan, np.nan, 2], np.float32)
    np.testing.assert_array_equal(read.features[:, 0], expected)


# Ids ----------------------------------------------------------------------------------------------


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
    """What the others may hear quotes none."""
    with pytest.raises(DataError, match=f"^party-3: own.csv has .*{told}") as refusal:
        table(lines("id,a", lambda n: f"{ids[n]},{n}", len(ids)), id_type=said)
    assert refusal.value.detail == detail
    assert not detail or len(detail) == 1 or detail not in str(refusal.value)


# Refused ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "said", "told"),
    [
        (b"", {}, "is empty"),
        (b"\n\n", {}, "is empty"),
        (b"id,a\n", {}, "holds no rows"),
        (b"key,a\n1,2\n", {}, "has no column 'id'; add or rename it"),
        (b"id,a\n1,2\n", {"columns": {"b": "numeric"}}, "has no column 'b'"),
        (b"id,a\n1,2\n", {"label": "y"}, "has no column 'y'"),
        (b"id,a,a \n1,2,3\n", {}, "two columns of the name 'a'"),
        (b"id,,b\n1,2,3\n", {}, "has no name for column 2"),
        (b"id,a\n1,2\n3\n", {}, "has 1 fields in row 2, and 2 names"),
        (b"id,a\n1,2\n3,4,5\n", {}, "has 3 fields in row 2, and 2 names"),
        (b'id,a\n1,2\n3,"4\n', {}, "ends within quotes"),
        (b"id,a\n1,\xff\n", {}, "no whole CSV file in UTF-8|cannot be read"),
        (b"PK\x03\x04\0\0", {}, "is no text; export"),
        ("id,a\n1,2\n".encode("utf-16"), {}, "is no text"),
        (b"id,a\n1,x\n2,y\n3,z\n", {}, "no column that can be used"),
        (b"id\n1\n2\n", {}, "no column that can be used"),
        (b"id,a\n1,2\n2,inf\n", {}, "column a holds infinity, or .*, in row 2"),
        (b"id,a\n1,2\n2,1e39\n", {}, "column a holds infinity, or .*, in row 2"),
        (b"id,a\n1,2\n2,x\n", {"columns": {"a": "numeric"}}, "column a is no number in row 2"),
        (b"id,a\n1,\n2,NA\n", {"columns": {"a": "numeric"}}, "column a has no value in any"),
    ],
)
def test_tables_that_cannot_be_are_refused(
    content: bytes, said: Mapping[str, Any], told: str, table: Read
) -> None:
    with pytest.raises(DataError, match=told) as refusal:
        table(content, **said)
    assert str(refusal.value).startswith("party-3: ")


def test_too_many_categories_are_refused_when_said_and_ignored_when_not(table: Read) -> None:
    content = lines("id,a,b", lambda n: f"{n},x{n // 2},1", 2200)
    read = table(content)
    assert read.looked[0].why == "over 1,000 values in 2,200 rows"
    with pytest.raises(DataError, match="column a has over 1,000 categories"):
        table(content, columns={"a": "categorical"})


def test_files_that_are_no_tables_are_refused(tmp_path: Path) -> None:
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "a.xlsx").write_bytes(b"PK")
    (tmp_path / "a.parquet").write_bytes(b"id,a\n1,2\n")
    for name, told in (
        ("none.csv", "cannot be read"),
        ("folder.csv", "cannot be read"),
        ("a.xlsx", "must end in .csv"),
        ("a.parquet", "no whole Parquet file"),
    ):
        with pytest.raises(DataError, match=f"^party-3: .*{told}"):
            read_table(Description(tmp_path / name, "id"), "party-3")


def test_a_truncated_parquet_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pa.parquet.write_table(pa.table({"id": range(999), "a": range(999)}), path)
    whole = path.read_bytes()
    for length in (len(whole) - 1, len(whole) // 2, 3, 0):
        path.write_bytes(whole[:length])
        with pytest.raises(DataError, match=r"a\.parquet is no whole Parquet file"):
            read_table(Description(path, "id"), "party-3")


def test_a_parquet_file_with_checksums_and_other_bytes_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    made = pa.table({"id": np.arange(999), "a": np.random.default_rng(0).random(999)})
    pa.parquet.write_table(made, path, write_page_checksum=True)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"a\.parquet is no whole Parquet file"):
        read_table(Description(path, "id"), "party-3")


@pytest.mark.parametrize("late", ["4,5\n", "4", "x,y,z\n"])
def test_a_file_that_grows_while_it_is_read_is_refused(
    late: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever is wrong with what came, that it came is told."""
    path = tmp_path / "a.csv"
    path.write_text("id,a\n1,2\n2,3\n")
    kept = reading_module._kept

    def growing(*given: Any) -> Any:
        with path.open("a") as file:
            file.write(late)
        return kept(*given)

    monkeypatch.setattr(reading_module, "_kept", growing)
    with pytest.raises(DataError, match=r"party-3: a\.csv was changed while it was read"):
        read_table(Description(path, "id"), "party-3")


def test_a_passive_party_may_not_use_the_labels(table: Read) -> None:
    content = lines("id,Paid,label,a", lambda n: f"{n},{n % 2},{n},{n}")
    for said, told in (({}, "Paid"), ({"Paid": "ignored"}, "label")):
        with pytest.raises(DataError, match=f"party-3: column {told} has the name of the labels"):
            refuse_label(table(content, columns=said), "paid", "party-3")
    refuse_label(table(content, columns={"Paid": "ignored", "label": "ignored"}), "paid", "x")


# CSV and Parquet ----------------------------------------------------------------------------------

CELLS = {
    "number": st.floats(-1e6, 1e6, width=32) | st.integers(-99, 99).map(float),
    "name": st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=4).map(
        lambda text: f"x{text}x"
    ),
}


@st.composite
def columns(draw: st.DrawFn) -> pa.Table:
    """Draw a table of ids and up to three columns, numbers and names, with gaps."""
    rows = draw(st.integers(2, 30))
    whole = draw(st.booleans())
    ids = range(rows) if whole else [f"é{n}" for n in range(rows)]
    made = {"id": pa.array(ids)}
    for rank, kind in enumerate(draw(st.lists(st.sampled_from(sorted(CELLS)), max_size=3))):
        cells = draw(st.lists(st.none() | CELLS[kind], min_size=rows, max_size=rows))
        of = pa.float64() if kind == "number" else pa.string()
        made[f"{kind} {rank}"] = pa.array(cells, of)
    return pa.table({**made, "last": pa.array(np.arange(rows) % 2)})


def same(a: OwnTable, b: OwnTable) -> bool:
    return (
        a.ids.equals(b.ids)
        and np.array_equal(a.features, b.features, equal_nan=True)
        and (a.columns, a.ignored) == (b.columns, b.ignored)
    )


@FEWER
@given(made=columns())
def test_csv_and_parquet_say_the_same(
    made: pa.Table, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("own")
    pa.csv.write_csv(made, folder / "a.csv")
    pa.parquet.write_table(made, folder / "a.parquet", row_group_size=7)
    first, second = (
        read_table(Description(folder / name, "id"), "x") for name in ("a.csv", "a.parquet")
    )
    assert same(first, second)


def test_types_of_parquet_are_its_own(tmp_path: Path) -> None:
    """Text stays text, dictionaries are text, and what no network can have is ignored."""
    path = tmp_path / "a.parquet"
    made = pa.table(
        {
            "id": pa.array(["1", "2", "3", "4"]),
            "digits": pa.array(["7", "8", "7", "8"]),
            "coded": pa.array(["u", "v", None, "u"]).dictionary_encode(),
            "yes": pa.array([True, False, None, True]),
            "whole": pa.array([1, 2, None, 4], pa.int8()),
            "exact": pa.array([1, 2, 3, 4]).cast(pa.decimal128(21, 2)),
            "day": pa.array([1, 2, 3, 4], pa.date32()),
            "list": pa.array([[1], [2], [3], [4]]),
        }
    )
    pa.parquet.write_table(made, path)
    read = read_table(Description(path, "id"), "x")
    assert read.ids.to_pylist() == ["1", "2", "3", "4"]
    assert read.ignored == ("day", "list")
    assert [(each.name, each.values, each.type) for each in read.columns] == [
        ("digits", ("7", "8"), "text"),
        ("coded", ("u", "v"), "text"),
        ("yes", ("false", "true"), "boolean"),
        ("whole", None, "text"),
        ("exact", None, "text"),
    ]
    assert read.features[0].tolist() == [0, 0, 1, 1, 1]
    assert np.isnan(read.features[2, 1:4]).all()
    with pytest.raises(DataError, match=r"x: column day is of type date32\[day\], and cannot be"):
        read_table(Description(path, "id", columns={"day": "numeric"}), "x")
    with pytest.raises(DataError, match=r"ids of type date32\[day\]; store whole numbers or text"):
        read_table(Description(path, "day"), "x")


def test_large_files_come_in_several_batches(tmp_path: Path) -> None:
    """Of both formats, with a first text in the last row."""
    rows = 150_000
    made = pa.table(
        {"id": pa.array(np.arange(rows)), "a": pa.array([*map(str, range(rows - 1)), "end"])}
    )
    made = made.append_column("b", pa.array(np.arange(rows, dtype=np.float32)))
    pa.csv.write_csv(made, tmp_path / "a.csv")
    pa.parquet.write_table(made, tmp_path / "a.parquet")
    read = [read_table(Description(tmp_path / f"a.{s}", "id"), "x") for s in ("csv", "parquet")]
    assert same(*read)
    assert read[0].ignored == ("a",)
    assert np.array_equal(read[0].features[:, 0], np.arange(rows))
    with pytest.raises(DataError, match=f"column a is no number in row {rows}") as refusal:
        read_table(Description(tmp_path / "a.csv", "id", columns={"a": "numeric"}), "x")
    assert refusal.value.detail == "end"


# Encoded ------------------------------------------------------------------------------------------


def fitted(read: OwnTable, train: NDArray[Any] | None = None) -> Encoder:
    rows = np.arange(len(read.ids)) if train is None else train
    return Encoder.fit(read.features, read.columns, rows, "party-3", read.ignored)


@st.composite
def raw(draw: st.DrawFn) -> tuple[NDArray[np.float32], tuple[Column, ...], NDArray[Any]]:
    """Draw a table, what its columns are, and training rows in which no column is empty."""
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
    """Bit for bit, and what training without a file does."""
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
    assert encoder.unseen(other.features, other.columns) == {"b": 3}
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
    assert encoder.unseen(read.features, read.columns) == {}


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
        assert encoder.unseen(new.features, new.columns) == {"b": 1}


def test_a_damaged_encoder_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "encoder.json"
    for content in ("", "{", "[]", '{"numeric": [{}], "categorical": [], "ignored": []}'):
        path.write_text(content)
        with pytest.raises(RunError, match=r"encoder\.json is missing or damaged"):
            Encoder.load(path)
    with pytest.raises(RunError, match="is missing or damaged"):
        Target.load(tmp_path / "none.json")


# Labels -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "said", "task", "classes"),
    [
        (["no", "yes"], "", "binary", ("no", "yes")),
        (["True", "False"], "", "binary", ("False", "True")),
        (["10", "9", "-1"], "", "multi-class", ("-1", "9", "10")),
        (["0.0", "1.0"], "", "binary", ("0.0", "1.0")),
        (["0.5", "1.5", "2"], "", "regression", None),
        (["0.5", "1.5", "2"], "multi-class", "multi-class", ("0.5", "1.5", "2")),
        ([str(n) for n in range(21)], "", "regression", None),
        ([str(n) for n in range(21)], "multi-class", "multi-class", tuple(map(str, range(21)))),
        (["1", "2", "3"], "regression", "regression", None),
    ],
)
def test_the_task_is_what_the_labels_look_like(
    written: list[str], said: str, task: str, classes: tuple[str, ...] | None, table: Read
) -> None:
    """Ids and labels alone are a table of an active party."""
    rows = 2 * len(written)
    content = lines("id,y", lambda n: f"{n},{written[n % len(written)]}", rows)
    read = table(content, label="y", task=said)
    assert read.task == task
    assert read.features.shape == (rows, 0)
    assert read.label is not None
    assert read.labels is not None
    assert read.label.values == classes
    target = Target.fit(read.labels, read.label, np.arange(rows), "active")
    learnt = target.apply(read.labels, read.label, "active")
    expected = [written[n % len(written)] for n in range(rows)]
    if classes is None:
        assert learnt.dtype == np.float32
        assert learnt.mean() == pytest.approx(0, abs=1e-6)
        assert learnt.std() == pytest.approx(1)
        np.testing.assert_allclose(target.restored(learnt), [*map(float, expected)], atol=1e-5)
    else:
        assert learnt.dtype == np.int64
        assert [target.classes[rank] for rank in learnt] == expected


@pytest.mark.parametrize(
    ("labels", "said", "told"),
    [
        (["1", "", "2"], "", "has no label in 1 of 3 rows, first in row 2"),
        (["1", "1"], "", "the label y has 1 values; there is nothing to learn"),
        (["1", "2", "3"], "binary", "the label y has 3 values, and task is binary"),
        (["1", "x", "3"], "regression", "column y is no number in row 2"),
        (["0.5", "inf", "1.5"], "", "column y holds infinity"),
    ],
)
def test_labels_that_cannot_be_are_refused(
    labels: list[str], said: str, told: str, table: Read
) -> None:
    with pytest.raises(DataError, match=told):
        table(lines("id,y", lambda n: f"{n},{labels[n]}", len(labels)), label="y", task=said)


def test_a_saved_target_does_the_same_to_another_file(table: Read, tmp_path: Path) -> None:
    """Also where the file has fewer classes; what was not learnt is refused."""
    read = table("id,y\n1,b\n2,a\n3,c\n", label="y")
    assert read.label is not None
    assert read.labels is not None
    with pytest.raises(DataError, match="active: no training row is of one of the") as refusal:
        Target.fit(read.labels, read.label, np.array([0, 1]), "active")
    assert refusal.value.detail == "c"
    target = Target.fit(read.labels, read.label, np.arange(3), "active")
    (tmp_path / "target.json").write_bytes(target.to_json())
    target = Target.load(tmp_path / "target.json")
    assert target == Target("multi-class", ("a", "b", "c"))
    new = table("id,y\n1,c\n2,b\n", label="y")
    assert new.labels is not None
    assert new.label is not None
    assert target.apply(new.labels, new.label, "active").tolist() == [2, 1]
    strange = Column("y", ("a", "d"))
    with pytest.raises(DataError, match="active: there is a class that no"):
        target.apply(np.zeros(1), strange, "active")
    with pytest.raises(DataError, match="active: y was learnt as multi-class"):
        target.apply(np.zeros(1), Column("y"), "active")


@pytest.mark.parametrize("content", ["id,a\n1,2\n2,3\n", "id,a,y\n1,2,\n2,3,\n"])
def test_a_table_to_be_predicted_needs_no_labels(content: str, table: Read) -> None:
    read = table("id,a,y\n1,2,u\n2,3,v\n", label="y")
    new = table(content, fitted(read), label="y")
    assert new.labels is None
    assert new.task == ""
    assert np.array_equal(new.features, read.features)


@pytest.mark.parametrize("written", [[1, 1], [0, 2]])
def test_labels_of_a_task_that_was_learnt_need_not_be_of_all_classes(
    written: list[int], table: Read
) -> None:
    read = table("id,a,y\n1,2,0\n2,3,1\n3,3,2\n", label="y")
    assert read.labels is not None
    assert read.label is not None
    target = Target.fit(read.labels, read.label, np.arange(3), "active")
    content = lines("id,a,y", lambda n: f"{n},2,{written[n]}", 2)
    new = table(content, fitted(read), label="y", task=target.task)
    assert new.labels is not None
    assert new.label is not None
    assert target.apply(new.labels, new.label, "active").tolist() == written


# Predictions --------------------------------------------------------------------------------------


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
