"""A spent privacy budget leaves no oracle: refusals say nothing of columns.

A deviating active party sends weights or gradients under which an upload is finite or not by a
threshold on columns, and reads that off the kind of refusal.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.helpers.blinding import send
from tests.helpers.contract import configured
from tests.helpers.data import next_batch
from vfl_flower.common.codec import Array
from vfl_flower.config.run_config import RunConfig
from vfl_flower.learning.networks.cut_network import halves
from vfl_flower.parties.passive import PassiveParty
from vfl_flower.protocol.automaton.machine import Automaton
from vfl_flower.protocol.automaton.plan import Plan
from vfl_flower.workflows.build_parties import build_passive

LARGE = 1e30
"""Squared, it is beyond float32."""

Answers = list[tuple[Any, ...]]


def spend(party: PassiveParty, but: int = 0) -> None:
    """Ask for uploads until the budget is spent, of a row each."""
    assert party.privacy.budget
    for number in range(int(party.privacy.budget.most) - but):
        row = held_out(party, number % 300)
        reply, _ = send(party, party.exchange + 1, "embed_only", row)
        assert len(reply) == 1


def held_out(party: PassiveParty, number: int) -> Array:
    """Return one test row, which may be asked for."""
    row: Array = party.data.rows["test"][number : number + 1]
    return row


def with_rows(party: PassiveParty, row: int) -> PassiveParty:
    """Give a party a split of which both parts are one row."""
    rows = party.data.rows | {"train": only(row), "validation": only(row)}
    party.data = replace(party.data, rows=rows)
    party.plan = Plan(party.cfg, party.rank, rows, len(party.x))
    return party


def answered(party: PassiveParty, name: str, *arrays: Array) -> tuple[Any, ...]:
    """Return an answer as the active party sees it, without its duration."""
    reply, metrics = send(party, party.exchange + 1, name, *arrays)
    return *(array.tobytes() for array in reply), *sorted(metrics.items())


def only(row: int) -> Array:
    return np.array([row], np.int32)


# A chosen extractor: thresholds on grey levels ----------------------------------------------------

CONV = configured("adptvfedconv").changed(eval_batch_size=5000, target_epsilon=1.0, local_epochs=3)


def extractor_of(party: PassiveParty, level: float) -> list[Array]:
    """Return an extractor whose maps overflow for pixels above a level."""
    weights = {name: torch.zeros_like(w) for name, w in halves(party.net)[0].state_dict().items()}
    weights["0.weight"][:, :, 1, 1] = LARGE
    weights["0.bias"] -= level * LARGE
    weights["1.weight"] += LARGE
    weights["1.running_var"] += 1
    return [each.numpy() for each in weights.values()]


def brighter(party: PassiveParty, row: int, levels: Sequence[float]) -> Answers:
    """Compare the brightest pixel of a tile with some levels."""
    told, rows = [], party.data.rows
    for level in levels:
        party.automaton = Automaton(party)  # which would not let it be adapted twice
        weights = extractor_of(party, level)
        assert answered(party, "adapt", rows["train"], rows["validation"], *weights)
        told.append(answered(party, "embed_only", held_out(party, row)))
    return told


def test_a_chosen_extractor_tells_no_grey_level_after_the_budget_is_spent(tmp_path: Path) -> None:
    party = build_passive(CONV, 1, tmp_path)
    spend(party)
    grey = party.data.numbers.unique().tolist()
    levels = [(a + b) / 2 for a, b in pairwise(grey)]
    counted = party.privacy.counts()
    for row in (3, 4, 5):
        told = brighter(party, row, levels)
        assert set(told) == {told[0]}, f"row {row}: {guess(told, grey)}"
        assert dict(told[0])["error"] == "PrivacyError"
    assert party.privacy.counts() == counted


def guess(told: Answers, grey: Sequence[float]) -> float:
    """Read a tile's largest grey level off two kinds of refusals."""
    return grey[sum(each == told[0] for each in told)]


