"""Agg_VFL with numbers of steps by columns: shares, joint reference, refusals."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from strategies.agg_vfl import AdaptiveAggVFL, local_steps
from tests.helpers.joint.reference import balanced, joint
from tests.helpers.joint.reference_split import adaptive_step
from tests.helpers.outcomes.attempts import Attempt
from tests.methods.test_joint_reference import FIFTY, STEPS, assert_equal, distributed
from tests.methods.test_rebuilt import differing, live, rebuilt
from vfl_flower.common.errors import PartyError
from vfl_flower.config.run_config import RunConfig
from vfl_flower.learning.losses import loss_of
from vfl_flower.protocol.exchange import Protocol, ask, tell_each
from vfl_flower.transport.local import run_local
from vfl_flower.workflows.build_parties import build_active, build_passive

UNEVEN = FIFTY.changed(
    method="agg_vfl",
    partition="listed:0-31;32-39;40-43;44-63",
    adaptive_steps=2,
    optimizers="sgd,momentum,adagrad,adam",
    schedule="cosine",
)
"""Four parties with 32, 8, 4 and 20 columns."""

LABELS_ONLY = {"active_columns": "none", "partition": "listed:0-31;32-39;40-63"}
CASES: dict[str, tuple[dict[str, Any], list[int]]] = {
    "two": ({}, [4, 1, 1, 3]),
    "three, bare": ({"adaptive_steps": 3, "blinding": "none"}, [6, 2, 1, 4]),
    "one": ({"adaptive_steps": 1}, [2, 1, 1, 1]),
    "binary cross-entropy": ({"loss": "binary-cross-entropy"}, [4, 1, 1, 3]),
    "within a bound": ({"embedding_bound": "2"}, [4, 1, 1, 3]),
    "of labels only": (
        {"active_columns": "none", "partition": "listed:0-31;32-39;40-63"},
        [1, 3, 1, 2],
    ),
}


@given(st.lists(st.integers(0, 10**9), min_size=2, max_size=40), st.integers(1, 1000))
def test_steps_are_in_proportion_to_columns(columns: list[int], mean: int) -> None:
    columns[-1] += 1
    steps, holders = local_steps(columns, mean), sum(d > 0 for d in columns)
    for d, Q_k in zip(columns, steps, strict=True):
        exact = mean * holders * d / sum(columns)
        assert Q_k == 1 if exact < 1 else abs(Q_k - exact) <= 0.5 + 1e-6
        assert 1 <= Q_k <= mean * holders
    assert local_steps([7] * len(columns), mean) == [mean] * len(columns)


@pytest.mark.parametrize("case", CASES)
def test_adaptive_steps_equal_the_joint_program(case: str) -> None:
    changes, steps = CASES[case]
    cfg = UNEVEN.changed(**changes)
    step = partial(adaptive_step, rounded=cfg.blinded, steps=steps)
    theirs = joint(cfg, loss_of(cfg.loss or "cross-entropy"), STEPS, step)
    assert_equal(distributed(cfg), theirs)


def test_adaptive_steps_with_balanced_classes() -> None:
    cfg = UNEVEN.changed(class_weights="balanced")
    step = partial(adaptive_step, rounded=True, steps=[4, 1, 1, 3])
    theirs = joint(cfg, loss_of("cross-entropy"), STEPS, step, balanced(cfg))
    assert_equal(distributed(cfg), theirs)


def test_one_step_of_everybody_is_agg_vfl() -> None:
    equal = UNEVEN.changed(partition="auto", adaptive_steps=1)
    assert_equal(distributed(equal), distributed(equal.changed(adaptive_steps=0)))


def test_rebuilt_parties_keep_their_number_of_steps() -> None:
    cfg = UNEVEN.changed(batch_size=300, train_rows=0)
    assert differing(live(cfg), rebuilt(cfg)) == []


def test_adaptive_steps_with_noised_uploads(tmp_path: Path) -> None:
    """Numbers of columns do not depend on values, and are told."""
    attempt = Attempt(UNEVEN.changed(dp_sigma=2.0, epochs=1, baselines="off"), tmp_path / "run")
    attempt.run()
    assert isinstance(attempt.active, AdaptiveAggVFL)
    assert attempt.active.steps == 4


# Refusals -----------------------------------------------------------------------------------------


def refused(cfg: RunConfig, told: list[int], monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the message when an active party tells these numbers of steps."""

    def share_out(self: AdaptiveAggVFL) -> Protocol:
        yield ask("count_columns", purpose="control")
        yield tell_each("set_steps", [np.array(n) for n in told], purpose="control")

    monkeypatch.setattr(AdaptiveAggVFL, "share_out", share_out)
    with pytest.raises(PartyError) as caught:
        run_local(build_active(cfg), [build_passive(cfg, k) for k in range(1, 4)])
    return str(caught.value)


@pytest.mark.parametrize("told", [0, -1, 9])
def test_numbers_of_steps_that_no_share_comes_to_are_refused(
    told: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    message = refused(UNEVEN, [told, 1, 1], monkeypatch)
    assert ("9 steps between exchanges are more than the 8" if told > 0 else "is not in") in message


def test_numbers_of_steps_are_refused_where_nobody_adapts() -> None:
    cfg = UNEVEN.changed(adaptive_steps=0)
    active = build_active(UNEVEN)
    with pytest.raises(PartyError, match="adaptive-steps is 0 in this party's run"):
        run_local(active, [build_passive(cfg, k) for k in range(1, 4)])


def test_numbers_of_columns_that_cannot_be_are_refused() -> None:
    passive = [build_passive(UNEVEN, k) for k in range(1, 4)]
    passive[1].data = replace(passive[1].data, x=torch.zeros(1797, 0))
    with pytest.raises(PartyError, match="party-2"):
        run_local(build_active(UNEVEN), passive)
