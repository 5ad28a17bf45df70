"""Columns split by their correlation."""

import numpy as np
import pytest

from tests.helpers.data import columns_of
from tests.helpers.features import table
from vfl_flower.config.run_config import RunConfig
from vfl_flower.data.columns import Features
from vfl_flower.data.partition import correlation, tabular
from vfl_flower.data.partition.correlation import correlated, icor, pcor, spearman
from vfl_flower.data.partition.shares import Share

EXCHANGES = correlation.EXCHANGES


def blocks() -> Features:
    """Return four groups of three columns, correlated within groups only."""
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


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_beta_runs_from_correlated_within_to_correlated_between(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(correlation, "EXCHANGES", EXCHANGES)
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
