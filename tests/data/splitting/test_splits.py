"""Splits by classes, groups and times, and folds."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from vfl_flower.common.codec import Array
from vfl_flower.common.errors import ConfigError, DataError, ProtocolError, RunError
from vfl_flower.config.run_config import RunConfig
from vfl_flower.data.splitting.record import LEFT_OUT, PARTS, Split
from vfl_flower.data.splitting.rows import check_told, draw_split, rows_of

N = 300
RANDOM = np.random.default_rng(0)
CLASSES = RANDOM.permutation(np.repeat([0, 1, 2], [200, 80, 20]))
GROUPS = RANDOM.integers(40, size=N)
TIMES = RANDOM.integers(60, size=N).astype(float)  # some five rows each
VALUES = {"stratified": CLASSES, "grouped": GROUPS, "time": TIMES}
OWN: dict[str, Any] = {"dataset": "own", "tables": "a.toml", "batch_size": 8}


def made(split: str, **options: Any) -> RunConfig:
    return RunConfig(**OWN, split=split, **options)


def rows_by(split: str, **options: Any) -> dict[str, Array]:
    return draw_split(made(split, **options), VALUES[split]).rows


def shares(rows: Array) -> Array:
    return np.bincount(CLASSES[rows], minlength=3) / len(rows)


def check_whole(rows: dict[str, Array], total: int = N) -> None:
    """Each row is in exactly one part."""
    assert sorted(np.concatenate(list(rows.values())).tolist()) == list(range(total))


@pytest.mark.parametrize("split", VALUES)
def test_parts_are_disjoint_and_come_again(split: str) -> None:
    first, again, other = (rows_by(split, seed=seed) for seed in (0, 0, 1))
    check_whole(first)
    assert all(np.array_equal(first[part], again[part]) for part in PARTS)
    assert np.array_equal(first["test"], other["test"]) == (split == "time")


def test_stratified_parts_have_the_classes_in_equal_shares() -> None:
    rows = rows_by("stratified")
    assert [len(rows[part]) for part in PARTS] == [216, 24, 60]
    for part in rows.values():
        assert np.abs(shares(part) - shares(np.arange(N))).max() < 1 / len(part)


def test_no_group_is_in_two_parts() -> None:
    rows = rows_by("grouped")
    groups = [set(GROUPS[part]) for part in rows.values()]
    assert len(set.union(*groups)) == sum(map(len, groups)) == len(set(GROUPS))
    assert [len(each) for each in groups] == [29, 3, 8]


def test_the_latest_rows_are_test_rows_and_no_time_is_cut_apart() -> None:
    rows = rows_by("time")
    train, validation, test = (TIMES[rows[part]] for part in PARTS)
    assert train.max() < validation.min() <= validation.max() < test.min()
    assert abs(len(test) - 60) < 6


@pytest.mark.parametrize("split", ["random", "stratified", "grouped"])
def test_each_row_is_a_test_row_of_one_fold(split: str) -> None:
    cfgs = [made(split, fold=f"{k}/5") for k in range(5)]
    if split == "random":
        folds = [rows_of(cfg, N) for cfg in cfgs]
    else:
        folds = [draw_split(cfg, VALUES[split]).rows for cfg in cfgs]
    for rows in folds:
        check_whole(rows)
    assert sorted(np.concatenate([rows["test"] for rows in folds]).tolist()) == list(range(N))


def test_folds_by_time_learn_earlier_rows_only() -> None:
    folds = [rows_by("time", fold=f"{k}/4") for k in range(4)]
    for rows in folds:
        train, validation, test = (TIMES[rows[part]] for part in PARTS)
        assert train.max() < validation.min() <= validation.max() < test.min()
    ends = [TIMES[rows["test"]].max() for rows in folds]
    starts = [TIMES[rows["test"]].min() for rows in folds]
    assert all(end < start for end, start in zip(ends, starts[1:], strict=False))
    assert ends[-1] == TIMES.max()
    assert [len(rows["train"]) for rows in folds] == sorted(len(rows["train"]) for rows in folds)


@pytest.mark.parametrize("split", VALUES)
def test_fewer_training_rows_and_parts_without_rows(split: str) -> None:
    rows = rows_by(split, train_rows=40, validation=0, test_share=0)
    assert [len(rows[part]) for part in PARTS] == [40, 0, 0]
    if split == "stratified":
        assert np.abs(shares(rows["train"]) - shares(np.arange(N))).max() < 1 / 40


@pytest.mark.parametrize("split", VALUES)
def test_fewer_test_rows_are_some_of_all_by_the_seed(split: str) -> None:
    cfg, value = made(split, test_rows=20), VALUES[split]
    told = None if split == "random" else draw_split(cfg, value)
    few, every = (rows_of(each, N, told) for each in (cfg, replace(cfg, test_rows=0)))
    assert len(few["test"]) == 20
    assert set(few["test"]) < set(every["test"])
    assert all(np.array_equal(few[part], every[part]) for part in ("train", "validation"))
    with pytest.raises(DataError, match=r"test-rows is 299, and there are \d+; use fewer"):
        rows_of(replace(cfg, test_rows=299), N, told)


def test_fewer_test_rows_of_data_that_have_their_own() -> None:
    rows = rows_of(RunConfig(dataset="mnist", test_rows=1000), 70_000)["test"]
    assert len(set(rows)) == 1000
    assert 60_000 <= rows.min() < 61_000
    assert 69_000 < rows.max() < 70_000  # not the first of them, which are easier


def test_data_with_test_rows_of_their_own_keep_them() -> None:
    cfg = RunConfig(dataset="mnist", split="stratified", batch_size=8)
    classes = np.tile(np.arange(10), 7_000)
    rows = draw_split(cfg, classes).rows
    assert rows["test"].tolist() == list(range(60_000, 70_000))
    assert np.bincount(classes[rows["validation"]]).tolist() == [600] * 10
    with pytest.raises(DataError, match="fold is 0/5, and mnist has test rows of its own"):
        draw_split(replace(cfg, fold="0/5"), classes)


@pytest.mark.parametrize(
    ("split", "values", "options", "says"),
    [
        ("stratified", [*[0] * 299, 1], {}, "a class has 1 of 300 rows"),
        ("stratified", [*[0] * 297, 1, 1, 1], {"fold": "0/5"}, "a class has 3 of 300 rows"),
        ("stratified", [*range(150)] * 2, {}, "60 of 300 rows are to be held out"),
        ("grouped", [7] * 300, {}, "1 groups are left for two parts"),
        ("grouped", [1, 2] * 150, {}, "1 groups are left for two parts"),
        ("grouped", [1, 2, 3, 4] * 75, {"fold": "0/5"}, "4 groups are left for 5 folds"),
        ("time", [3.0] * 300, {}, "all rows that are left have one time"),
        ("time", [3.0] * 299 + [4.0], {"fold": "0/5", "validation": 0}, "too many rows have one"),
        ("time", VALUES["time"], {"train_rows": 290}, "train-rows is 290"),
        ("grouped", GROUPS, {"batch_size": 290}, "batch-size 290 is more than"),
        ("stratified", CLASSES, {"validation": 1e-4}, "no rows are left for validation"),
    ],
)
def test_values_that_cannot_be_split_are_refused(
    split: str, values: object, options: dict[str, Any], says: str
) -> None:
    with pytest.raises(DataError, match=says):
        draw_split(RunConfig(**OWN | {"split": split} | options), np.array(values))


def test_the_class_that_is_too_rare_is_named() -> None:
    with pytest.raises(DataError) as refused:
        draw_split(made("stratified"), np.array([*[0] * 299, 1]), ("ok", "fraud"))
    assert refused.value.detail == "fraud"


@pytest.mark.parametrize("fold", ["5/5", "-1/5", "1", "1/1", "a/5", "1/5/5", "0/1001"])
def test_folds_that_are_none_are_refused(fold: str) -> None:
    with pytest.raises(ConfigError, match="fold must be number/folds"):
        made("random", fold=fold)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"split": "grouped"}, "the rows of digits have no column for it"),
        ({"split": "time"}, "the rows of digits have no column for it"),
        ({"fold": "0/5", "test_share": 0.3}, "fold 0/5 says which rows are test rows"),
    ],
)
def test_options_that_do_not_fit_are_refused(options: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        RunConfig(**options)


@pytest.mark.parametrize("options", [{}, {"fold": "1/5"}, {"train_rows": 50}])
@pytest.mark.parametrize("split", VALUES)
def test_a_passive_party_accepts_what_is_drawn(split: str, options: dict[str, Any]) -> None:
    cfg = made(split, **options)
    check_told(cfg, draw_split(cfg, VALUES[split]), 3)


def moved(parts: Array, source: str, target: int) -> Array:
    """Give half of a part's rows to another one."""
    rows = np.flatnonzero(parts == PARTS.index(source))
    parts = parts.copy()
    parts[rows[::2]] = target
    return parts


