"""Who holds what: every way to deal columns out, and the picture of it."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from PIL import Image

from tests.helpers.commands import data as run
from tests.helpers.data import all_columns, columns_of
from vfl_flower.common.errors import DataError
from vfl_flower.config.partition_spec import PartitionSpec
from vfl_flower.config.run_config import RunConfig
from vfl_flower.data.columns import Features
from vfl_flower.data.partition import tabular
from vfl_flower.data.partition.correlation import correlated, icor, pcor, spearman
from vfl_flower.data.partition.schemes import shares_by
from vfl_flower.data.partition.shares import Share, take


def table(rows: int, width: int) -> Features:
    return np.random.default_rng(0).normal(3, 5, (rows, width)).astype(np.float32)


def image(rows: int, *shape: int) -> Features:
    return np.random.default_rng(0).normal(3, 5, (rows, *shape)).astype(np.float32)


def deal(text: str, features: Features, parties: int, seed: int = 0) -> list[Share]:
    return shares_by(PartitionSpec.read(text), features, parties, seed)


def dealt(text: str, features: Features, parties: int, seed: int = 0) -> list[Features]:
    return [take(features, share) for share in deal(text, features, parties, seed)]


# Parts of images --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "shapes"),
    [
        ("strips", [(2, 5, 3), (2, 5, 3), (2, 5, 2)]),
        ("strips:columns", [(2, 5, 3), (2, 5, 3), (2, 5, 2)]),
        ("strips:rows", [(2, 2, 8), (2, 2, 8), (2, 1, 8)]),
    ],
)
def test_strips_are_as_even_as_possible_and_leave_nothing_out(
    text: str, shapes: list[tuple[int, ...]]
) -> None:
    pixels = image(4, 2, 5, 8)
    shares = dealt(text, pixels, 3)
    assert [share.shape[1:] for share in shares] == shapes
    assert np.array_equal(np.concatenate(shares, 2 if text == "strips:rows" else 3), pixels)


@pytest.mark.parametrize(("axis", "pixels"), [("columns", 8), ("rows", 5)])
def test_too_many_parties_for_the_strips_is_an_error(axis: str, pixels: int) -> None:
    assert len(deal(f"strips:{axis}", image(2, 1, 5, 8), pixels)) == pixels
    with pytest.raises(DataError, match=f"{pixels} pixel {axis} cannot be dealt to {pixels + 1}"):
        deal(f"strips:{axis}", image(2, 1, 5, 8), pixels + 1)


@pytest.mark.parametrize("text", ["strips", "grid:2x2"])
def test_a_table_is_no_image(text: str) -> None:
    with pytest.raises(DataError, match="use columns"):
        deal(text, table(3, 8), 4)


def test_uneven_tiles_leave_the_rest_to_the_last() -> None:
    """As the papers cut 32 pixels in three: 10, 10 and 12."""
    shares = dealt("grid:3x3", image(2, 3, 32, 32), 9)
    sides = (10, 10, 12)
    assert [share.shape[2:] for share in shares] == [(r, c) for r in sides for c in sides]


@given(st.integers(1, 5), st.integers(1, 5), st.integers(5, 12), st.integers(5, 12))
def test_tiles_put_together_are_the_image(rows: int, cols: int, height: int, width: int) -> None:
    pixels = image(2, 1, height, width)
    shares = dealt(f"grid:{rows}x{cols}", pixels, rows * cols)
    lines = [np.concatenate(shares[r * cols : (r + 1) * cols], 3) for r in range(rows)]
    assert np.array_equal(np.concatenate(lines, 2), pixels)
    assert all(share.size for share in shares)


def test_tiles_that_do_not_fit_are_an_error() -> None:
    with pytest.raises(DataError, match="grid:2x3 has 6 tiles, and there are 4 parties"):
        deal("grid:2x3", image(2, 1, 8, 8), 4)
    with pytest.raises(DataError, match="8 pixels cannot be cut into 9"):
        deal("grid:1x9", image(2, 1, 8, 8), 9)


# Columns of tables ------------------------------------------------------------------------------


def test_columns_are_dealt_in_reading_order() -> None:
    pixels = image(4, 1, 3, 3)
    shares = dealt("columns", pixels, 4)
    assert [share.shape for share in shares] == [(4, 3), (4, 2), (4, 2), (4, 2)]
    assert np.array_equal(np.concatenate(shares, 1), pixels.reshape(4, 9))


@given(st.integers(1, 12), st.integers(1, 12))
def test_every_party_gets_some_columns_or_the_deal_is_refused(width: int, parties: int) -> None:
    rows = table(3, width)
    if parties > width:
        with pytest.raises(DataError, match=f"{width} columns cannot be dealt to {parties}"):
            deal("columns", rows, parties)
        return
    widths = [share.shape[1] for share in dealt("columns", rows, parties)]
    assert sum(widths) == width
    assert max(widths) - min(widths) <= 1


@given(st.integers(1, 30), st.integers(1, 40), st.data())
def test_windows_overlap_evenly_and_leave_nothing_out(
    parties: int, pixels: int, data: st.DataObject
) -> None:
    size = data.draw(st.integers(-(-pixels // parties), pixels))
    shares = deal(f"overlapping:{size}", table(2, pixels), parties)
    starts = []
    for share in shares:
        assert isinstance(share, np.ndarray)
        assert share.tolist() == list(range(share[0], share[0] + size))
        starts.append(int(share[0]))
    assert {column for share in shares for column in share.tolist()} == set(range(pixels))  # type: ignore[union-attr]
    steps = np.diff(starts)
    assert not len(steps) or steps.max() - steps.min() <= 1


def test_a_window_has_all_channels_of_its_pixels() -> None:
    pixels = image(2, 3, 2, 2)
    shares = dealt("overlapping:3", pixels, 2)
    for share, start in zip(shares, (0, 1), strict=True):
        assert np.array_equal(
            share.reshape(2, 3, 3), pixels.reshape(2, 3, 4)[..., start : start + 3]
        )


@pytest.mark.parametrize("size", [2, 13])
def test_windows_that_leave_something_out_or_are_too_large_are_an_error(size: int) -> None:
    with pytest.raises(DataError, match="take a size from 3 to 12"):
        deal(f"overlapping:{size}", table(2, 12), 4)


def test_listed_columns_go_where_they_are_listed() -> None:
    rows = table(3, 9)
    shares = dealt("listed:0-2,8;4;5, 7 ,1-2", rows, 3)
    for share, expected in zip(shares, ([0, 1, 2, 8], [4], [5, 7, 1, 2]), strict=True):
        assert np.array_equal(share, rows[:, expected])


def test_lists_that_do_not_fit_are_an_error() -> None:
    with pytest.raises(DataError, match="columns of 2 parties, not 3"):
        deal("listed:0;1", table(3, 9), 3)
    with pytest.raises(DataError, match="list 2 names column 9; the last is 8"):
        deal("listed:0;9", table(3, 9), 2)


def widths_of(alpha: float) -> NDArray[np.float64]:
    """Return the standard deviation of the parties' widths, seed by seed."""
    rows = table(2, 60)
    shares = [deal(f"importance:{alpha}", rows, 4, seed) for seed in range(60)]
    return np.array([np.std([len(share) for share in each]) for each in shares])