def overflowing(party: PassiveParty) -> list[Array]:
    """Return an extractor whose sums overflow on a tile with bright pixels."""
    weights = {name: torch.zeros_like(w) for name, w in halves(party.net)[0].state_dict().items()}
    weights["0.weight"][:, :, 1, 1] = 2e38
    weights["1.running_var"] += 1
    return [each.numpy() for each in weights.values()]


def test_fine_tuning_answers_alike_whatever_the_tiles_are(tmp_path: Path) -> None:
    """It sends nothing; that it failed told of the pixels."""
    party = build_passive(CONV, 1, tmp_path)
    brightest = party.x[:60].flatten(1).amax(1)
    told, errors = [], []
    for row in (int(brightest.argmin()), int(brightest.argmax())):
        party = with_rows(build_passive(CONV, 1, tmp_path), row)
        answered(party, "adapt", only(row), only(row), *overflowing(party))
        told.append([answered(party, "finetune", np.array(epoch)) for epoch in range(3)])
        errors.append(party.durable()["errors"])
    assert told[0] == told[1] == [(("evaluation", 0), ("training", 0))] * 3
    assert [math.isinf(min(each)) for each in errors] == [False, True]  # as the attack had it


# A chosen gradient: thresholds on inner products --------------------------------------------------

SPLIT = RunConfig(
    method="splitnn",
    models="linear",
    optimizers="sgd",
    learning_rates="1",
    batch_size=1,
    epochs=1,
    eval_batch_size=2000,
    dp_sigma=20.0,
    dp_clip=100.0,  # beyond a row: a clip would scale the gradient down
    target_epsilon=1.0,
    baselines="off",
)


def threshold(x: Tensor, towards: Tensor) -> float:
    """Return the median of the rows' inner products with one of them."""
    return float((x.flatten(1) @ towards.flatten() + 1).abs().median())


def test_one_chosen_gradient_makes_no_threshold_after_the_budget_is_spent(tmp_path: Path) -> None:
    party = build_passive(SPLIT, 1, tmp_path)
    assert party.privacy.budget
    spend(party, but=1)
    tested, row = party.data.rows["test"][:40], next_batch(party)
    assert "error" not in dict(answered(party, "embed", row)[1:])
    size = torch.finfo(torch.float32).max / threshold(party.x[tested], party.x[row])
    answered(party, "update", np.full((1, SPLIT.embedding_dim), size, np.float32))
    told = [answered(party, "embed_only", held_out(party, row)) for row in range(40)]
    with torch.no_grad():
        large = [not party.embed_rows(held_out(party, row)).isfinite().all() for row in range(40)]
    assert 10 < sum(large) < 30  # as the attack had it
    assert set(told) == {told[0]}, f"{agreement(told, large):.0%} of rows right"
    assert dict(told[0])["error"] == "PrivacyError"


def agreement(told: Answers, large: Sequence[bool]) -> float:
    """Return the share of rows that two kinds of refusals classify rightly."""
    said = [each == told[0] for each in told]
    right = sum(a == b for a, b in zip(said, large, strict=True)) / len(large)
    return max(right, 1 - right)


# What is not finite, before the budget is spent ---------------------------------------------------


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_an_upload_that_is_not_finite_is_noise_and_counted(value: float, tmp_path: Path) -> None:
    party = build_passive(replace(SPLIT, target_epsilon=0.0), 1, tmp_path)
    with torch.no_grad():
        for parameter in party.net.parameters():
            parameter.fill_(value)
    rows = party.data.rows["test"][:200]
    (sent,), metrics = send(party, 1, "embed_only", rows)
    assert metrics == {"training": 0, "evaluation": 1}
    assert sent.shape == (200, SPLIT.embedding_dim)
    assert sent.std() == pytest.approx(20 * SPLIT.dp_clip, rel=0.1)
