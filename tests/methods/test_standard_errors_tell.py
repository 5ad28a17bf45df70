"""Standard errors: carriers, bytes, consent, and knowledge of each party."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from flwr.common import Scalar
from torch import Tensor

from tests.helpers.contract import CARRIERS, Tap, carry, passive_parties
from tests.helpers.outcomes.attempts import Attempt
from tests.helpers.own_data.linear import NOISY, X, train
from vfl_flower.algorithms.linear_models import errors, information
from vfl_flower.common.errors import (
    ConfigError,
    DataError,
    Interrupted,
    PolicyError,
    VflError,
)
from vfl_flower.config.policy.record import OPEN
from vfl_flower.config.policy.run_options import taken_from
from vfl_flower.config.run_config import RunConfig
from vfl_flower.privacy.guarantees import protections
from vfl_flower.transport.local import run_local
from vfl_flower.workflows.build_parties import build_active, build_passive

CFG = RunConfig(
    method="logistic",
    dataset="breast-cancer",
    partition="auto@0-2/12",
    parties=3,
    epochs=100,
    baselines="off",
    ridge=0.0,
    standard_errors=True,
)
"""Two or three columns a party, as the classes are apart in all thirty."""

Parties = list[Any]


def solved(cfg: RunConfig = CFG) -> Parties:
    active, passive = build_active(cfg), [build_passive(cfg, k) for k in range(1, cfg.parties)]
    run_local(active, passive)
    return [active, *passive]


def table_of(party: Any) -> Any:
    (text,) = party.further_files().values()
    lines = [line.split(",")[5:] for line in text.decode().splitlines()[1:]]
    return np.array(lines, dtype=float)


@pytest.mark.slow
@pytest.mark.parametrize("carrier", CARRIERS)
def test_errors_are_alike_on_all_carriers(carrier: str) -> None:
    active = build_active(CFG)
    parties = passive_parties(carrier, lambda k: build_passive(CFG, k), 2)
    taps = [Tap(client) for client in parties.clients]
    carry(carrier, active, taps)
    assert active.figures()["standard_errors"] == 1
    assert np.allclose(table_of(active), table_of(solved()[0]), rtol=1e-5)
    asked = [phase for phase, _ in taps[0].requests()]
    assert asked.count("count") == asked.count("find_errors") == 1
    assert 0 < asked.index("count") < asked.index("span") < asked.index("find_errors")


@pytest.mark.slow
@pytest.mark.parametrize("last", [False, True], ids=["on the way", "at its last step"])
def test_a_stopped_run_finds_the_errors_of_one_that_was_not(last: bool, tmp_path: Path) -> None:
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    attempt = Attempt(CFG, whole)
    attempt.run()
    with pytest.raises(Interrupted):
        Attempt(CFG, stopped).run(stop_at=attempt.active.progress.step if last else 3)
    Attempt(CFG, stopped).run()
    for party in ("active", "party-1", "party-2"):
        ours, theirs = (
            np.genfromtxt(run / party / "model/coefficients.csv", delimiter=",")[1:, 5:]
            for run in (stopped, whole)
        )
        assert np.array_equal(ours[:, 0], theirs[:, 0])
        assert np.isfinite(ours).all()
        assert np.allclose(ours, theirs, rtol=1e-5)


def test_bytes_are_those_of_the_page() -> None:
    active, *passive = solved()
    rows, own = len(active.rows["train"]), len(active.errors.kept)
    others = sum(len(party.errors.kept) for party in passive)
    exchanges = -(-(others + others // 4 + 8) // 8)
    by_phase = active.ledger.by_phase("training")
    span, found = by_phase["span"], by_phase["find_errors"]
    assert exchanges > 1
    assert span["up"] // 2 - exchanges * 32 * rows in range(1, 500 * exchanges)
    assert span["down"] // 2 - exchanges * 4 * rows in range(1, 500 * exchanges)
    Z = 4 * 8 * exchanges * (1 + own + others)
    assert found["down"] // 2 - Z - 4 in range(1, 1000)


# Knowledge --------------------------------------------------------------------------------------


def spans(monkeypatch: pytest.MonkeyPatch, cfg: RunConfig = CFG) -> tuple[Parties, Tensor]:
    """Train; return the parties, and U as the active party has it."""
    seen = list[Tensor]()

    def inverse(X: Tensor, U: Tensor, *rest: Any) -> information.Inverse:
        seen.append(U)
        return information.inverse(X, U, *rest)

    monkeypatch.setattr("strategies.logistic.inverse", inverse)
    return solved(cfg), seen[0].double()


def columns_of(parties: Parties) -> Tensor:
    rows = torch.from_numpy(parties[0].data.rows["train"])
    return torch.cat([each.x[rows].flatten(1)[:, each.errors.kept] for each in parties], 1).double()


@pytest.mark.parametrize("lacking", [0, 1])
def test_a_column_known_in_some_rows_is_known_in_all(
    lacking: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To the active party, as Learns states."""
    parties, U = spans(monkeypatch)
    truth = columns_of(parties[1:])
    rows = truth.shape[1] - lacking
    basis = torch.linalg.svd(U, full_matrices=False)[0][:, : truth.shape[1]]
    for column in truth.T:
        guess = basis @ torch.linalg.lstsq(basis[:rows], column[:rows, None]).solution
        off = float((guess[:, 0] - column).abs().max())
        assert off > 0.1 if lacking else off < 1e-2