def test_importance_deals_every_column_once_and_alpha_decides_how_evenly() -> None:
    shares = deal("importance:0.3", table(2, 60), 4, seed=5)
    columns = np.concatenate([share for share in shares if isinstance(share, np.ndarray)])
    assert sorted(columns.tolist()) == list(range(60))
    again = deal("importance:0.3", table(2, 60), 4, seed=5)
    assert repr(shares) == repr(again)
    assert widths_of(0.3).mean() > 2 * widths_of(100.0).mean()


def test_importance_that_leaves_a_party_without_columns_is_an_error() -> None:
    with pytest.raises(DataError, match="take a larger alpha"):
        deal("importance:0.00001", table(2, 60), 20)


# Correlation ------------------------------------------------------------------------------------


def blocks() -> Features:
    """Return four groups of three columns, alike within a group and independent between."""
    random = np.random.default_rng(1)
    sources = random.normal(size=(500, 4)).repeat(3, axis=1)
    return (sources + 0.05 * random.normal(size=(500, 12))).astype(np.float32)


def test_spearman_is_that_of_scipy() -> None:
    from scipy.stats import spearmanr

    rows = np.round(table(300, 6))  # ties
    assert np.allclose(spearman(rows), spearmanr(rows).statistic)
    rows[:, 2] = 7  # does not vary
    assert spearman(rows)[2].tolist() == [0] * 6


def test_pcor_of_known_blocks() -> None:
    assert pcor(np.eye(4)) == pytest.approx(0)  # all directions alike
    assert pcor(np.ones((3, 3))) == pytest.approx(1)  # one direction: 3, 0, 0
    assert pcor(np.ones((1, 5))) == 0


@pytest.mark.parametrize("seed", [0, 1])
def test_beta_runs_from_correlated_within_to_correlated_between(seed: int) -> None:
    rows = blocks()
    cor = spearman(rows)
    groups = np.arange(12).reshape(4, 3)
    scores = []
    for beta in (0.0, 0.5, 1.0):
        shares = correlated(rows, 4, beta, seed)
        assert sorted(np.concatenate(shares).tolist()) == list(range(12))
        assert {len(share) for share in shares} == {3}
        scores.append(icor(cor, shares))
    assert scores[0] < scores[1] < scores[2]
    assert scores[0] == pytest.approx(icor(cor, list(groups)), abs=0.15)  # groups kept together
    assert scores[1] == pytest.approx((scores[0] + scores[2]) / 2, abs=0.1)


