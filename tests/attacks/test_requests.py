"""Requests outside a run's public plan are refused before any work.

A deviating active party asks for rows, shapes, dtypes, values or phases of its own choice.
"""

import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clients.splitnn import SplitNNClient
from tests.helpers.blinding import send
from tests.helpers.contract import CASES, configured, method_of
from vfl_flower.common.codec import Array
from vfl_flower.config.run_config import RunConfig
from vfl_flower.crypto.fixed_point import LIMIT
from vfl_flower.data.splitting.rows import rows_of
from vfl_flower.learning.batching import batches
from vfl_flower.parties.passive import PassiveParty
from vfl_flower.workflows.build_parties import build_passive

CFG = RunConfig(method="splitnn", models="mlp", embedding_dim=8, batch_size=200, epochs=2)
SPLIT = rows_of(CFG, 1797)
PLAN = [b for epoch in (0, 1) for b in batches(CFG.seed, epoch, SPLIT["train"], 200)]


def party_of(cfg: RunConfig = CFG) -> PassiveParty:
    return build_passive(cfg, 1)


def refusal(party: PassiveParty, phase: str, *arrays: Array) -> str:
    """Return the refusal of a request, or nothing."""
    _, metrics = send(party, party.exchange + 1, phase, *arrays)
    return f"{metrics['error']!s}: {metrics['message']!s}" if metrics else ""


# Rows ---------------------------------------------------------------------------------------------


def step(party: PassiveParty, rows: Array) -> str:
    """Take a step on some rows; return a refusal."""
    return refusal(party, "embed", rows) or refusal(
        party, "update", np.zeros((len(rows), CFG.embedding_dim), np.float32)
    )


def test_the_steps_of_the_plan_are_taken_and_no_more() -> None:
    party = party_of()
    assert [step(party, rows) for rows in PLAN] == [""] * 14
    assert "asks for another step, and the run has 14" in step(party, PLAN[0])


BATCHES: dict[str, Callable[[Array], Array]] = {
    "another order": lambda rows: np.flip(rows).copy(),
    "fewer": lambda rows: rows[:-1],
    "one row many times": lambda rows: np.full_like(rows, rows[0]),
    "test rows": lambda rows: SPLIT["test"][:200],
    "no rows": lambda rows: rows[:0],
    "the step after": lambda rows: PLAN[1],
    "beyond the table": lambda rows: rows + 1797,
    "negative": lambda rows: rows - 1797,
}


@pytest.mark.parametrize("case", BATCHES)
def test_rows_out_of_the_plan_are_refused(case: str) -> None:
    party = party_of()
    asked = refusal(party, "embed", BATCHES[case](PLAN[0]))
    assert asked.startswith("ProtocolError: array 1 of phase 'embed' names rows that are not those")
    assert step(party, PLAN[0]) == ""


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        (SPLIT["train"][:5], "names others than held-out rows"),
        (SPLIT["test"][[0, 1, 0]], "names a row twice"),
        (SPLIT["test"][:0], "names 0 rows, where 1 to 4096 may be asked for"),
        (np.array([1797], np.int32), "names a row that does not exist"),
        (np.array([-1], np.int32), "names a row that does not exist"),
    ],
)
def test_only_distinct_held_out_rows_are_evaluated(rows: Array, says: str) -> None:
    assert says in refusal(party_of(), "embed_only", rows)


def test_no_more_rows_are_evaluated_at_once_than_the_run_says() -> None:
    party = party_of(replace(CFG, eval_batch_size=50))
    assert "names 51 rows, where 1 to 50" in refusal(party, "embed_only", SPLIT["test"][:51])
    assert refusal(party, "embed_only", SPLIT["test"][:50]) == ""


def test_repeated_row_numbers_take_no_memory() -> None:
    """1 MiB of them was 294 MiB of columns."""
    party, rows = party_of(), np.zeros(1 << 18, np.int32)
    refusal(party, "embed_only", rows[:1])
    tracemalloc.start()
    assert "ProtocolError" in refusal(party, "embed_only", rows)
    assert "ProtocolError" in refusal(party, "embed", rows)
    assert tracemalloc.get_traced_memory()[1] < 4 * rows.nbytes
    tracemalloc.stop()


def test_a_long_tail_is_distinct_training_rows() -> None:
    """Its owner tells nobody which; other rows are refused."""
    cfg = replace(CFG, long_tail=10.0)
    some = SPLIT["train"][3:60]
    assert step(party_of(cfg), some) == ""
    assert "names others than training rows" in step(party_of(cfg), SPLIT["test"][:5])
    assert "names a row twice" in step(party_of(cfg), some[[0, 0]])
    assert "1 to 200 may be asked for" in step(party_of(cfg), SPLIT["train"][:201])


def test_only_parties_whose_turn_it_is_take_a_step() -> None:
    cfg = replace(configured("vafl in turns"), batch_size=200)
    party = build_passive(cfg, 1)
    assert party.plan is not None
    turns = [party.plan.turn(3 * n) for n in range(4)]
    assert turns != [0, 3, 6, 9]
    batch = np.zeros((200, cfg.embedding_dim), np.float32)
    for turn in turns:
        for number in {0, 1, 2, 3, 4, 5, 6} - {turn}:
            assert "ProtocolError" in refusal(party, "embed", PLAN[number])
        assert refusal(party, "embed", PLAN[turn]) == ""
        assert refusal(party, "update", batch[: len(PLAN[turn])]) == ""