def test_combinations_are_others_in_every_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """V is not the seed's; the span is that of the columns."""
    (parties, first), (_, second) = spans(monkeypatch), spans(monkeypatch)
    assert float((first - second).abs().max()) > 1
    truth = columns_of(parties[1:])
    for U in (first, second):
        rest = U - truth @ torch.linalg.lstsq(truth, U).solution
        assert float(rest.norm() / U.norm()) < 1e-5


def test_random_numbers_are_normal() -> None:
    drawn = errors.gaussian(400, 400).flatten()
    for power, moment in ((1, 0.0), (2, 1.0), (3, 0.0), (4, 3.0)):
        assert float((drawn**power).mean()) == pytest.approx(moment, abs=0.1)


def test_the_result_says_what_was_told() -> None:
    said = " ".join(protections(CFG)[1])
    assert "for standard errors the active party got as many combinations" in said
    without = " ".join(protections(CFG.changed(standard_errors=False))[1])
    assert "for standard errors" not in without


# Consent ----------------------------------------------------------------------------------------


def test_a_party_takes_part_only_if_its_owner_allows_it() -> None:
    assert taken_from(CFG.to_mapping())["standard-errors"] is True
    strict = replace(OPEN, name="bank", allow_cross_products=False)
    build_passive(CFG.changed(standard_errors=False), 1, policy=strict)
    with pytest.raises(PolicyError, match=r"'bank' refuses this run by its rule allow-cross"):
        build_passive(CFG, 1, policy=strict)


@pytest.mark.parametrize("phase", ["count", "span"])
def test_a_party_answers_nothing_of_errors_without_the_option(phase: str) -> None:
    cfg = CFG.changed(standard_errors=False, blinding="none")
    party = build_passive(cfg, 1)
    rows = party.data.rows["train"]
    sent: list[Any] = [rows, np.array([1, 0, 0, 1], np.float32), np.zeros((len(rows), 1), "f4")]
    config: dict[str, Scalar] = {"exchange": 1, "phases": "direct", "arrays": "3"}
    assert "error" not in party.fit(sent, config)[2]
    sent = [np.zeros(40, np.float32), *([rows] if phase == "span" else [])]
    counts = f"1,{len(sent) - 1}"
    config = {"exchange": 2, "phases": f"move,{phase}", "arrays": counts}
    arrays, _, metrics = party.fit(sent, config)
    assert not arrays
    assert "standard errors were asked for, and this run has none" in str(metrics["message"])


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"ridge": 1.0}, "ridge is 1.0"),
        ({"ridge": 0.0, "lasso": 0.1}, "lasso is 0.1"),
        ({"ridge": 0.0, "class_weights": "balanced"}, "class-weights is balanced"),
        ({"ridge": 0.0, "largest_weight": 3.0}, "largest-weight is 3.0"),
        ({"ridge": 0.0, "stop_drop": 3.0}, "stop-drop is 3.0"),
        ({"ridge": 0.0, "share_check": "on"}, "share-check is on"),
        ({"ridge": 1.0, "penalty_path": "10,1", "keep": "best"}, "ridge is 1.0"),
        ({"ridge": 0.0, "label_privacy": "alibi"}, "under true labels"),
        ({"ridge": 0.0, "wire_precision": "int8"}, "too coarse"),
        ({"ridge": 0.0, "embedding_defence": "nopeek:1"}, "learn no embedding by its gradient"),
    ],
    ids=str,
)
def test_options_that_make_errors_false_are_refused(options: dict[str, Any], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        RunConfig(method="logistic", standard_errors=True, **options)


INFERRED: dict[str, Any] = {"ridge": 0.0, "standard_errors": True}


def test_errors_are_of_two_classes_or_numbers() -> None:
    with pytest.raises(VflError, match="there are more than two classes"):
        train(X, np.digitize(NOISY, [-1, 1]).astype(str), **INFERRED)


def test_rows_with_weights_have_none() -> None:
    with pytest.raises(VflError, match=r"largest-weight is 2\.0"):
        train(X, NOISY > 0, np.ones(120), largest_weight=2.0, **INFERRED)
    with pytest.raises(VflError, match="rows have weights, which may be counts"):
        train(X, NOISY > 0, np.ones(120), **INFERRED)


def test_fewer_rows_than_columns_are_refused() -> None:
    draw = np.random.default_rng(0)
    with pytest.raises(DataError, match=r"party-1: 10 columns need more than 11 training rows"):
        train(draw.normal(size=(30, 11)), np.arange(11) % 2 > 0, **INFERRED)
    with pytest.raises(DataError, match=r"all parties' 30 columns need more than 31 training rows"):
        train(draw.normal(size=(30, 31)), draw.normal(size=31), **INFERRED)
