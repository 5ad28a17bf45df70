"""Contract of every method on every transport: equal results."""

from dataclasses import replace

import numpy as np
import pytest
from flwr.server import Server, SimpleClientManager

from tests.helpers.contract import (
    CARRIERS,
    CASES,
    EPOCHS,
    ON_CARRIERS,
    Delayed,
    Forgetful,
    Run,
    Tap,
    configured,
    differing,
    finished,
    method_of,
    passive_parties,
    used,
)
from tests.helpers.formulas import K
from vfl_flower.common.codec import Array
from vfl_flower.transport.endpoint import Endpoint
from vfl_flower.transport.local import LocalProxy, serve
from vfl_flower.workflows.build_parties import build_active, build_passive

each_case = pytest.mark.parametrize("method", list(CASES))


@each_case
def test_every_party_learns(method: str) -> None:
    records = finished(method, "local").active.progress.records
    assert len(records) == EPOCHS
    for party, loss in records[-1].train_loss.items():
        assert loss < records[0].train_loss[party], party


@each_case
def test_every_evaluation_has_the_training_accuracy_of_every_model(method: str) -> None:
    records = finished(method, "local").active.progress.records
    for each in records:
        assert set(each.train_accuracy) == set(each.train_loss)
        assert all(0 <= share <= 1 for share in each.train_accuracy.values())


@each_case
def test_every_party_generalises(method: str) -> None:
    """In a longer run: far above guessing, and not suspiciously good."""
    longer = {"epochs": 3, "batch_size": 100, "learning_rates": "0.01", "train_rows": 0}
    cfg = replace(configured(method), **used(method, longer))
    active = build_active(cfg)
    serve(active, [Endpoint(build_passive(cfg, k)) for k in range(1, K + 1)])
    registered = method_of(method)
    least = 0.25 if registered.alone and not registered.pools else 0.6  # a quarter of the columns
    assert active.progress.test["score"]
    for party, accuracy in active.progress.test["score"].items():
        assert least < accuracy < 0.99, party


def judged(run: Run) -> tuple[object, ...]:
    """Return the losses of every epoch, and the test results."""
    progress = run.active.progress
    return [record.train_loss for record in progress.records], progress.test


@each_case
def test_other_seed_other_run(method: str) -> None:
    ours, theirs = finished(method, "local"), finished(method, "local", seed=1)
    assert {d.split(":")[0] for d in differing(ours.weights, theirs.weights)} == set("0123")


@each_case
def test_carriers_agree(method: str) -> None:
    """Weights agree bit for bit, and the ledgers byte for byte.

    Whoever answers first, and whether parties work in turn or side by side. So the seed alone
    decides, and all else is tested on one transport.
    """
    runs = [finished(method, carrier) for carrier in CARRIERS]
    for run in runs[1:]:
        assert differing(runs[0].weights, run.weights) == []
        assert run.active.ledger.state_dict() == runs[0].active.ledger.state_dict()
        assert judged(run) == judged(runs[0])
        for k in range(K):
            ours, theirs = (each.asked_rows(k) for each in (run, runs[0]))
            assert [phase for phase, _ in ours] == [phase for phase, _ in theirs]
            assert all(map(np.array_equal, rows_in(ours), rows_in(theirs)))


def rows_in(asked: list[tuple[str, Array]]) -> list[Array]:
    return [rows for _, rows in asked]


@each_case
def test_memory_round_trips(method: str) -> None:
    """A live party whose memory round-trips every message continues unchanged."""
    cfg = configured(method)
    active, parties = build_active(cfg), [build_passive(cfg, k) for k in range(1, K + 1)]
    serve(active, [Forgetful(party) for party in parties])
    ours = [active.net.state_dict(), *(party.net.state_dict() for party in parties)]
    assert differing(ours, finished(method, "local").weights) == []


@pytest.mark.parametrize(  # the loop and its proxies are stock
    ("method", "carrier"), [pair for pair in ON_CARRIERS if pair[1] != "stream"]
)
def test_stock_server_drives_it(method: str, carrier: str) -> None:
    """Flower's own loop with too many rounds gives the same weights.

    Whoever answers first.
    """
    cfg = configured(method)
    active, parties = build_active(cfg), passive_parties(carrier, lambda k: build_passive(cfg, k))
    manager = SimpleClientManager()
    taps = [Tap(Delayed(client, k)) for k, client in enumerate(parties.clients)]
    for k, tap in reversed([*enumerate(taps)]):
        manager.register(LocalProxy(f"client-{k}", tap))
    run = finished(method, "local")
    rounds = run.active.strategy.exchange + 5
    Server(client_manager=manager, strategy=active.strategy).fit(rounds, None)
    ours = [active.net.state_dict(), *parties.weights()]
    assert differing(ours, run.weights) == []
    assert [len(tap.sent) for tap in taps] == [len(tap.sent) for tap in run.taps]
