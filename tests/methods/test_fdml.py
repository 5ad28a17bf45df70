"""FDML: labels that every party holds, handed out once."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from clients.fdml import FDMLClient
from strategies.fdml import FDML
from tests.helpers.data import next_batch
from tests.helpers.outcomes.attempts import Attempt
from vfl_flower.common.codec import Array
from vfl_flower.common.errors import DataError, PartyError
from vfl_flower.config.run_config import RunConfig
from vfl_flower.transport.local import run_local
from vfl_flower.workflows.build_parties import build_active, build_passive

CFG = RunConfig(method="fdml", models="mlp", epochs=2, batch_size=200, baselines="off")


def parties(cfg: RunConfig) -> tuple[FDML, list[FDMLClient]]:
    active, passive = build_active(cfg), [build_passive(cfg, k) for k in range(1, 4)]
    assert isinstance(active, FDML)
    return active, [party for party in passive if isinstance(party, FDMLClient)]


@pytest.mark.parametrize("mechanism", ["none", "randomized-response", "laplace", "alibi"])
def test_parties_hold_what_teaches_and_of_training_rows_only(mechanism: str) -> None:
    active, passive = parties(replace(CFG, label_privacy=mechanism))
    run_local(active, passive)
    held = torch.from_numpy(active.rows["train"])
    others = torch.from_numpy(np.concatenate([active.rows["validation"], active.rows["test"]]))
    assert len(passive) == 3
    for party in passive:
        assert torch.equal(party.labels[held], active.training_labels.labels[held])
        assert not party.labels[others].any()


@pytest.mark.parametrize(("mechanism", "each"), [("randomized-response", 1), ("laplace", 40)])
def test_labels_travel_once_and_noised_rows_cost_four_bytes_a_class(
    mechanism: str, each: int
) -> None:
    active, passive = parties(replace(CFG, label_privacy=mechanism, epochs=3))
    run_local(active, passive)
    n = len(active.rows["train"])
    assert active.ledger.payload["party-1", "training", "hold", "down"] == (4 + each) * n


def test_a_run_that_broke_in_its_first_epoch_hands_labels_out_again(tmp_path: Path) -> None:
    """The only checkpoint is older than the labels."""
    whole, broken = Attempt(CFG, tmp_path / "whole"), Attempt(CFG, tmp_path / "broken")
    whole.run()

    def fail(R: torch.Tensor) -> None:
        raise DataError("row 7 is gone")

    fail.phase = broken.passive[1].phases["update"].phase  # type: ignore[attr-defined]
    broken.passive[1].phases["update"] = fail
    with pytest.raises(PartyError, match="row 7 is gone"):
        broken.run()
    Attempt(CFG, tmp_path / "broken").run()
    for name in ("active", "party-1", "party-2", "party-3"):
        ours, theirs = (tmp_path / run / name for run in ("broken", "whole"))
        weights = "model/weights.safetensors"
        assert (ours / weights).read_bytes() == (theirs / weights).read_bytes(), name


def test_a_step_without_labels_is_refused() -> None:
    party = build_passive(replace(CFG, blinding="none"), 1)
    before = [p.clone() for p in party.net.parameters()]

    def told(exchange: int, phase: str, array: Array) -> dict[str, Any]:
        return party.fit([array], {"exchange": exchange, "phases": phase, "arrays": "1"})[2]

    rows = next_batch(party)
    assert told(1, "predict", rows) == {}
    refusal = told(2, "update", np.zeros((len(rows), 10), np.float32))
    assert (refusal["error"], refusal["phase"]) == ("ProtocolError", "update")
    assert "no labels before it" in refusal["message"]
    assert all(a.equal(b) for a, b in zip(before, party.net.parameters(), strict=True))
