"""Limits of party-level and of row-level epsilons are kept apart."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.helpers.client_privacy import asked
from tests.helpers.data import next_batch
from tests.privacy.accounts.parties import (
    CFG,
    account_in,
    party_of,
    policy,
    roll_call,
    upload,
)
from vfl_flower.common.errors import PolicyError
from vfl_flower.config.policy.file import policy_of
from vfl_flower.config.policy.record import Policy
from vfl_flower.config.policy.rules import check
from vfl_flower.privacy.accounts.summary import summary_of
from vfl_flower.privacy.client_dp.accounting import epsilon_of
from vfl_flower.privacy.client_dp.upload_log import Counts

ROWS = CFG.changed(dp_adjacency="row")
OF_EPOCHS = 4
"""Mechanisms of the busiest row in two epochs."""


def of_rows(largest_epsilon: float | None = None, least_sigma: float = 0.0) -> Policy:
    """Return a policy whose limits are those of single rows."""
    rules = policy(largest_epsilon, least_sigma)
    return replace(rules, data=(replace(rules.data[0], adjacency="row"),))


@pytest.mark.parametrize("limit", [{"largest_epsilon": 100.0}, {"least_sigma": 1.0}])
def test_limits_hold_for_their_own_adjacency_alone(limit: dict[str, float]) -> None:
    """Neither epsilon says anything of the other's unit."""
    for rules, allowed, refused in (
        (policy(**limit), CFG, ROWS),
        (of_rows(**limit), ROWS, CFG),
    ):
        check(rules, allowed, 1)
        text = (
            f"by its rule adjacency: limits of 'numbers' are for adjacency {allowed.dp_adjacency}, "
            f"and dp-adjacency is {refused.dp_adjacency}"
        )
        with pytest.raises(PolicyError, match=text):
            check(rules, refused, 1)


def test_without_limits_either_is_allowed() -> None:
    for rules in (policy(), of_rows()):
        for cfg in (CFG, ROWS):
            check(rules, cfg, 1)


def test_a_policy_file_names_the_adjacency() -> None:
    values = {"name": "a", "data": {"b": {"dataset": "digits", "adjacency": "row"}}}
    assert policy_of(values).data[0].adjacency == "row"
    values["data"]["b"]["adjacency"] = "cell"  # type: ignore[index]
    with pytest.raises(PolicyError, match=r"\[data.b\] adjacency: unknown 'cell'"):
        policy_of(values)


def test_an_account_adds_up_the_busiest_rows(tmp_path: Path) -> None:
    """Of each run its own; other rows' uploads change nothing."""
    limit = epsilon_of(2.0, 7, 1e-5, "rdp") + 0.01
    first = party_of(tmp_path, "first", of_rows(limit), ROWS)
    assert roll_call(first) == ""
    for batch in range(3):
        rows = next_batch(first)
        assert asked(first, 2 * batch + 1, "embed", rows)[0]
        asked(first, 2 * batch + 2, "update", np.zeros((len(rows), 8), np.float32))
    assert first.privacy.counts() == Counts(training=3, row_training=1, row=2)
    (block,) = account_in(tmp_path).blocks
    assert (block.adjacency, block.uploads) == ("row", 2)
    second = party_of(tmp_path, "second", of_rows(limit), ROWS)
    assert roll_call(second) == ""  # four more of the five that are left
    third = party_of(tmp_path, "third", of_rows(limit), ROWS.changed(epochs=3))
    assert "which leaves 5 uploads and gradients of a row" in roll_call(third)
    assert "this run takes 6" in roll_call(third)


def test_an_account_refuses_what_it_cannot_pay(tmp_path: Path) -> None:
    """And goes on with rows that have entered less."""
    rules = of_rows(epsilon_of(2.0, OF_EPOCHS, 1e-5, "rdp") + 0.01)
    party = party_of(tmp_path, "run", rules, ROWS.changed(epochs=1))
    assert roll_call(party) == ""
    for _ in range(OF_EPOCHS):
        assert upload(party, rows=5)[0]
    sent, text = upload(party, rows=5)
    assert not sent
    assert "largest-epsilon" in text
    assert account_in(tmp_path).blocks[0].uploads == OF_EPOCHS
    other = party.data.rows["test"][5:9]
    assert asked(party, party.exchange + 1, "embed_only", other)[0]
    assert account_in(tmp_path).blocks[0].uploads == OF_EPOCHS


def test_runs_of_the_other_adjacency_make_epsilon_infinite(tmp_path: Path) -> None:
    """Noted without a limit, and when the owner changes the unit."""
    assert upload(party_of(tmp_path, "first", policy(), ROWS))[0]
    account = account_in(tmp_path)
    assert (account.blocks[0].sigma, account.epsilon(1e-5)) == (0.0, math.inf)
    folder = tmp_path / "other"
    noised = party_of(folder, "first", policy(), CFG)
    assert roll_call(noised) == "" and upload(noised)[0]
    assert math.isfinite(account_in(folder).epsilon(1e-5))
    changed = party_of(folder, "second", of_rows(100.0), ROWS)
    assert "leaves 0 uploads and gradients of a row" in roll_call(changed)
    told = summary_of(account_in(folder), "rdp")
    assert (told["adjacency"], told["epsilon"]) == ("row", "inf")
    assert [each["adjacency"] for each in told["runs"]] == ["party"]


def test_a_prediction_counts_each_of_its_uploads(tmp_path: Path) -> None:
    """Its rows may be those of another data set."""
    party = party_of(tmp_path, "run", of_rows(100.0), ROWS.changed())
    assert roll_call(party) == ""
    for exchange in range(1, 4):  # the busiest row of the run
        asked(party, exchange, "embed_only", party.data.rows["test"][:2])
    before = account_in(tmp_path).blocks[0].uploads
    object.__setattr__(party.cfg, "task", "predict")
    for rows in np.split(party.data.rows["test"][10:20], 2):
        assert asked(party, party.exchange + 1, "embed_only", rows)[0]
    assert before == party.privacy.counts()["row"] == 3
    assert account_in(tmp_path).blocks[0].uploads == before + 2
