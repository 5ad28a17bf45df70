"""Requests and rows are counted for a policy, durably."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from tests.privacy.accounts.parties import CFG, party_of, upload
from vfl_flower.config.policy.record import OPEN
from vfl_flower.privacy.accounts import counters

CLEAR = replace(CFG, dp_sigma=0.0)


@pytest.fixture(params=[True, False], autouse=True)
def restarts(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Let every party find the counters on disk, or in the process."""
    if request.param:
        plain = counters.counters_in.__wrapped__
        monkeypatch.setattr("vfl_flower.privacy.accounts.limits.counters_in", plain)
    return bool(request.param)


def test_a_run_may_make_so_many_requests(tmp_path: Path) -> None:
    rules = replace(OPEN, name="shop", most_requests=3)
    told = "policy 'shop' refuses this request by its rule most-requests: it is 3 a run"
    for _ in range(3):
        party = party_of(tmp_path, "bank", rules, CLEAR)
        party.exchange = 0
        assert upload(party) == (True, "")
    for _ in range(2):
        assert upload(party_of(tmp_path, "bank", rules, CLEAR)) == (False, told)
        shutil.rmtree(tmp_path / "bank", ignore_errors=True)
    assert upload(party_of(tmp_path, "shop", rules, CLEAR)) == (True, "")


def test_a_request_counts_once_however_many_phases_it_has(tmp_path: Path) -> None:
    party = party_of(tmp_path, "bank", replace(OPEN, most_requests=1), CLEAR)
    config = {"exchange": 1, "phases": "keep,take_best,keep", "arrays": "0,0,0"}
    assert party.fit([], config)[2] == {}  # type: ignore[arg-type]
    assert "rule most-requests" in upload(party)[1]


def test_a_run_may_ask_for_so_many_rows(tmp_path: Path) -> None:
    rules = replace(OPEN, name="shop", most_rows=50)
    told = "policy 'shop' refuses this upload by its rule most-rows: it is 50"
    assert upload(party_of(tmp_path, "bank", rules, CLEAR), rows=30) == (True, "")
    assert upload(party_of(tmp_path, "bank", rules, CLEAR), rows=21) == (False, told)
    assert upload(party_of(tmp_path, "bank", rules, CLEAR), rows=20) == (True, "")
    assert upload(party_of(tmp_path, "shop", rules, CLEAR), rows=21) == (True, "")


@pytest.mark.parametrize("most_rows", [None, 99])
def test_an_upload_waits_for_the_disk_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most_rows: int | None
) -> None:
    party = party_of(tmp_path, "bank", replace(OPEN, most_requests=9, most_rows=most_rows), CLEAR)
    assert upload(party) == (True, "")  # and the file is there
    waited = list[int]()
    monkeypatch.setattr("vfl_flower.privacy.accounts.journal.os.fsync", waited.append)
    assert upload(party) == (True, "")
    assert len(waited) == 1
