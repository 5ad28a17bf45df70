"""Transcripts hold the uploads that the active party reads, and their sums."""

import numpy as np
import pytest

from tests.helpers.outcomes.stages import stage_of


@pytest.mark.parametrize(
    ("method", "precision", "sigma"),
    [("easter", "float32", 0), ("easter", "float16", 0), ("easter", "int8", 2)],
)
def test_the_decoded_sum_is_that_of_the_parties(method: str, precision: str, sigma: float) -> None:
    stage = stage_of(method, wire_precision=precision, dp_sigma=float(sigma))
    assert stage.masked
    truth = np.sum([stage.truth(k) for k in stage.ranks()], 0)
    assert np.abs(stage.summed - truth).max() < (1e-4 if precision == "float32" else 0.01)
    assert np.abs(stage.summed).max() > 0.1


def test_weighted_uploads_add_up_too() -> None:
    """PraVFed's parties weight their embeddings, and upload each row once."""
    stage = stage_of("pravfed")
    truth = np.sum([stage.truth(k) for k in stage.ranks()], 0)
    assert np.abs(stage.summed - truth).max() < 0.05  # sums of 256 weights, in steps of 2**-16


def test_masked_words_tell_nothing_alone() -> None:
    stage = stage_of("easter")
    words = stage.uploads[0].words.astype(np.float64).ravel()
    truth = stage.truth(1).ravel()
    assert abs(np.corrcoef(words, truth)[0, 1]) < 0.03
    assert 0.49 < words.mean() / 2**32 < 0.51


def test_without_masks_each_upload_is_seen() -> None:
    stage = stage_of("easter", bare=True)
    assert not stage.masked
    assert np.array_equal(stage.seen(1), stage.truth(1))
    assert not np.array_equal(stage.seen(1), stage.seen(2))


def test_compressed_uploads_are_read_as_they_arrive() -> None:
    stage = stage_of("c_vfl", compression="topk:0.25")
    kept = (stage.seen(1) != 0).sum(1)
    assert kept.max() <= 4  # of 16
    assert kept.mean() > 1


def test_the_first_upload_is_the_first_batch() -> None:
    stage = stage_of("splitnn")
    first = stage.uploads[0].first
    assert first is not None
    rows, values = first
    assert (len(rows), values.shape) == (100, (100, 16))
    assert len(np.unique(rows)) == 100
