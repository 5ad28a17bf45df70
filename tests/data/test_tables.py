"""Tables in local files: published forms, missing and damaged files."""

from pathlib import Path

import numpy as np
import pytest

from tests.helpers.data import columns_of, labels_of
from tests.helpers.own_data.tables import (
    adult_row,
    credit_row,
    fraud_row,
    quoted,
    write,
    write_adult,
    write_credit,
    write_fraud,
)
from vfl_flower.common.errors import AbsentDataError, DataError
from vfl_flower.config.run_config import RunConfig
from vfl_flower.data.columns import Column
from vfl_flower.data.datasets import dataset_of
from vfl_flower.data.sources.csv_catalog import (
    ADULT_TABLE,
    BREAST_CANCER_ORIGINAL_TABLE,
    CREDIT_CARD_FRAUD_TABLE,
    CREDIT_DEFAULT_TABLE,
    PIMA_TABLE,
)
from vfl_flower.data.sources.csv_tables import read

SOURCES = {
    "adult": ADULT_TABLE,
    "breast-cancer-original": BREAST_CANCER_ORIGINAL_TABLE,
    "pima": PIMA_TABLE,
    "credit-default": CREDIT_DEFAULT_TABLE,
    "credit-card-fraud": CREDIT_CARD_FRAUD_TABLE,
}
NAN = float("nan")


# Published forms ----------------------------------------------------------------------------------


def test_adult_pools_both_files(tmp_path: Path) -> None:
    """The second has a leading comment and dots; ? is missing."""
    write_adult(tmp_path, [adult_row(n) for n in range(3)], [adult_row(n) for n in range(3, 5)])
    table = read(ADULT_TABLE, tmp_path)
    assert table.labels.tolist() == [1, 0, 0, 1, 0]
    assert table.features.shape == (5, 14)
    assert table.features.dtype == np.float32
    assert table.columns[0] == Column("age", None, gaps=True)
    assert table.columns[1] == Column("workclass", ("Local-gov", "Private", "State-gov"), gaps=True)
    assert table.columns[9] == Column("sex", ("Female", "Male"), gaps=True)
    assert table.features[:, 0].tolist() == [20, 21, 22, 23, 24]
    assert table.features[:, 2].tolist() == [70000 + n for n in range(5)]
    np.testing.assert_array_equal(table.features[:, 1], [2, 1, NAN, 1, 0])
    assert table.features[:, 9].tolist() == [0, 1, 1, 0, 1]


def test_breast_cancer_has_no_ids_and_labels_2_and_4(tmp_path: Path) -> None:
    text = "1000025,5,1,1,1,2,1,3,1,1,2\n1057013,8,4,5,1,2,?,7,3,1,4\n"
    table = read(BREAST_CANCER_ORIGINAL_TABLE, write(BREAST_CANCER_ORIGINAL_TABLE, tmp_path, text))
    assert table.labels.tolist() == [0, 1]
    expected = [[5, 1, 1, 1, 2, 1, 3, 1, 1], [8, 4, 5, 1, 2, NAN, 7, 3, 1]]
    np.testing.assert_array_equal(table.features, expected)
    assert "Sample code number" not in [column.name for column in table.columns]
    assert dataset_of("breast-cancer-original").names() == ("2", "4")


def test_zeros_of_pima_are_gaps_where_there_is_no_zero(tmp_path: Path) -> None:
    """Zero pregnancies are a value; zero glucose, pressure or mass are missing."""
    text = "6,148,72,35,0,33.6,0.627,50,1\n0,0,0,0,94,0.0,0,0,0"
    table = read(PIMA_TABLE, write(PIMA_TABLE, tmp_path, text))
    expected = [[6, 148, 72, 35, NAN, 33.6, 0.627, 50], [0, NAN, NAN, NAN, 94, NAN, 0, 0]]
    np.testing.assert_allclose(table.features, expected, rtol=1e-6)
    assert [column.gaps for column in table.columns] == [False, *[True] * 5, False, False]
    assert table.labels.tolist() == [1, 0]


