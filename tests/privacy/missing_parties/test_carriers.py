"""Rows that parties lack train the same weights over every transport."""

from typing import Any

import pytest

from tests.helpers.contract import (
    CARRIERS,
    Forgetful,
    carry,
    differing,
    passive_parties,
)
from vfl_flower.config.run_config import RunConfig
from vfl_flower.transport.local import serve
from vfl_flower.workflows.build_parties import build_active, build_passive

BOTH: list[dict[str, Any]] = [
    {},  # under masks
    {"blinding": "none", "subset_training": "on"},
]
CASES = [
    *((method, each) for method in ("easter", "fdml", "vimadmm_j") for each in BOTH),
    ("splitnn", {"subset_training": "on"}),
]


def configured(method: str, **more: Any) -> RunConfig:
    return RunConfig(
        method=method,
        models="mlp",
        epochs=1,
        batch_size=200,
        embedding_dim=8,
        missing_parties="use",
        row_presence=0.7,
        **more,
    )


def trained(cfg: RunConfig, carrier: str) -> Any:
    parties = passive_parties(carrier, lambda k: build_passive(cfg, k))
    active = build_active(cfg)
    carry(carrier, active, parties.clients)
    return [active.net.state_dict(), *parties.weights()], active.progress.test


@pytest.mark.slow
@pytest.mark.parametrize(("method", "more"), CASES)
def test_carriers_agree(method: str, more: dict[str, Any]) -> None:
    cfg = configured(method, **more)
    first, *others = [trained(cfg, carrier) for carrier in CARRIERS]
    for weights, test in others:
        assert differing(first[0], weights) == []
        assert test == first[1]


@pytest.mark.parametrize("more", BOTH, ids=["masked", "drawn"])
def test_memory_round_trips(more: dict[str, Any]) -> None:
    cfg = configured("easter", **more)
    active, parties = build_active(cfg), [build_passive(cfg, k) for k in range(1, cfg.parties)]
    serve(active, [Forgetful(party) for party in parties])
    ours = [active.net.state_dict(), *(party.net.state_dict() for party in parties)]
    assert differing(ours, trained(cfg, "local")[0]) == []