# Labels of chosen rows ----------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [SPLIT["train"][:1], SPLIT["train"][::-1], SPLIT["test"]])
def test_pretraining_on_chosen_rows_is_refused(rows: Array) -> None:
    """Its answer is an accuracy on these rows, which nothing blinds."""
    party = party_of(configured("pravfed"))
    labels = np.zeros(len(rows), np.uint8)
    asked = refusal(party, "pretrain", np.ascontiguousarray(rows), labels)
    assert "array 1 of phase 'pretrain'" in asked


def test_a_party_pretrains_once() -> None:
    party = party_of(replace(configured("pravfed"), train_rows=100, batch_size=50))
    assert party.plan is not None
    rows = party.plan.rows["train"]
    labels = np.zeros(len(rows), np.uint8)
    assert refusal(party, "pretrain", rows, labels) == ""
    assert "'pretrain' may be asked 1 times" in refusal(party, "pretrain", rows, labels)


@pytest.mark.parametrize("labels", [np.full(7, 10, np.uint8), np.zeros(7, np.int64)])
def test_labels_are_classes_in_the_runs_format(labels: Array) -> None:
    party = party_of(configured("fdml"))
    rows = party.data.rows["train"]
    given = np.resize(labels, len(rows))
    assert "array 2 of phase 'hold'" in refusal(party, "hold", rows, given)


@pytest.mark.parametrize("value", [1e14, -1e14, 122.0, -122.0])
@pytest.mark.parametrize("mechanism", ["laplace", "alibi"])
def test_noised_labels_are_numbers_that_the_mechanism_can_make(
    mechanism: str, value: float
) -> None:
    """At epsilon 1: one, and 60 scales of two."""
    party = party_of(replace(configured("fdml"), label_privacy=mechanism, label_epsilon=1.0))
    given = np.zeros((len(party.data.rows["train"]), 10), np.float32)
    given[7, 3] = value
    said = refusal(party, "hold", party.data.rows["train"], given)
    assert "array 2 of phase 'hold' has a number that is not in [-121, 121]" in said
    assert refusal(party, "hold", party.data.rows["train"], given.clip(-120, 120)) == ""


# Arrays -------------------------------------------------------------------------------------------

ARRAYS: dict[str, Array] = {
    "float64": np.zeros((200, 8)),
    "int32": np.zeros((200, 8), np.int32),
    "narrower": np.zeros((200, 7), np.float32),
    "longer": np.zeros((201, 8), np.float32),
    "flat": np.zeros(1600, np.float32),
    "deep": np.zeros((200, 8, 1), np.float32),
    "not a number": np.full((200, 8), np.nan, np.float32),
    "infinite": np.full((200, 8), -np.inf, np.float32),
}


@pytest.mark.parametrize("case", ARRAYS)
def test_arrays_of_another_form_are_refused(case: str) -> None:
    party = party_of()
    assert refusal(party, "embed", PLAN[0]) == ""
    before = [p.clone() for p in party.net.parameters()]
    assert refusal(party, "update", ARRAYS[case]).startswith("ProtocolError: array 1 of phase")
    assert all(a.equal(b) for a, b in zip(before, party.net.parameters(), strict=True))


@pytest.mark.parametrize("value", [3e4, -3e4, 3.3e4, -3.3e4, 1e38])
@pytest.mark.parametrize("phase", ["predict", "predict_only"])
def test_a_mean_of_embeddings_is_one_that_the_ring_can_hold(phase: str, value: float) -> None:
    party = party_of(CFG.changed(method="easter", blinding="none"))
    before = {"predict": "embed", "predict_only": "embed_only"}[phase]
    rows = PLAN[0] if phase == "predict" else SPLIT["test"][:200]
    assert refusal(party, before, rows) == ""
    said = refusal(party, phase, np.full((200, 8), value, np.float32))
    assert ("has a number that is not in [-32768, 32768]" in said) == (abs(value) > LIMIT)


@pytest.mark.parametrize("case", CASES)
def test_no_phase_takes_another_number_of_arrays(case: str) -> None:
    for phase in party_of(configured(case)).phases:
        party = party_of(configured(case))
        party.automaton.last["training"] = "any"
        said = refusal(party, phase, *[np.array(0)] * 40)
        assert said.startswith("ProtocolError: "), said
        assert f"phase '{phase}'" in said


def test_nothing_of_a_method_runs_before_the_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise AssertionError

    party = party_of()
    for phase in party.phases:
        monkeypatch.setattr(SplitNNClient, phase, fail, raising=False)
    assert refusal(party, "embed", PLAN[3]).startswith("ProtocolError")


# Order --------------------------------------------------------------------------------------------


def test_a_step_begins_when_the_one_before_is_whole() -> None:
    party = party_of()
    assert refusal(party, "embed", PLAN[0]) == ""
    for phase, arrays in (("embed", [PLAN[1]]), ("take_best", [])):
        assert "comes between steps; this one lacks 'update'" in refusal(party, phase, *arrays)


def test_a_party_that_goes_back_takes_the_same_steps_again(tmp_path: Path) -> None:
    party, run = build_passive(CFG, 1, tmp_path), np.zeros(8, np.uint8)
    for number, rows in enumerate(PLAN[:5]):
        assert step(party, rows) == ""
        if number == 2:
            assert refusal(party, "checkpoint", np.array(3), run) == ""
    assert refusal(party, "restore", np.array(3), run) == ""
    assert "ProtocolError" in step(party, PLAN[5])
    assert [step(party, rows) for rows in PLAN[3:6]] == [""] * 3


@pytest.mark.parametrize("case", CASES)
def test_losses_are_those_of_the_active_party(case: str) -> None:
    """Residuals are checked by the loss that the active party's class has."""
    active, passive = method_of(case).load()
    assert passive.default_loss == active.default_loss
