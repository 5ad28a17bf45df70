"""Encoding of tables: one-hot categories, imputed gaps, scaled numbers."""

import csv
import io
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from tests.helpers.data import all_columns, columns_of
from tests.helpers.datasets import add_dataset
from tests.helpers.outcomes.commands import data
from tests.helpers.own_data.tables import adult_row, write_adult
from vfl_flower.algorithms.linear_models.table import coefficients_csv
from vfl_flower.common.errors import DataError
from vfl_flower.config.run_config import RunConfig
from vfl_flower.data.columns import Column
from vfl_flower.data.datasets import DataSet
from vfl_flower.data.held_columns import encoder_of
from vfl_flower.data.partition.correlation import spearman
from vfl_flower.data.preprocessing.scaling import encoded
from vfl_flower.data.published_data import PublishedData
from vfl_flower.data.splitting.rows import rows_of

NAN = float("nan")
TRAIN = np.arange(4, dtype=np.int32)
NUMBER, GAPPED = Column("number"), Column("gapped", gaps=True)
NAMES = Column("names", ("a", "b", "c"), gaps=True)


def encode(*columns: tuple[Column, list[float]], train: NDArray[Any] = TRAIN) -> NDArray[Any]:
    """Encode columns, each given with its values; NumPy's warnings are errors."""
    table = np.array([values for _, values in columns], np.float32).T
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = encoded(table, [column for column, _ in columns], train, "party-7")
    assert made.dtype == torch.float32
    return made.numpy()


def test_a_category_is_a_column_of_its_own_and_so_is_a_gap() -> None:
    made = encode((NAMES, [0, 2, NAN, 0, 2, NAN]))
    assert made.tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0], [0, 1, 0], [0, 0, 1]]


def test_what_no_training_row_has_is_all_zeros() -> None:
    made = encode((NAMES, [0, 2, 0, 2, 1, NAN]))
    assert made.tolist() == [[1, 0], [0, 1], [1, 0], [0, 1], [0, 0], [0, 0]]


def test_gaps_get_the_median_of_the_training_rows() -> None:
    """The median of 0, 2 and 10 is 2; scaling comes afterwards."""
    made = encode((GAPPED, [0, 2, 10, NAN, 900, NAN]))[:, 0]
    filled = np.array([0, 2, 10, 2, 900, 2])
    expected = (filled - 3.5) / np.std([0, 2, 10, 2])
    np.testing.assert_allclose(made, expected, rtol=1e-6)


def test_numbers_come_first() -> None:
    made = encode((NAMES, [0, 1, 0, 1]), (NUMBER, [-1, 1, -1, 1]))
    assert made.tolist() == [[-1, 1, 0], [1, 0, 1], [-1, 1, 0], [1, 0, 1]]


def test_constant_columns_are_centred_only() -> None:
    made = encode((NUMBER, [0.1] * 4 + [3.1]), (GAPPED, [7, NAN, 7, 7, 9]), (NAMES, [1] * 5))
    assert made[:4].tolist() == [[0, 0, 1]] * 4
    np.testing.assert_allclose(made[4], [3, 2, 1], rtol=1e-6)


@pytest.mark.parametrize("column", [GAPPED, NAMES])
def test_a_column_of_gaps_is_named_with_its_party(column: Column) -> None:
    with pytest.raises(DataError, match=f"^party-7: column {column.name} has no value"):
        encode((NUMBER, [1, 2, 3, 4, 5]), (column, [NAN, NAN, NAN, NAN, 1]))


@pytest.mark.parametrize(
    ("column", "bad"), [(NUMBER, NAN), (NUMBER, np.inf), (GAPPED, np.inf), (GAPPED, -np.inf)]
)
def test_nan_that_is_no_gap_and_infinity_stay_errors(column: Column, bad: float) -> None:
    with pytest.raises(DataError, match=rf"^party-7: column {column.name} holds NaN or inf"):
        encode((NAMES, [NAN, 1, 2, 0]), (column, [1, NAN if column.gaps else 2, bad, 4]))


# Parties ------------------------------------------------------------------------------------------

Make = Callable[[NDArray[Any]], RunConfig]
COLUMNS = tuple(
    replace(column, name=f"{column.name} {rank}")
    for rank, column in enumerate((NUMBER, NAMES, GAPPED, NUMBER, NAMES, GAPPED))
)