@pytest.mark.parametrize(
    ("options", "change", "says"),
    [
        ({}, ("test", 0), "the split has 30 test rows, and 60 are due"),
        ({}, ("validation", 0), "the split has 12 validation rows, and 24 are due"),
        ({}, ("train", LEFT_OUT), "leaves 108 rows out, and train-rows is 0"),
        ({"train_rows": 50}, ("train", LEFT_OUT), "has 25 training rows, and train-rows 50"),
        ({"fold": "0/5"}, ("test", 0), "the split has 30 test rows, and 60 are due"),
    ],
)
def test_a_passive_party_refuses_other_parts(
    options: dict[str, Any], change: tuple[str, int], says: str
) -> None:
    cfg = made("stratified", **options)
    told = draw_split(cfg, CLASSES).parts
    with pytest.raises(ProtocolError, match=says):
        check_told(cfg, Split(moved(told, *change)), 3)


@pytest.mark.parametrize("split", VALUES)
def test_a_passive_party_refuses_an_empty_part(split: str) -> None:
    cfg = made(split)
    told = draw_split(cfg, VALUES[split]).parts
    with pytest.raises(DataError, match="no rows are left for test"):
        check_told(cfg, Split(np.where(told == 2, 0, told).astype(np.uint8)), 3)
    with pytest.raises(ProtocolError, match=r"share is 0|and 0 are due"):
        check_told(replace(cfg, test_share=0), Split(told), 3)


def test_a_split_of_other_rows_or_none_is_refused() -> None:
    cfg = made("stratified")
    with pytest.raises(RunError, match="is of 300 rows, and there are 299"):
        rows_of(cfg, 299, draw_split(cfg, CLASSES))
    with pytest.raises(RunError, match="has not told"):
        rows_of(cfg, 300)
