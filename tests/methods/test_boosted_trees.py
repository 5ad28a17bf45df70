"""Boosted trees equal pooled ones, split by split."""

import csv
import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score

from strategies.boosted_trees import BoostedTrees
from tests.helpers.data import columns_of, labels_of
from tests.helpers.joint.boosting import Pooled, Split, boosted
from tests.helpers.joint.reference import WeightedData
from tests.helpers.outcomes.attempts import Attempt
from vfl_flower.algorithms.boosting.bins import Bins
from vfl_flower.algorithms.boosting.forest import Splits
from vfl_flower.algorithms.boosting.gains import within_leaves
from vfl_flower.algorithms.boosting.importance import IMPORTANCE
from vfl_flower.common.errors import Interrupted
from vfl_flower.common.names import party_name
from vfl_flower.config.catalog import REGRESSION
from vfl_flower.config.run_config import RunConfig
from vfl_flower.data.party_data import PartyData
from vfl_flower.data.preprocessing.target import Target
from vfl_flower.data.published_data import PublishedData
from vfl_flower.learning.losses import Weighted
from vfl_flower.parties.passive import PassiveParty
from vfl_flower.transport.local import run_local
from vfl_flower.workflows.build_parties import build_active, build_passive

SMALL: dict[str, Any] = {
    "method": "boosted_trees",
    "dataset": "wine",
    "parties": 3,
    "epochs": 3,
    "tree_depth": 3,
    "bins": 255,
}


class Numbers(PublishedData):
    """Data whose labels are one of the columns, and so numbers."""

    def party(self, rank: int, *, labelled: bool = True) -> PartyData:
        data = replace(super().party(rank, labelled=labelled), classes=1)
        if rank:
            return data
        y = super().party(1).numbers.flatten(1)[:, 0] + super().party(0).numbers.flatten(1)[:, 0]
        return replace(data, y=y.float(), target=Target(REGRESSION, ()))


def trained(cfg: RunConfig, source: Any = None) -> tuple[BoostedTrees, list[PassiveParty]]:
    """Train in process."""
    source = source or PublishedData(cfg)
    active = build_active(cfg, source=source)
    passive = [build_passive(cfg, k, data=source.party(k)) for k in range(1, cfg.parties)]
    run_local(active, passive)
    assert isinstance(active, BoostedTrees)
    return active, passive


def splits_of(active: BoostedTrees, passive: list[PassiveParty]) -> dict[tuple[int, ...], Split]:
    """Return rank, column, threshold and way of gaps by place."""
    parties, found = [active, *passive], {}
    for place in map(tuple, (active.net.owner >= 0).nonzero().tolist()):
        rank = int(active.net.owner[place])
        kept = parties[rank].net
        assert isinstance(kept, Splits)
        column, threshold = int(kept.column[place]), float(kept.threshold[place])
        found[place] = rank, column, threshold, bool(kept.missing_left[place])
    for rank, party in enumerate(parties):
        assert isinstance(party.net, Splits)
        assert torch.equal(party.net.column >= 0, active.net.owner == rank)
    return found


def pooled(active: BoostedTrees, passive: list[PassiveParty]) -> Pooled:
    """Boost the same trees on all columns in one table."""
    train = active.rows["train"]
    x = [party.data.numbers.flatten(1).numpy()[train] for party in (active, *passive)]
    return boosted(active.cfg, x, active.y.numpy()[train], active.data.classes)


@pytest.mark.parametrize(
    ("dataset", "options"),
    [
        ("wine", {}),
        ("breast-cancer", {}),
        ("wine", {"row_share": 0.6, "column_share": 0.5, "leaf_l2": 0.0, "least_child": 3.0}),
        ("wine", {"active_columns": "none"}),
        ("breast-cancer", {"tree_depth": 4, "learning_rates": "0.5", "leaf_l2": 10.0}),
    ],
)
def test_equal_to_pooled_trees(dataset: str, options: dict[str, Any]) -> None:
    cfg = RunConfig(**(SMALL | {"dataset": dataset, "train_rows": 70} | options))
    active, passive = trained(cfg)
    joint = pooled(active, passive)
    assert splits_of(active, passive) == joint.splits
    assert len({rank for rank, *_ in joint.splits.values()}) > 1
    np.testing.assert_allclose(active.scores.numpy(), joint.scores, rtol=1e-6, atol=1e-9)