@pytest.fixture
def make(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Make:
    """Return a function that makes a data set and a configuration.

    Six columns, three parties.
    """
    made = 0

    def build(features: NDArray[Any]) -> RunConfig:
        nonlocal made
        made += 1  # loaded features are cached by folder
        entry = DataSet(
            2,
            0,
            lambda *_: features.astype(np.float32),
            lambda *_: np.arange(len(features)) % 2,
            columns=lambda *_: COLUMNS,
        )
        add_dataset(monkeypatch, "made", entry)
        folder = str(tmp_path / str(made))
        return RunConfig(dataset="made", data_dir=folder, parties=3, batch_size=8)

    return build


def rows(total: int) -> NDArray[Any]:
    random = np.random.default_rng(0)
    made = random.normal(3, 5, (total, 6))
    made[:, [1, 4]] = random.integers(0, 3, (total, 2))
    made[random.random((total, 6)) < 0.2] = NAN
    made[:, [0, 3]] = random.normal(3, 5, (total, 2))
    return made


def test_a_party_knows_its_own_columns_and_the_training_rows_only(make: Make) -> None:
    """Values elsewhere change nothing in its training rows, bit for bit."""
    table = rows(90)
    cfg = make(table)
    train = rows_of(cfg, 90)["train"]
    before = columns_of(cfg, 1)[torch.from_numpy(train)]
    others = np.setdiff1d(np.arange(90), train)
    changed = table.copy()
    changed[others] = rows(400)[-len(others) :] * [9, 1, 9, 9, 1, 9]
    changed[:, [0, 1, 4, 5]] = rows(300)[-90:][:, [0, 1, 4, 5]]  # the neighbours' columns
    after = columns_of(make(changed), 1)
    assert torch.equal(after[torch.from_numpy(train)], before)
    assert after.isfinite().all()


def test_the_central_bound_has_everybodys_columns_prepared_alike(make: Make) -> None:
    cfg = make(rows(90))
    shares = torch.cat([columns_of(cfg, rank) for rank in range(3)], 1)
    pooled = all_columns(cfg)
    assert sorted(map(tuple, shares.T.tolist())) == sorted(map(tuple, pooled.T.tolist()))


@pytest.mark.parametrize("partition", ["importance:1.0", "correlation:0.5", "overlapping:3"])
def test_gaps_are_split_too(partition: str, make: Make) -> None:
    made = make(rows(90))
    cfg = RunConfig.from_mapping(made.to_mapping() | {"partition": partition, "batch-size": 8})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert all(columns_of(cfg, rank).isfinite().all() for rank in range(3))


def test_a_gap_has_the_mean_rank() -> None:
    """Ranks 1, 2, 3 beside 1, 2, 4, gaps aside."""
    table = np.array([[1, 10], [2, 20], [3, NAN], [4, 30]], np.float32)
    a, b = np.array([-1.5, -0.5, 0.5, 1.5]), np.array([-1, 0, 0, 1])
    expected = a @ b / np.sqrt((a @ a) * (b @ b))
    assert spearman(table)[0, 1] == pytest.approx(expected)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        empty = spearman(np.array([[1, NAN], [2, NAN]], np.float32))
    assert empty.tolist() == [[pytest.approx(1), 0], [0, 0]]


def test_show_lists_columns_categories_and_gaps(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also of a table smaller than a batch: nothing is trained."""
    given = [adult_row(n) for n in range(50)]
    given[7] = given[7].replace(given[7].split(",")[0], "?", 1)
    write_adult(tmp_path, given, [adult_row(51)])
    flags = ["--dataset", "adult", "--data-dir", str(tmp_path)]
    assert data(["show", *flags, "--picture", str(tmp_path / "x.png")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "active holds 4 of 14 values a row"
    assert lines[1].startswith("  age: numbers; 1 of 51 missing, filled with the training rows' ")
    assert lines[2:5] == [
        "  workclass: categories, 3; 10 of 51 missing, a category of their own",
        "  fnlwgt: numbers",
        "  education: categories, 1",
    ]
    assert lines[5] == "party-1 holds 4 of 14 values a row"


def test_each_encoded_column_of_a_published_table_has_a_coefficient_with_its_name(
    make: Make,
) -> None:
    cfg = make(rows(90))
    widths = []
    for held in map(PublishedData(cfg).party, range(3)):
        widths.append(held.numbers.shape[1])
        encoder = encoder_of(cfg, held)
        assert encoder is not None
        written = coefficients_csv(cfg, held, np.zeros((widths[-1], 1)))
        lines = [*csv.DictReader(io.StringIO(written.decode()))]
        assert [line["column"] for line in lines] == list(encoder.sources)
    assert max(widths) > 2
