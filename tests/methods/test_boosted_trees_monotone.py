"""Boosted trees whose scores only rise or fall with some columns."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from strategies.boosted_trees import BoostedTrees
from tests.helpers.joint.boosting import Pooled, boosted
from tests.methods.test_boosted_trees import SMALL, Holed, Numbers, splits_of, trained
from vfl_flower.common.codec import Array
from vfl_flower.common.errors import ConfigError, PartyError
from vfl_flower.config.run_config import RunConfig
from vfl_flower.data.held_columns import sources_of
from vfl_flower.parties.passive import PassiveParty
from vfl_flower.transport.endpoint import Endpoint
from vfl_flower.transport.local import serve
from vfl_flower.workflows.build_parties import build_active, build_passive

NAMED = (
    "worst concave points:falling, worst radius:falling, mean texture:falling, worst area:rising"
)
OPTIONS: dict[str, Any] = SMALL | {"dataset": "breast-cancer", "monotone": NAMED}
CFG = RunConfig(**OPTIONS)


def places(parties: list[Any]) -> dict[tuple[int, int], int]:
    """Return the signs by rank and column."""
    named = parties[0].options.signs
    return {
        (rank, at): named[name]
        for rank, party in enumerate(parties)
        for at, name in enumerate(sources_of(party.cfg, party.data))
        if name in named
    }


def joint(active: BoostedTrees, passive: list[PassiveParty]) -> Pooled:
    """Boost the same trees on all columns in one table."""
    parties, train = [active, *passive], active.rows["train"]
    x = [party.data.numbers.flatten(1).numpy()[train] for party in parties]
    y, classes = active.y.numpy()[train], active.data.classes
    return boosted(active.cfg, x, y, classes, signs=places(parties))


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"tree_depth": 4, "learning_rates": "0.5", "leaf_l2": 10.0},
        {"row_share": 0.6, "column_share": 0.7, "least_child": 2.0, "train_rows": 150},
    ],
)
def test_equal_to_pooled_trees(options: dict[str, Any]) -> None:
    cfg = RunConfig(**(OPTIONS | {"train_rows": 70, "epochs": 4} | options))
    active, passive = trained(cfg)
    made = joint(active, passive)
    assert splits_of(active, passive) == made.splits
    np.testing.assert_allclose(active.scores.numpy(), made.scores, rtol=1e-6, atol=1e-9)
    assert any(place[:2] in places([active, *passive]) for place in made.splits.values())


@pytest.mark.slow
def test_equal_where_values_are_missing() -> None:
    cfg = replace(CFG, train_rows=70)
    active, passive = trained(cfg, Holed(cfg))
    assert splits_of(active, passive) == joint(active, passive).splits


@pytest.mark.slow
def test_equal_where_sums_are_encrypted() -> None:
    cfg = CFG.changed(train_rows=70, gradient_encryption="paillier")
    sealed, clear = trained(cfg), trained(cfg.changed(gradient_encryption="none"))
    assert splits_of(*sealed) == splits_of(*clear)
    assert torch.equal(sealed[0].net.value, clear[0].net.value)


def curves(
    signs: dict[tuple[int, int], int], active: BoostedTrees, passive: list[PassiveParty]
) -> list[tuple[int, Array]]:
    """Return signs, and scores along each such column: (rows, points)."""
    parties: list[Any] = [active, *passive]
    rows, points = active.rows["test"][:40], np.linspace(-4, 4, 61, dtype=np.float32)
    x = [party.data.numbers.flatten(1).numpy()[rows] for party in parties]
    found = []
    for (rank, column), sign in signs.items():
        scores = []
        for point in points:
            moved = [each.copy() for each in x]
            moved[rank][:, column] = point
            left = [party.net.directions(own) for party, own in zip(parties, moved, strict=True)]
            scores.append(active.net.scores(left)[:, 0].numpy())
        found.append((sign, np.stack(scores, 1)))
    return found


@pytest.mark.slow
def test_scores_move_one_way_only() -> None:
    """Without the constraints they do not."""
    cfg = CFG.changed(epochs=30, tree_depth=5, learning_rates="0.3")
    bound, free = trained(cfg), trained(cfg.changed(monotone=""))
    signs = places([bound[0], *bound[1]])
    assert len(signs) == 4
    for sign, scores in curves(signs, *bound):
        assert (sign * np.diff(scores, axis=1) >= 0).all()
    assert any((sign * np.diff(scores, axis=1) < 0).any() for sign, scores in curves(signs, *free))


def test_numbers_can_be_constrained() -> None:
    cfg = RunConfig(**(SMALL | {"monotone": "ash:rising", "epochs": 2}))
    active, passive = trained(cfg, Numbers(cfg))
    assert splits_of(active, passive)


def test_more_than_two_classes_are_refused() -> None:
    cfg = RunConfig(**(SMALL | {"monotone": "ash:rising"}))
    with pytest.raises(ConfigError, match="two classes"):
        trained(cfg)


def test_a_column_that_nobody_has_is_named() -> None:
    with pytest.raises(ConfigError, match="mean colour, a column that no party has"):
        trained(CFG.changed(monotone="mean radius:rising,mean colour:rising"))


@pytest.mark.parametrize("text", ["age", "age:up", ":rising", "a:rising,a:falling"])
def test_bad_constraints_are_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="monotone"):
        RunConfig(**(SMALL | {"monotone": text}))


class Doubled:
    """Signs of candidates that there are not."""

    def __getitem__(self, at: Array) -> Array:
        return np.zeros(2 * len(at), np.int8)


def test_signs_without_a_candidate_are_refused() -> None:
    active = build_active(CFG)
    passive = [build_passive(CFG, k) for k in (1, 2)]
    passive[1].signs = Doubled()  # type: ignore[attr-defined]
    with pytest.raises(PartyError, match=r"party-2 sent \d+ signs of \d+ candidates"):
        serve(active, [Endpoint(party) for party in passive])
