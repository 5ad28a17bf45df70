"""Data for studies: noise on columns, and long-tailed classes."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.contract import Tap
from tests.helpers.data import all_columns, columns_of
from vfl_flower.common.errors import ConfigError, DataError
from vfl_flower.config.run_config import RunConfig
from vfl_flower.data.partition.shares import take
from vfl_flower.data.preprocessing.long_tail import long_tailed
from vfl_flower.data.published_data import PublishedData
from vfl_flower.data.splitting.rows import rows_of
from vfl_flower.learning.schedule import steps_per_epoch
from vfl_flower.transport.endpoint import Endpoint
from vfl_flower.transport.local import serve
from vfl_flower.workflows.baselines import baselines_of
from vfl_flower.workflows.build_parties import build_active, build_passive

PLAIN = RunConfig(models="mlp", epochs=1, baselines="off")

# Noise on columns ---------------------------------------------------------------------------------


@pytest.mark.parametrize("dataset", ["digits", "wine"])
def test_noise_is_on_the_columns_of_the_parties_that_are_named(dataset: str) -> None:
    plain = replace(PLAIN, dataset=dataset, batch_size=32)
    noisy = replace(plain, column_noise="0:0.5, 2:10")
    for rank, deviation in enumerate((0.5, 0, 10, 0)):
        noise = columns_of(noisy, rank) - columns_of(plain, rank)
        if not deviation:
            assert not noise.any()
            continue
        assert noise.std().item() == pytest.approx(deviation, rel=0.1)
        assert abs(noise.mean().item()) < 0.1 * deviation
        assert noise.flatten(1).any(1).all(), "a row has no noise"


def test_noise_is_a_function_of_seed_and_place() -> None:
    """Every row of a party has its own, reproducibly."""
    noises = []
    for seed in (0, 0, 1):
        plain = replace(PLAIN, seed=seed)
        noisy = replace(plain, column_noise="1:1,2:1")
        noises.append([columns_of(noisy, k) - columns_of(plain, k) for k in (1, 2)])
    assert noises[0][0].equal(noises[1][0])
    assert not noises[0][0].allclose(noises[2][0], atol=0.1)
    assert not noises[0][0].allclose(noises[0][1], atol=0.1)
    first, second = noises[0][0][:2]
    assert not first.allclose(second, atol=0.1)


def test_the_central_bound_has_no_noise_and_the_local_one_that_of_the_active_party() -> None:
    """In a run that is long enough for columns to matter."""

    def bounds(noise: str) -> dict[str, float]:
        return baselines_of(build_active(replace(PLAIN, epochs=5, column_noise=noise)))

    plain, own, others = bounds(""), bounds("0:100"), bounds("1:100,2:100,3:100")
    assert plain == others
    assert own["central"] == plain["central"]
    assert own["local"] < plain["local"] - 0.1
    assert all_columns(replace(PLAIN, column_noise="1:1")).equal(all_columns(PLAIN))


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"column_noise": "4:1"}, "rank 4; parties with columns are at 0 to 3"),
        (
            {"column_noise": "0:1", "method": "splitnn", "active_columns": "none"},
            "rank 0; parties with columns are at 1 to 3",
        ),
        ({"column_noise": "1:0"}, "deviation 0 at rank 1; take one above 0"),
        ({"column_noise": "1:0.5,1:1"}, "a rank twice"),
        ({"column_noise": "party-1:0.5"}, "must be rank:deviation"),
        ({"column_noise": "1:1", "method": "central"}, "central has all of them as one"),
    ],
)
def test_noise_that_cannot_be_added_is_refused(options: dict[str, str], says: str) -> None:
    with pytest.raises(ConfigError, match=f"^column-noise .*{says}"):
        RunConfig(**options)  # type: ignore[arg-type]


# Scales of pixels ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "partition", ["strips", "strips:rows", "grid:2x2", "columns", "listed:0;1-9,63;10-31;32-62"]
)
def test_pixels_of_all_parties_can_have_one_scale(partition: str) -> None:
    own = replace(PLAIN, partition=partition)
    whole = replace(own, pixel_scaling="whole")
    everything = all_columns(replace(PLAIN, pixel_scaling="whole"))
    assert everything.equal(all_columns(PLAIN))
    data = PublishedData(whole)
    for rank in range(4):
        expected = take(everything.numpy(), data.shares[rank])
        assert np.allclose(columns_of(whole, rank).numpy(), expected, atol=1e-5)
        assert not np.allclose(columns_of(own, rank).numpy(), expected, atol=1e-2)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"dataset": "wine"}, ", which is for published images, and dataset is wine"),
        ({"dataset": "own", "parties": 2}, ", which is for .*, and dataset is own"),
        ({"method": "splitnn", "dp_sigma": 2.0}, ": .* its epsilon would not be true"),
    ],
)
def test_a_scale_of_whole_images_is_of_published_ones(
    options: dict[str, str | int | float], says: str
) -> None:
    with pytest.raises(ConfigError, match=f"^pixel-scaling is whole{says}"):
        RunConfig(pixel_scaling="whole", **options)  # type: ignore[arg-type]


# Long tails ---------------------------------------------------------------------------------------


@settings(max_examples=50)
@given(st.integers(2, 12), st.floats(1, 1000), st.integers(0, 2**32), st.data())
def test_class_c_keeps_the_share_that_its_place_gives_it(
    classes: int, factor: float, seed: int, data: st.DataObject
) -> None:
    counts = data.draw(st.lists(st.integers(1, 60), min_size=classes, max_size=classes))
    random = np.random.default_rng(seed)
    labels = np.repeat(np.arange(classes), counts)[random.permutation(sum(counts))]
    train = random.permutation(len(labels)).astype(np.int32)
    kept = long_tailed(train, labels, classes, factor, seed)
    for c, count in enumerate(counts):
        share = max(counts) * factor ** (-c / (classes - 1))
        assert np.sum(labels[kept] == c) == min(count, max(1, round(share)))
    there = np.isin(train, kept)
    assert np.array_equal(train[there], kept)
    assert kept.dtype == np.int32
    assert np.array_equal(kept, long_tailed(train, labels, classes, factor, seed))


def test_which_rows_stay_is_drawn_by_the_seed() -> None:
    labels, train = np.arange(1000) % 10, np.arange(1000, dtype=np.int32)
    ours, theirs = (long_tailed(train, labels, 10, 10, seed) for seed in (0, 1))
    assert len(ours) == len(theirs) < 500
    assert len(np.intersect1d(ours, theirs)) < len(ours)
    assert np.array_equal(long_tailed(train, labels, 10, 1, 0), train)


def test_only_the_active_partys_training_rows_shrink() -> None:
    """Other parties' columns are scaled by all training rows."""
    cfg = replace(PLAIN, long_tail=20.0, batch_size=50)
    active = build_active(cfg)
    every = rows_of(cfg, len(active.x))
    for part in ("validation", "test"):
        assert np.array_equal(active.rows[part], every[part])
    kept = active.rows["train"]
    assert set(kept) < set(every["train"])
    counts = np.bincount(active.y.numpy()[kept])
    assert counts[0] == pytest.approx(20 * counts[9], abs=20)
    assert all(a >= b for a, b in pairwise(counts))
    taps = [Tap(Endpoint(build_passive(cfg, k))) for k in range(1, 4)]
    serve(active, taps)
    assert active.progress.step == steps_per_epoch(cfg, len(kept)) < 20
    asked = [arrays[0] for phase, arrays in taps[0].requests() if phase == "embed"]
    assert np.array_equal(np.sort(np.concatenate(asked)), np.sort(kept))
    assert columns_of(cfg, 1).equal(columns_of(PLAIN, 1))


def test_a_tail_that_leaves_no_batch_is_refused() -> None:
    with pytest.raises(
        DataError,
        match=r"more than the 1.. training rows that long-tail 1e\+06 leaves; use batch-size",
    ):
        build_active(replace(PLAIN, long_tail=1e6, batch_size=600))


def test_a_tail_by_true_labels_and_label_privacy_are_refused_together() -> None:
    for options in ({"label_privacy": "alibi"}, {"method": "pravfed"}):
        with pytest.raises(ConfigError, match=r"^long-tail .* label-epsilon would not be true"):
            RunConfig(long_tail=2.0, **options)  # type: ignore[arg-type]
    assert RunConfig(long_tail=2.0, method="pravfed", label_privacy="none").long_tail == 2


def test_a_tail_and_a_cosine_are_refused_together() -> None:
    with pytest.raises(ConfigError, match=r"^long-tail .* use schedule = constant"):
        RunConfig(long_tail=2.0, schedule="cosine")