def test_credit_default_has_categories_that_look_like_numbers(tmp_path: Path) -> None:
    table = read(CREDIT_DEFAULT_TABLE, write_credit(tmp_path, 4))
    assert table.features.shape == (4, 23)
    by_name = {column.name: column for column in table.columns}
    assert "ID" not in by_name
    assert by_name["SEX"].values == ("1", "2")
    assert by_name["EDUCATION"].values == ("0", "1", "2", "3")
    assert by_name["PAY_0"].values is None
    assert not any(column.gaps for column in table.columns)
    assert table.features[3, :6].tolist() == [3000, 1, 3, 0, 23, -1]
    assert table.labels.tolist() == [0, 1, 0, 1]


def test_credit_card_fraud_has_a_header_in_quotes(tmp_path: Path) -> None:
    table = read(CREDIT_CARD_FRAUD_TABLE, write_fraud(tmp_path, 12))
    assert table.features.shape == (12, 30)
    assert [table.columns[k].name for k in (0, 1, 28, 29)] == ["Time", "V1", "V28", "Amount"]
    assert table.labels.tolist() == [int(n % 5 == 0) for n in range(12)]
    written = [float(cell.strip('"')) for cell in fraud_row(7).split(",")]
    np.testing.assert_allclose(table.features[7], written[:-1], rtol=1e-6)


def test_a_mark_before_the_text_and_other_line_ends_do_no_harm(tmp_path: Path) -> None:
    folder = write(
        CREDIT_CARD_FRAUD_TABLE, tmp_path, quoted(CREDIT_CARD_FRAUD_TABLE) + fraud_row(0)
    )
    file = folder / "credit-card-fraud" / "creditcard.csv"
    file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes().replace(b"\n", b"\r\n"))
    assert read(CREDIT_CARD_FRAUD_TABLE, folder).labels.tolist() == [1]


@pytest.mark.parametrize("name", SOURCES)
def test_classes_are_in_sorted_order_and_fields_exist(name: str) -> None:
    source = SOURCES[name]
    assert list(source.classes) == sorted(source.classes)
    named = {source.label} | source.ids | source.categorical | source.zero_gaps
    assert named <= set(source.fields)
    assert len(set(source.fields)) == len(source.fields)


# A whole data set ---------------------------------------------------------------------------------


def test_a_table_is_split_by_its_published_columns(tmp_path: Path) -> None:
    """A category counts as one column when dealing, whatever becomes of it."""
    folder = write_adult(tmp_path, [adult_row(n) for n in range(200)], [adult_row(200)])
    cfg = RunConfig(dataset="adult", data_dir=str(folder))
    shares = [columns_of(cfg, rank) for rank in range(4)]
    assert {len(share) for share in shares} == {201}
    # age, fnlwgt; workclass (3 and a gap), education (1) | education-num; three of one | ...
    assert [share.shape[1] for share in shares] == [2 + 4 + 1, 1 + 3, 1 + 1 + 2, 2 + 1]
    assert sorted(labels_of(cfg).unique().tolist()) == [0, 1]
    assert cfg.model_of(0) == "mlp"


def test_a_class_without_training_rows_is_an_error(tmp_path: Path) -> None:
    rows = [adult_row(3 * n + 1) for n in range(250)]  # all of them <=50K
    folder = write_adult(tmp_path, rows, [adult_row(1)])
    with pytest.raises(DataError, match=r"^active: no training row is of one of the classes"):
        labels_of(RunConfig(dataset="adult", data_dir=str(folder)))


# Missing and damaged ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SOURCES)
def test_a_missing_file_says_where_it_belongs_and_is_published(name: str, tmp_path: Path) -> None:
    source = SOURCES[name]
    for load in (dataset_of(name).features, dataset_of(name).labels, dataset_of(name).columns):
        assert load
        with pytest.raises(AbsentDataError, match="is not in") as refusal:
            load(tmp_path, True)
        for part in (source.files[0], str(tmp_path / source.folder), source.published):
            assert part in str(refusal.value)
    assert list(tmp_path.iterdir()) == []


def test_one_of_two_files_is_not_enough(tmp_path: Path) -> None:
    write_adult(tmp_path, [adult_row(0)], [adult_row(1)])
    (tmp_path / "adult" / "adult.test").unlink()
    with pytest.raises(AbsentDataError, match=r"^adult\.test is not in"):
        read(ADULT_TABLE, tmp_path)