def test_correlation_looks_at_training_rows_only(monkeypatch: pytest.MonkeyPatch) -> None:
    cfg = RunConfig(dataset="wine", partition="correlation:0", seed=3)
    seen: list[int] = []

    def watched(features: Features, *rest: object) -> list[Share]:
        seen.append(len(features))
        return split(features, *rest)  # type: ignore[arg-type]

    split = tabular.correlation
    monkeypatch.setattr(tabular, "correlation", watched)
    columns_of(cfg, 0)
    assert seen == [128]  # of 178


# All together -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "partition",
    ["strips:rows", "grid:2x2", "columns", "overlapping:20", "importance:1", "correlation:0.5"],
)
def test_parties_hold_their_shares_and_the_central_bound_holds_all(partition: str) -> None:
    cfg = RunConfig(partition=partition, models="mlp")
    held = sum(columns_of(cfg, rank)[0].numel() for rank in range(4))
    assert held == (80 if partition == "overlapping:20" else 64)
    assert all_columns(cfg)[0].numel() == 64


@pytest.mark.parametrize("partition", ["strips", "grid:2x2", "columns", "importance:1"])
def test_no_partys_memory_holds_anothers_columns(partition: str) -> None:
    """Its tensor is its own memory, and not a window into everybody's."""
    cfg = RunConfig(partition=partition, models="mlp")
    for rank in range(4):
        own = columns_of(cfg, rank)
        assert own.untyped_storage().nbytes() == own.numel() * 4


def test_the_central_bound_holds_no_column_that_nobody_has() -> None:
    cfg = RunConfig(dataset="wine", partition="listed:0-2;2-4;5;7")
    assert all_columns(cfg).shape == (178, 7)


# Some of the shares -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "made",
    ["strips:rows", "grid:2x3", "columns", "overlapping:13", "importance:1", "correlation:1"],
)
@settings(max_examples=5)
@given(data=st.data())
def test_shares_that_are_kept_are_those_of_all_parties(made: str, data: st.DataObject) -> None:
    numbers = data.draw(st.lists(st.integers(0, 5), min_size=1, unique=True))
    pixels, listed = image(9, 1, 6, 8), ",".join(map(str, numbers))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("vfl_flower.data.partition.correlation.EXCHANGES", 10)  # the search is long
        every = dealt(made, pixels, 6, seed=3)
        kept = dealt(f"{made}@{listed}/6", pixels, len(numbers), seed=3)
    assert len(kept) == len(numbers)
    assert all(np.array_equal(a, every[n]) for a, n in zip(kept, numbers, strict=True))


def test_a_run_of_kept_shares_has_the_columns_of_the_parties_that_held_them() -> None:
    every, some = RunConfig(parties=4), RunConfig(parties=3, partition="auto@0,2-3/4")
    for rank, earlier in enumerate((0, 2, 3)):
        assert columns_of(some, rank).equal(columns_of(every, earlier))


@pytest.mark.parametrize("made", ["strips", "grid:2x2"])
def test_pixels_that_nobody_holds_are_blank_in_the_central_bound(made: str) -> None:
    some = all_columns(RunConfig(parties=3, partition=f"{made}@0,2,3/4"))
    every = all_columns(RunConfig(partition=made))
    assert every.shape == some.shape == (1797, 1, 8, 8)
    away = np.zeros((8, 8), bool)
    away[:, 2:4] = made == "strips"
    away[:4, 4:] |= made == "grid:2x2"
    assert away.sum() == 16
    assert some[:, 0, ~away].equal(every[:, 0, ~away])
    assert every[:, 0, away].any()
    assert not some[:, 0, away].any()


# The picture ------------------------------------------------------------------------------------


@pytest.mark.parametrize("flags", [["--partition", "grid:2x2"], ["--dataset", "wine"]])
def test_the_picture_shows_each_party(
    flags: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "holdings.png"
    assert run(["show", *flags, "--picture", str(path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    lines = [line for line in lines if not line.startswith("  ")]  # what a table's columns are
    assert lines[1].startswith("party-1 holds ")
    assert len(lines) == 5
    with Image.open(path) as picture:
        pixels = np.asarray(picture.convert("RGB"))
    rows = np.array_split(pixels[8:], 4)
    assert len({row.tobytes() for row in rows}) == 4
    assert all(len(np.unique(row.reshape(-1, 3), axis=0)) > 2 for row in rows)


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["show", "--partition", "grid:3x3"], "9 tiles"),
        (["show", "--dataset", "wien"], "did you mean 'wine'"),
        (["show", "--dataset", "mnist", "--no-download", "--data-dir", "none"], "set data-dir"),
        (["show", "--epochs", "3"], "--epochs"),
        ([], "Missing command"),
    ],
)
def test_a_picture_that_cannot_be_drawn_says_why(
    arguments: list[str], part: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if arguments:
        arguments = [*arguments, "--picture", str(tmp_path / "none.png")]
    assert run(arguments) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert part in line
    assert not list(tmp_path.iterdir())
