"""Contract of every method: failing parties are named, with their phase."""

import inspect
import logging
import re
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import NoReturn

import pytest
from torch import Tensor

from tests.helpers.contract import (
    ON_CARRIERS,
    carry,
    configured,
    finished,
    method_of,
    passive_parties,
)
from vfl_flower.common.errors import DataError, PartyError
from vfl_flower.parties.passive import PassiveParty
from vfl_flower.protocol.components import PhaseMethod
from vfl_flower.workflows.build_parties import build_active, build_passive

AWAY = ("easter", "splitnn", "agg_vfl checked", "adptvfedconv", "boosted_trees", "vafl in turns")
"""Cases on other transports than the local one: how an error travels is no matter of the method."""

EXCHANGING = [
    (case, carrier)
    for case, carrier in ON_CARRIERS
    if not method_of(case).alone and (carrier == "local" or case in AWAY)
]
TELLS_NOTHING = {"pravfed", "boosted_trees", "boosted_trees encrypted"}

on_carriers = pytest.mark.parametrize(("method", "carrier"), EXCHANGING)


def failing(cfg_method: str, broken: str, error: Exception) -> Callable[[int], PassiveParty]:
    """Return a builder whose second party fails in one phase."""
    cfg = configured(cfg_method)

    def build(k: int) -> PassiveParty:
        party = build_passive(cfg, k)
        if k == 2:
            party.phases[broken] = raising(party.phases[broken], error)
        return party

    return build


def raising(method: PhaseMethod, error: Exception) -> PhaseMethod:
    @wraps(method)
    def fail(*arrays: Tensor) -> NoReturn:
        raise error

    fail.phase = method.phase  # type: ignore[attr-defined]
    return fail


def fails_with(method: str, carrier: str, broken: str, error: Exception) -> str:
    active = build_active(configured(method))
    parties = passive_parties(carrier, failing(method, broken, error))
    with pytest.raises(PartyError) as caught:
        carry(carrier, active, parties.clients)
    assert len(str(caught.value).splitlines()) == 1
    return str(caught.value)


@on_carriers
def test_failing_party_surfaces_at_its_yield(method: str, carrier: str) -> None:
    """The text has party, phase, message and the method's line."""
    strategy, _ = method_of(method).load()
    folder = Path(str(inspect.getsourcefile(strategy.step))).parent
    asked, _ = finished(method, "local").phases()
    assert asked
    for phase in asked:
        text = fails_with(method, carrier, phase, DataError("row 7 is gone"))
        assert text.startswith("party-2 "), phase
        assert "DataError: row 7 is gone" in text, phase
        where = re.search(rf"{folder.name}/(\w+\.py):(\d+)", text)  # of the method or its parent
        assert where, text
        line = (folder / where[1]).read_text().splitlines()[int(where[2]) - 1]
        assert "yield ask" in line
        assert f'"{phase}"' in line
        assert f"'{phase}'" in text


@pytest.mark.parametrize(
    ("method", "carrier"), [pair for pair in EXCHANGING if pair[0] not in TELLS_NOTHING]
)
def test_failing_tell_names_its_own_phase(method: str, carrier: str) -> None:
    """A failing tell is not blamed on the next exchange's phase."""
    _, told = finished(method, "local").phases()
    assert told
    for phase in told:
        text = fails_with(method, carrier, phase, DataError("row 7 is gone"))
        assert text.startswith("party-2 "), phase
        assert "DataError: row 7 is gone" in text
        assert f"'{phase}'" in text


@on_carriers
def test_foreign_error_keeps_its_text_at_home(
    method: str, carrier: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Its class travels; its text, which may quote data, stays."""
    with caplog.at_level(logging.ERROR, logger="vfl_flower"):
        phase = min(finished(method, "local").phases()[0])
        text = fails_with(method, carrier, phase, ValueError("age 42 of row 7"))
    assert "ValueError" in text
    assert "row 7" not in text
    assert "age 42 of row 7" in caplog.text
