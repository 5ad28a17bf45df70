"""Accounts of mechanism events: epsilon of mixed noise, limits, and size."""

import math
import time
from collections.abc import Mapping
from pathlib import Path

import pytest
from dp_accounting import GaussianDpEvent, NeighboringRelation
from dp_accounting.pld import PLDAccountant
from dp_accounting.rdp import RdpAccountant
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.privacy.accounts.test_journal import chained
from vfl_flower.privacy.accounts.account import Account, Limit
from vfl_flower.privacy.client_dp.accounting import (
    GRID,
    ORDERS,
    epsilon_of,
    epsilon_of_weight,
    most_weight,
    weight_of,
)

DELTA = 1e-5
RELATION = NeighboringRelation.REPLACE_SPECIAL


def anything(weight: float) -> bool:
    return True


def add(account: Account, run: str, sigma: float, more: int = 1) -> None:
    with account.opened():
        assert account.add(run, sigma, 1.0, more, anything)


def composed(account: RdpAccountant | PLDAccountant, uploads: Mapping[float, int]) -> float:
    """Return dp-accounting's epsilon of separate events, one by one."""
    for sigma, count in uploads.items():
        for _ in range(count):
            account.compose(GaussianDpEvent(sigma))
    return float(account.get_epsilon(DELTA))


MIXED = [
    {2.0: 3},
    {2.0: 3, 8.0: 20},
    {0.7: 1, 5.0: 9, 30.0: 20},
    {11.0: 9, 11.5: 9, 90.0: 1},
]


@pytest.mark.slow
@pytest.mark.parametrize("uploads", MIXED)
def test_epsilon_of_mixed_noise_is_that_of_separate_events(
    uploads: dict[float, int], tmp_path: Path
) -> None:
    account = Account(tmp_path / "digits.jsonl")
    for number, (sigma, count) in enumerate(uploads.items()):
        for _ in range(count):
            add(account, f"run-{number}/party-1", sigma)
    rdp, pld = (account.epsilon(DELTA, each) for each in ("rdp", "pld"))
    assert rdp == pytest.approx(composed(RdpAccountant(ORDERS, RELATION), uploads), rel=1e-9)
    each_rounded_up = composed(PLDAccountant(RELATION, GRID), uploads)
    assert pld == pytest.approx(each_rounded_up, abs=GRID * (2 + sum(uploads.values())))
    assert pld <= rdp < sum(epsilon_of(s, n, DELTA, "rdp") for s, n in uploads.items()) + 1e-9
    assert Account(account.path).weight == 0  # not read yet
    again = Account(account.path)
    again.read()
    assert (again.weight, again.blocks) == (account.weight, account.blocks)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.floats(0.1, 1000), st.integers(1, 100)), min_size=1, max_size=8))
def test_epsilon_never_decreases(events: list[tuple[float, int]]) -> None:
    uploads: dict[float, int] = {}
    before = 0.0
    for sigma, count in events:
        uploads[sigma] = uploads.get(sigma, 0) + count
        epsilon = epsilon_of_weight(weight_of(uploads), DELTA, "rdp")
        assert epsilon >= before
        before = epsilon


@pytest.mark.parametrize("accountant", ["rdp", "pld"])
@pytest.mark.parametrize("epsilon", [0.5, 8.0])
def test_the_largest_weight_is_within_the_limit_and_no_more_is(
    epsilon: float, accountant: str
) -> None:
    most = most_weight(epsilon, DELTA, accountant)
    assert epsilon_of_weight(most, DELTA, accountant) <= epsilon
    assert epsilon_of_weight(1.001 * most, DELTA, accountant) > epsilon
    limit = Limit(epsilon, DELTA, accountant)
    left = limit.left(most / 2, 50.0)
    assert limit.allows(most / 2 + left / 50**2)
    assert not limit.allows(most / 2 + (left + 1) / 50**2)
    assert not limit.allows(math.inf)
    assert limit.left(2 * most, 50.0) == limit.left(math.inf, 50.0) == 0


def test_a_limit_of_zero_allows_nothing() -> None:
    assert Limit(0.0, DELTA).allows(0.0)
    assert not Limit(0.0, DELTA).allows(1e-9)


def test_an_upload_without_noise_makes_epsilon_infinite_and_is_noted_once(tmp_path: Path) -> None:
    account = Account(tmp_path / "digits.jsonl")
    add(account, "noised/party-1", 8.0)
    for _ in range(3):
        with account.opened():
            assert account.add("clear/party-1", 0.0, 0.0, 1, anything)
    assert account.epsilon(DELTA) == math.inf
    assert [(block.run, block.uploads) for block in account.blocks] == [
        ("noised/party-1", 1),
        ("clear/party-1", 1),
    ]
    with account.opened():
        assert not account.add("clear/party-1", 0.0, 0.0, 1, math.isfinite)


def test_another_noise_in_the_same_run_is_another_block(tmp_path: Path) -> None:
    account = Account(tmp_path / "digits.jsonl")
    for sigma in (2.0, 4.0, 2.0):
        add(account, "bank/party-1", sigma)
    assert [(block.sigma, block.uploads) for block in account.blocks] == [(2.0, 2), (4.0, 1)]
    assert account.uploads("bank/party-1") == 3
    assert account.uploads("bank/party-2") == 0


@pytest.mark.slow
def test_a_hundred_thousand_events_are_read_within_a_second(tmp_path: Path) -> None:
    path = tmp_path / "digits.jsonl"
    first = {"run": "bank/party-1", "sigma": 300.0, "clip": 1.0, "at": 1_763_800_000}
    upload = {"block": 0, "uploads": 1, "at": 1_763_800_001}
    path.write_bytes(chained([first, *[upload] * 100_000]))
    account = Account(path)
    start = time.process_time()
    account.read()
    assert time.process_time() - start < 2  # half a second on a processor that is not busy
    assert account.weight == weight_of({300.0: 100_000})
    start = time.process_time()
    for _ in range(100):
        add(account, "bank/party-1", 300.0)
    assert time.process_time() - start < 1  # that there are many before costs no upload anything
