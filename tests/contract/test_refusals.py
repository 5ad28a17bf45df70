"""Contract of every method: passive parties refuse phases out of order."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tests.helpers.contract import CASES, configured, finished, method_of
from tests.helpers.formulas import D
from vfl_flower.common.codec import Array
from vfl_flower.parties.passive import PassiveParty
from vfl_flower.workflows.build_parties import build_passive

if TYPE_CHECKING:
    from flwr.common import Scalar

NONCE = np.zeros(8, np.uint8)

pytestmark = pytest.mark.parametrize("method", list(CASES))


def request(party: PassiveParty, exchange: int, phases: str, *arrays: Array) -> dict[str, Any]:
    """Ask one party directly and return the reply's metrics."""
    counts = [*["0"] * phases.count(","), str(len(arrays))]
    config = {"exchange": exchange, "phases": phases, "arrays": ",".join(counts)}
    return party.fit(list(arrays), config)[2]  # type: ignore[arg-type]


def test_undeclared_phase_is_refused(method: str) -> None:
    party = build_passive(configured(method), 1)
    for name in ("weights", "__init__", "fit", "net", ""):
        metrics = request(party, party.exchange + 1, name)
        assert metrics["error"] == "ProtocolError", name
        assert f"no phase '{name}'" in metrics["message"]


def test_phase_out_of_order_is_refused(method: str) -> None:
    party = build_passive(configured(method), 1)
    later = [name for name, run in party.phases.items() if run.phase.after]  # type: ignore[attr-defined]
    assert (
        later or method_of(method).alone or method_of(method).options().uploads_before_training
    )  # see its own tests
    for name in later:
        before = [p.clone() for p in party.net.parameters()]
        metrics = request(party, party.exchange + 1, name, np.zeros((2, D), np.float32))
        assert metrics["error"] == "ProtocolError", name
        assert f"'{name}' must follow" in metrics["message"]
        assert all(a.equal(b) for a, b in zip(before, party.net.parameters(), strict=True))


def test_exchange_counter_must_grow(method: str, tmp_path: Path) -> None:
    party = build_passive(configured(method), 1, tmp_path)
    config: dict[str, Scalar] = {"exchange": 5, "phases": "public_key", "arrays": "0"}
    rows: list[Array] = []
    if "public_key" not in party.phases:  # it answers anew each time it is asked
        phase, rows = "save", [NONCE]
        if method_of(method).options().uploads_before_training:
            phase, rows = "embed_only", [party.data.rows["test"][:5]]
        elif not method_of(method).alone:
            run = finished(method, "local")
            phase = min(run.phases()[0])
            rows = next(arrays for name, arrays in run.taps[0].requests() if name == phase)
        config |= {"phases": phase, "arrays": str(len(rows))}
    first, again = party.fit(rows, config)[0], party.fit(rows, config)[0]
    assert first or method_of(method).alone
    assert all(map(np.array_equal, first, again))  # a repeated request gets its old answer
    for exchange in (5, 4):
        metrics = request(party, exchange, "restore")
        assert metrics["error"] == "ProtocolError"
        assert "comes after exchange 5" in metrics["message"]
    assert request(party, 6, "save", NONCE) == {}