def test_each_owner_draws_an_order_that_changes_no_tree() -> None:
    cfg = RunConfig(**(SMALL | {"dataset": "breast-cancer"}))
    first, again = trained(cfg), trained(cfg)
    assert splits_of(*first) == splits_of(*again)
    assert torch.equal(first[0].net.value, again[0].net.value)
    orders = [party.growth.order.tolist() for _, passive in (first, again) for party in passive]  # type: ignore[attr-defined]
    assert len(set(map(tuple, orders))) == 4
    assert all(sorted(order) == list(range(10)) for order in orders)
    assert first[0].growth.order.tolist() == list(range(10))


class Holed(PublishedData):
    """Data a fifth of whose numbers are missing in some columns."""

    def party(self, rank: int, *, labelled: bool = True) -> PartyData:
        data = super().party(rank, labelled=labelled)
        x = data.numbers.flatten(1).clone()
        holes = np.random.default_rng(rank).random(x.shape) < 0.2
        holes[:, ::3] = False
        return replace(data, x=x.masked_fill(torch.from_numpy(holes), float("nan")))


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"row_share": 0.7, "column_share": 0.6}])
def test_equal_to_pooled_trees_where_values_are_missing(options: dict[str, Any]) -> None:
    cfg = RunConfig(**(SMALL | {"train_rows": 70} | options))
    active, passive = trained(cfg, Holed(cfg))
    joint = pooled(active, passive)
    assert splits_of(active, passive) == joint.splits
    np.testing.assert_allclose(active.scores.numpy(), joint.scores, rtol=1e-6, atol=1e-9)
    assert {way for *_, way in joint.splits.values()} == {False, True}


def test_equal_to_pooled_trees_of_numbers() -> None:
    cfg = RunConfig(**(SMALL | {"train_rows": 100, "learning_rates": "0.5"}))
    active, passive = trained(cfg, Numbers(cfg))
    joint = pooled(active, passive)
    assert splits_of(active, passive) == joint.splits
    np.testing.assert_allclose(active.scores.numpy(), joint.scores, rtol=1e-6, atol=1e-9)
    assert active.progress.records[-1].scores["r2"]["active"] > 0.3


@pytest.mark.parametrize("leaves", [2, 5])
def test_leaves_go_to_the_largest_gains_of_a_layer(leaves: int) -> None:
    """A tree is that without a limit, less the smallest gains."""
    options = SMALL | {"dataset": "breast-cancer", "train_rows": 200, "epochs": 1}
    whole = splits_of(*trained(RunConfig(**options)))
    active, passive = trained(RunConfig(**options, tree_leaves=leaves))
    found = splits_of(active, passive)
    assert len(found) == leaves - 1
    assert found.items() < whole.items()
    assert (active.net.value != 0).sum() == leaves


def test_splits_that_gain_least_are_left_out() -> None:
    picked, gained = np.array([4, -1, 2, 9, 1]), np.array([1.0, 0.0, 3.0, 2.0, 2.0])
    kept = within_leaves(picked, gained, np.array([0, 0, 0, 0, 1]), np.array([2, 0]))
    assert kept.tolist() == [-1, -1, 2, 9, -1]


def test_gains_are_told_by_party_and_each_column_to_its_party_alone(tmp_path: Path) -> None:
    attempt = Attempt(RunConfig(**(SMALL | {"dataset": "breast-cancer"})), tmp_path / "run")
    attempt.run()
    figures = attempt.active.figures()
    parties = [party_name(rank) for rank in range(3)]
    gains = {}
    for party in parties:
        text = (tmp_path / "run" / party / "model" / IMPORTANCE).read_text()
        lines = [*csv.DictReader(io.StringIO(text))]
        assert {line["party"] for line in lines} == {party}
        assert len({line["column"] for line in lines}) == 10
        assert sum(int(line["splits"]) for line in lines) == figures[f"splits_{party}"] > 0
        found = [float(line["gain"]) for line in lines]
        assert found == sorted(found, reverse=True)
        gains[party] = sum(found)
    for party, gain in gains.items():
        share = figures[f"gain_share_{party}"]
        assert share == pytest.approx(gain / sum(gains.values()), rel=1e-5)


def test_training_ends_after_rounds_without_a_better_score(tmp_path: Path) -> None:
    options = SMALL | {"epochs": 30, "learning_rates": "0.5", "patience": 3, "keep": "best"}
    with pytest.raises(Interrupted):
        Attempt(RunConfig(**options), tmp_path / "run").run(stop_at=2)
    attempt = Attempt(RunConfig(**options), tmp_path / "run")
    attempt.run()
    scores = [each.score for each in attempt.active.progress.records]
    best = scores.index(max(scores))
    assert best + 4 == len(scores) < 30
    assert attempt.folder is not None
    result = attempt.folder.result()
    assert result is not None
    assert (result["ended_by"], result["counting_step"]) == ("patience", best + 1)
    assert (attempt.active.net.owner[best + 1 :] < 0).all()  # type: ignore[index]