def test_a_file_without_rows_is_an_error(tmp_path: Path) -> None:
    write_adult(tmp_path, [adult_row(0)], [])
    with pytest.raises(DataError, match=r"adult\.test holds no rows"):
        read(ADULT_TABLE, tmp_path)
    write(CREDIT_DEFAULT_TABLE, tmp_path, quoted(CREDIT_DEFAULT_TABLE))
    with pytest.raises(DataError, match=r"UCI_Credit_Card\.csv holds no rows"):
        read(CREDIT_DEFAULT_TABLE, tmp_path)


GOOD = "6,148,72,35,0,33.6,0.627,50,1\n"


@pytest.mark.parametrize(
    ("line", "part"),
    [
        ("6,148,72,35,0,33.6,0.627,50", "8 fields, not 9"),
        ("6,148,72,35,0,33.6,0.627,50,1,1", "10 fields, not 9"),
        ("6,148,72,many,0,33.6,0.627,50,1", "skin must be a number"),
        ("6,148,72,nan,0,33.6,0.627,50,1", "skin must be a number"),
        ("6,148,72,35,0,inf,0.627,50,1", "bmi must be a number"),
        ("6,148,72,35,0,1e39,0.627,50,1", "bmi must be a number"),
        ("6,148,72,?,0,33.6,0.627,50,1", "skin must be a number"),
        ("6,148,72,,0,33.6,0.627,50,1", "skin is empty"),
        ("6,148,72,35,0,33.6,0.627,50,2", "the label is not 0 or 1"),
        ("6,148,72,35,0,33.6,0.627,50,", "the label is not 0 or 1"),
        ('"6,148,72,35,0,33.6,0.627,50,1', "1 fields, not 9"),
    ],
)
def test_a_damaged_row_is_named_by_file_and_line(line: str, part: str, tmp_path: Path) -> None:
    folder = write(PIMA_TABLE, tmp_path, f"{GOOD}\n{line}\n{GOOD}")
    with pytest.raises(DataError, match=rf"pima/pima-indians-diabetes\.csv, line 3: {part}"):
        read(PIMA_TABLE, folder)


def test_a_row_over_two_lines_counts_as_two(tmp_path: Path) -> None:
    folder = write(PIMA_TABLE, tmp_path, GOOD.replace("148", '"148\n"') + "6\n")
    with pytest.raises(DataError, match="line 3: 1 fields"):
        read(PIMA_TABLE, folder)


def test_an_empty_category_is_none(tmp_path: Path) -> None:
    write_adult(tmp_path, [adult_row(0).replace("State-gov", "")], [adult_row(1)])
    with pytest.raises(DataError, match=r"adult\.data, line 1: workclass is empty"):
        read(ADULT_TABLE, tmp_path)


def test_another_header_is_an_error(tmp_path: Path) -> None:
    text = quoted(CREDIT_DEFAULT_TABLE).replace("PAY_0", "PAY_1") + credit_row(0)
    with pytest.raises(DataError, match=r"UCI_Credit_Card\.csv, line 1: the fields must be"):
        read(CREDIT_DEFAULT_TABLE, write(CREDIT_DEFAULT_TABLE, tmp_path, text))
    with pytest.raises(DataError, match=r"UCI_Credit_Card\.csv, line 1: the fields must be"):
        read(CREDIT_DEFAULT_TABLE, write(CREDIT_DEFAULT_TABLE, tmp_path / "other", credit_row(0)))


@pytest.mark.parametrize("content", [b"\xff\xfe6,148", b'"' + b"x" * 200_000 + b'"'])
def test_what_is_no_text_or_table_is_an_error(content: bytes, tmp_path: Path) -> None:
    folder = write(PIMA_TABLE, tmp_path, "")
    (folder / "pima" / PIMA_TABLE.files[0]).write_bytes(content)
    with pytest.raises(DataError, match=r"pima-indians-diabetes\.csv cannot be read"):
        read(PIMA_TABLE, folder)


def test_a_data_folder_that_cannot_be_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for folder in (tmp_path / "loop", Path("\0")):
        with pytest.raises(DataError, match=r"is not in|cannot be used"):
            read(PIMA_TABLE, folder)
