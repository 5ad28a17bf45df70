"""Simultaneous messages with one exchange number to a rebuilt party.

Flower may start both with the party's memory as it was before them, so both were masked alike.
"""

import multiprocessing
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Barrier

import numpy as np
import pytest
from flwr.app import RecordDict
from flwr.common import FitIns, FitRes, GetPropertiesIns, Scalar

from tests.helpers.blinding import ROWS_I, ROWS_J, TINY, Rebuilt, agree
from vfl_flower.common.codec import Array, from_parameters, to_parameters
from vfl_flower.common.errors import RunError
from vfl_flower.transport import exchange_claims
from vfl_flower.transport.endpoint import RebuiltEndpoint
from vfl_flower.transport.exchange_claims import ATTEMPT, FILE, claim
from vfl_flower.workflows.build_parties import build_passive

CFG = replace(TINY, parties=3)


class Flower(Rebuilt):
    """A node's memory of a party, and messages to it."""

    def __init__(self, rank: int, folder: Path | None) -> None:
        self.rank, self.folder, self.state = rank, folder, RecordDict()
        self.endpoint = self.started_with(self.state)

    def started_with(self, state: RecordDict) -> RebuiltEndpoint:
        """Start the party with some memory of it."""
        build = partial(build_passive, CFG, self.rank, self.folder)
        return RebuiltEndpoint(build, self.rank, state)

    def message(self, state: RecordDict, exchange: int, phase: str, *arrays: Array) -> FitRes:
        """Send one message to the party as some memory has it."""
        config: dict[str, Scalar] = {
            "exchange": exchange,
            "phases": phase,
            "arrays": str(len(arrays)),
        }
        return self.started_with(state).fit(FitIns(to_parameters(list(arrays)), config))


@pytest.fixture(params=["folder", "no folder"])
def party(request: pytest.FixtureRequest, tmp_path: Path) -> Flower:
    """Return a party with keys, whose next exchange is 3."""
    folder = tmp_path if request.param == "folder" else None
    parties = [Flower(rank, folder) for rank in (1, 2)]
    agree(parties)
    return parties[0]


def answers(results: list[FitRes]) -> list[Array]:
    return [array for res in results for array in from_parameters(res.parameters)]


def test_one_of_two_simultaneous_messages_is_refused(party: Flower) -> None:
    start = Barrier(2)

    def sent(rows: Array) -> FitRes:
        state = deepcopy(party.state)
        start.wait()
        return party.message(state, 3, "embed_only", rows)

    with ThreadPoolExecutor(2) as pool:
        results = list(pool.map(sent, [ROWS_I, ROWS_I]))
    assert len(answers(results)) == 1
    (refused,) = [res for res in results if res.metrics]
    assert "exchange 3 comes after exchange 3, which another message" in str(refused.metrics)


@pytest.mark.parametrize("rows", [ROWS_I, ROWS_J], ids=["the same rows", "other rows"])
@pytest.mark.parametrize("exchange", [3, 2])
def test_a_number_that_is_used_stays_used_in_an_older_memory(
    exchange: int, rows: Array, party: Flower
) -> None:
    old = deepcopy(party.state)
    assert answers([party.message(party.state, 3, "embed_only", ROWS_I)])
    assert not answers([party.message(old, exchange, "embed_only", rows)])
    assert answers([party.message(party.state, 4, "embed_only", rows)])


def test_the_refused_message_changes_no_memory(party: Flower) -> None:
    old = deepcopy(party.state)
    party.message(party.state, 3, "embed_only", ROWS_I)
    before = repr(old)
    party.message(old, 3, "embed_only", ROWS_I)
    assert repr(old) == before


def test_a_roll_call_does_not_free_numbers_of_earlier_keys(party: Flower) -> None:
    """It begins an attempt, whose keys are others."""
    old = deepcopy(party.state)
    party.message(party.state, 3, "embed_only", ROWS_I)
    party.endpoint.get_properties(GetPropertiesIns({}))
    assert answers([party.message(party.state, 1, "public_key")])
    assert not answers([party.message(old, 3, "embed_only", ROWS_I)])


def test_a_message_that_fails_has_used_its_number(party: Flower) -> None:
    old = deepcopy(party.state)
    assert "error" in party.message(party.state, 3, "embed_only", np.array([10**6])).metrics
    assert not answers([party.message(old, 3, "embed_only", ROWS_I)])


def test_processes_share_what_is_claimed(tmp_path: Path) -> None:
    """A node starts a process for every message."""
    attempt = bytes(ATTEMPT)
    context = multiprocessing.get_context("fork")
    with context.Pool(4) as pool:
        earlier = pool.starmap(claim, [(tmp_path, attempt, 5)] * 40)
    assert sorted(earlier) == [0] + [5] * 39
    assert claim(tmp_path, attempt, 6) == 5
    assert claim(tmp_path, b"12345678", 1) == 0
    assert (tmp_path / FILE).stat().st_size == 2 * (ATTEMPT + 8)
    assert (tmp_path / FILE).stat().st_mode & 0o777 == 0o600


def full(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    monkeypatch.setattr(exchange_claims, "MOST", 1)
    claim(folder, b"12345678", 1)


def damaged(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    (folder / FILE).write_bytes(b"1234567")


@pytest.mark.parametrize(("harm", "text"), [(full, "is full"), (damaged, "is damaged")])
def test_without_a_claim_nothing_is_answered(
    harm: Callable[[pytest.MonkeyPatch, Path], None],
    text: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    harm(monkeypatch, tmp_path)
    with pytest.raises(RunError, match=text):
        claim(tmp_path, bytes(ATTEMPT), 1)