def test_the_gain_of_a_split_is_what_the_loss_loses() -> None:
    """Twice the fall of its second-order expansion by a tree."""
    cfg = RunConfig(**(SMALL | {"epochs": 1, "learning_rates": "1", "leaf_l2": 0.5}))
    active, _ = trained(cfg, Numbers(cfg))
    y = active.y[torch.from_numpy(active.rows["train"])].double()
    before, z = y.mean() - y, active.scores[:, 0] - y.mean()
    penalty = 0.5 * (active.net.value.double() ** 2).sum()
    fall = -(4 * before * z + 2 * z**2).sum() - penalty
    root = (2 * before.sum()) ** 2 / (2 * len(y) + 0.5)
    assert float(active.net.gain.sum()) == pytest.approx(float(fall - root), rel=1e-4)


def test_reference_can_fail() -> None:
    cfg = RunConfig(**(SMALL | {"train_rows": 70}))
    active, passive = trained(cfg)
    active.y[torch.from_numpy(active.rows["train"][:9])] = 0
    assert splits_of(active, passive) != pooled(active, passive).splits


@pytest.mark.slow
def test_equal_to_pooled_trees_of_weighted_rows() -> None:
    cfg = RunConfig(**(SMALL | {"train_rows": 70, "largest_weight": 10.0}))
    weights = torch.rand(len(labels_of(cfg)), generator=torch.Generator().manual_seed(0)) + 0.2
    active, passive = trained(cfg, WeightedData(cfg, weights))
    train, truth = active.rows["train"], active.truth(active.rows["train"])
    assert isinstance(truth, Weighted)
    x = [party.data.numbers.flatten(1).numpy()[train] for party in (active, *passive)]
    weight = truth.weight.double().numpy()
    joint = boosted(cfg, x, active.y.numpy()[train], 3, weight)
    assert splits_of(active, passive) == joint.splits != pooled(active, passive).splits
    np.testing.assert_allclose(active.scores.numpy(), joint.scores, rtol=1e-6, atol=1e-9)


def test_rows_without_weight_are_not_learnt_from() -> None:
    """Rows of weight 0 teach nothing."""
    cfg = RunConfig(**(SMALL | {"train_rows": 70, "largest_weight": 10.0, "dataset": "wine"}))
    weights = torch.ones(len(labels_of(cfg)))
    train = PublishedData(cfg).party(0).rows["train"]
    weights[torch.from_numpy(train[:50])] = 0
    active, passive = trained(cfg, WeightedData(cfg, weights))
    other = labels_of(cfg).clone()
    other[torch.from_numpy(train[:50])] = 0  # labels that count for nothing
    again, parties = trained(cfg, Relabelled(cfg, weights, other))
    assert splits_of(active, passive) == splits_of(again, parties)


class Relabelled(WeightedData):
    """The same rows with other labels."""

    def __init__(self, cfg: RunConfig, weights: torch.Tensor, y: torch.Tensor) -> None:
        super().__init__(cfg, weights)
        self.y = y

    def party(self, rank: int, *, labelled: bool = True) -> PartyData:
        data = super().party(rank, labelled=labelled)
        return data if rank else replace(data, y=self.y)


@pytest.mark.slow
def test_as_good_as_pooled_histograms_of_scikit_learn() -> None:
    """On the same bins: AUC within 0.002, over five splits."""
    ours, theirs = [], []
    for seed in range(5):
        cfg = RunConfig(
            **(SMALL | {"dataset": "breast-cancer", "epochs": 40, "seed": seed, "bins": 32}),
            least_child=1e-3,
            leaf_l2=0.0,
            validation=0.0,
        )
        active, _ = trained(cfg)
        train, test = active.rows["train"], active.rows["test"]
        x = np.concatenate([columns_of(cfg, k).flatten(1).numpy() for k in range(3)], 1)
        edges = Bins(x[train], cfg.options.bins).edges  # type: ignore[attr-defined]
        codes = np.stack([np.searchsorted(e, c) for e, c in zip(edges, x.T, strict=True)], 1)
        model = HistGradientBoostingClassifier(
            max_iter=40, max_depth=3, min_samples_leaf=1, max_leaf_nodes=None, early_stopping=False
        )
        y = labels_of(cfg).numpy()
        model.fit(codes[train], y[train])
        theirs.append(roc_auc_score(y[test], model.decision_function(codes[test])))
        ours.append(active.progress.metrics["active"]["auc"])
    assert abs(np.mean(ours) - np.mean(theirs)) < 0.002
    assert np.mean(ours) > 0.98
