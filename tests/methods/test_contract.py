"""The contract that every method keeps, on every carrier."""

import inspect
import logging
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import pytest
from flwr.server import Server, SimpleClientManager
from torch import Tensor

from tests.helpers.contract import (
    BATCH,
    CARRIERS,
    CASES,
    EPOCHS,
    IN_TURNS,
    Delayed,
    Forgetful,
    Run,
    Tap,
    carry,
    configured,
    differing,
    finished,
    method_of,
    passive_parties,
)
from tests.helpers.formulas import BEFORE, FORMULAS, D, K
from vfl_flower.common.codec import Array
from vfl_flower.common.errors import DataError, PartyError
from vfl_flower.parties.passive import PassiveParty
from vfl_flower.protocol.components import PhaseMethod
from vfl_flower.transport.endpoint import Endpoint
from vfl_flower.transport.local import LocalProxy, serve
from vfl_flower.workflows.build_parties import build_active, build_passive

if TYPE_CHECKING:
    from flwr.common import Scalar

TRAIN = 1294  # digits: 1797 rows, a fifth of them test, a tenth of the rest validation
NONCE = np.zeros(8, np.uint8)
SIZES = [BATCH] * (TRAIN // BATCH) + [TRAIN % BATCH]
STEPS = EPOCHS * len(SIZES)

pytestmark = pytest.mark.parametrize("method", list(CASES))
on_each_carrier = pytest.mark.parametrize("carrier", CARRIERS)


def exchanging(method: str) -> None:
    """Skip what is about exchanges, where there are none."""
    if method_of(method).alone:
        pytest.skip("the active party trains alone")


@on_each_carrier
def test_every_party_learns(method: str, carrier: str) -> None:
    records = finished(method, carrier).active.progress.records
    assert len(records) == EPOCHS
    for party, loss in records[-1].train_loss.items():
        assert loss < records[0].train_loss[party], party


def test_every_party_generalises(method: str) -> None:
    """In a somewhat longer run, far above the 10 % of guessing, and not too good to be true."""
    cfg = replace(configured(method), epochs=10, batch_size=50)
    active = build_active(cfg)
    serve(active, [Endpoint(build_passive(cfg, k)) for k in range(K)])
    registered = method_of(method)
    least = 0.25 if registered.alone and not registered.pools else 0.6  # a quarter of the columns
    assert active.progress.test["accuracy"]
    for party, accuracy in active.progress.test["accuracy"].items():
        assert least < accuracy < 0.99, party


@on_each_carrier
def test_same_seed_same_run(method: str, carrier: str) -> None:
    first, second = (finished(method, carrier, attempt=n) for n in (0, 1))
    assert differing(first.weights, second.weights) == []
    losses = [[r.train_loss for r in run.active.progress.records] for run in (first, second)]
    assert losses[0] == losses[1]
    assert first.active.progress.test == second.active.progress.test


def test_other_seed_other_run(method: str) -> None:
    ours, theirs = finished(method, "local"), finished(method, "local", seed=1)
    assert {d.split(":")[0] for d in differing(ours.weights, theirs.weights)} == set("0123")


def test_carriers_agree(method: str) -> None:
    """Weights bit for bit, and the ledgers byte for byte."""
    runs = [finished(method, carrier) for carrier in CARRIERS]
    for run in runs[1:]:
        assert differing(runs[0].weights, run.weights) == []
        assert run.active.ledger.state_dict() == runs[0].active.ledger.state_dict()


def test_memory_round_trips(method: str) -> None:
    """A live party whose memory is taken out and put back at every message goes on unchanged."""
    cfg = configured(method)
    active, parties = build_active(cfg), [build_passive(cfg, k) for k in range(K)]
    serve(active, [Forgetful(party) for party in parties])
    ours = [active.net.state_dict(), *(party.net.state_dict() for party in parties)]
    assert differing(ours, finished(method, "local").weights) == []


@on_each_carrier
def test_order_of_arrival_is_irrelevant(method: str, carrier: str) -> None:
    """Parties connect in reverse and answer when they like."""
    cfg = configured(method)
    active, parties = build_active(cfg), passive_parties(carrier, lambda k: build_passive(cfg, k))
    delayed = [Delayed(client, k) for k, client in enumerate(parties.clients)]
    carry(carrier, active, delayed[::-1])
    ours = [active.net.state_dict(), *parties.weights()]
    assert differing(ours, finished(method, "local").weights) == []


@pytest.mark.parametrize("carrier", ["local", "amnesia"])  # the loop and its proxies are stock
def test_stock_server_drives_it(method: str, carrier: str) -> None:
    """Flower's own loop and more rounds than needed: the same weights, and nothing is sent late."""
    cfg = configured(method)
    active, parties = build_active(cfg), passive_parties(carrier, lambda k: build_passive(cfg, k))
    manager = SimpleClientManager()
    taps = [Tap(Delayed(client, k)) for k, client in enumerate(parties.clients)]
    for k, tap in enumerate(taps):
        manager.register(LocalProxy(f"client-{k}", tap))
    run = finished(method, "local")
    rounds = run.active.strategy.exchange + 5
    Server(client_manager=manager, strategy=active.strategy).fit(rounds, None)
    ours = [active.net.state_dict(), *parties.weights()]
    assert differing(ours, run.weights) == []
    assert [len(tap.sent) for tap in taps] == [len(tap.sent) for tap in run.taps]


# Failures -------------------------------------------------------------------------------------


def failing(cfg_method: str, broken: str, error: Exception) -> Callable[[int], PassiveParty]:
    """Return a builder whose second party fails in one phase."""
    cfg = configured(cfg_method)

    def build(k: int) -> PassiveParty:
        party = build_passive(cfg, k)
        if k == 1:
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


@on_each_carrier
def test_failing_party_surfaces_at_its_yield(method: str, carrier: str) -> None:
    """The text has the party, the phase, the message and the line of the method that asked."""
    exchanging(method)
    strategy, _ = method_of(method).load()
    source = Path(str(inspect.getsourcefile(strategy.step)))
    asked, _ = finished(method, "local").phases()
    assert asked
    for phase in asked:
        text = fails_with(method, carrier, phase, DataError("row 7 is gone"))
        assert text.startswith("party-2 "), phase
        assert "DataError: row 7 is gone" in text, phase
        where = re.search(rf"{source.parent.name}/{source.name}:(\d+)", text)
        assert where, text
        line = source.read_text().splitlines()[int(where[1]) - 1]
        assert "yield ask" in line
        assert f'"{phase}"' in line
        assert f"'{phase}'" in text


@on_each_carrier
def test_failing_tell_names_its_own_phase(method: str, carrier: str) -> None:
    """What was told fails in the next exchange, but is not blamed on that one's phase."""
    _, told = finished(method, "local").phases()
    if not told:
        pytest.skip("a method that tells nothing")
    for phase in told:
        text = fails_with(method, carrier, phase, DataError("row 7 is gone"))
        assert text.startswith("party-2 "), phase
        assert "DataError: row 7 is gone" in text
        assert f"'{phase}'" in text


@on_each_carrier
def test_foreign_error_keeps_its_text_at_home(
    method: str, carrier: str, caplog: pytest.LogCaptureFixture
) -> None:
    """It may quote data: its class travels, its text is in the party's own log."""
    exchanging(method)
    with caplog.at_level(logging.ERROR, logger="vfl_flower"):
        phase = min(finished(method, "local").phases()[0])
        text = fails_with(method, carrier, phase, ValueError("age 42 of row 7"))
    assert "ValueError" in text
    assert "row 7" not in text
    assert "age 42 of row 7" in caplog.text


def request(party: PassiveParty, exchange: int, phases: str, *arrays: Array) -> dict[str, Any]:
    """Ask one party directly and return the reply's metrics."""
    counts = [*["0"] * phases.count(","), str(len(arrays))]
    config = {"exchange": exchange, "phases": phases, "arrays": ",".join(counts)}
    return party.fit(list(arrays), config)[2]  # type: ignore[arg-type]


def test_undeclared_phase_is_refused(method: str) -> None:
    party = build_passive(configured(method), 0)
    for name in ("weights", "__init__", "fit", "net", ""):
        metrics = request(party, party.exchange + 1, name)
        assert metrics["error"] == "ProtocolError", name
        assert f"no phase '{name}'" in metrics["message"]


def test_phase_out_of_order_is_refused(method: str) -> None:
    party = build_passive(configured(method), 0)
    later = [name for name, run in party.phases.items() if run.phase.after]  # type: ignore[attr-defined]
    assert later or method_of(method).alone or method_of(method).maps  # see its own tests
    for name in later:
        before = [p.clone() for p in party.net.parameters()]
        metrics = request(party, party.exchange + 1, name, np.zeros((2, D), np.float32))
        assert metrics["error"] == "ProtocolError", name
        assert f"'{name}' must follow" in metrics["message"]
        assert all(a.equal(b) for a, b in zip(before, party.net.parameters(), strict=True))


def test_exchange_counter_must_grow(method: str, tmp_path: Path) -> None:
    party = build_passive(configured(method), 0, tmp_path)
    config: dict[str, Scalar] = {"exchange": 5, "phases": "public_key", "arrays": "0"}
    rows: list[Array] = []
    if "public_key" not in party.phases:  # it answers anew each time it is asked
        phase, rows = "save", [NONCE]
        if method_of(method).maps:
            phase, rows = "embed_only", [np.arange(5, dtype=np.int32)]
        elif not method_of(method).alone:
            (phase,) = finished(method, "local").phases()[0]
            rows = [np.arange(5, dtype=np.int32)]
        config |= {"phases": phase, "arrays": str(len(rows))}
    first, again = party.fit(rows, config)[0], party.fit(rows, config)[0]
    assert first or method_of(method).alone
    assert all(map(np.array_equal, first, again))  # a repeated request gets its old answer
    for exchange in (5, 4):
        metrics = request(party, exchange, "restore")
        assert metrics["error"] == "ProtocolError"
        assert "comes after exchange 5" in metrics["message"]
    assert request(party, 6, "save", NONCE) == {}


# What travels ---------------------------------------------------------------------------------


def sizes_of(method: str, run: Run, k: int) -> list[int]:
    """Return the rows of every batch of a party: all training rows, where they are asked once."""
    if method in IN_TURNS:
        return [len(rows) for rows in run.batches(k)]
    return SIZES * EPOCHS if run.active.ledger.exchanges["training"] != 2 else [TRAIN]


def formulas_of(method: str, run: Run, k: int) -> list[dict[tuple[str, str], list[int]]]:
    """Return what the header says of every batch of a party, and of what came before the first."""
    before = [BEFORE[method](TRAIN)] if method in BEFORE else []
    return before + [FORMULAS[method](b) for b in sizes_of(method, run, k)]


def booked(books: Counter[tuple[str, str, str, str]], k: int) -> dict[tuple[str, str], int]:
    """Return what training cost a party, by phase and direction."""
    return {
        (phase, direction): count
        for (party, purpose, phase, direction), count in books.items()
        if (party, purpose) == (f"party-{k + 1}", "training") and count
    }


@on_each_carrier
def test_payload_equals_the_header_formula(method: str, carrier: str) -> None:
    assert sum(SIZES) == TRAIN
    run = finished(method, carrier)
    for k in range(K):
        expected: Counter[tuple[str, str]] = Counter()
        for formula in formulas_of(method, run, k):
            expected.update({rank: sum(arrays) for rank, arrays in formula.items()})
        assert booked(run.active.ledger.payload, k) == expected


@on_each_carrier
def test_framing_is_headers_and_config(method: str, carrier: str) -> None:
    """128 bytes an npy header; a config record's keys and text, and 8 bytes for its number."""
    run = finished(method, carrier)
    keys = 8 + len("exchange") + len("phases") + len("arrays")
    _, told = run.phases()

    def framing(phase: str, direction: str, count: int) -> int:
        if direction == "up":
            return 128 * count
        if phase in told:  # it rides along, whatever on
            return 128 * count + len(f"{phase},{count},")
        return 128 * count + keys + len(f"{phase}{count}")

    for k in range(K):
        expected: Counter[tuple[str, str]] = Counter()
        for formula in formulas_of(method, run, k):
            expected.update({rank: framing(*rank, len(formula[rank])) for rank in formula})
        assert booked(run.active.ledger.framing, k) == expected
