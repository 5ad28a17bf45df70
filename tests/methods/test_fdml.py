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
from tests.helpers.outcomes.edits import edit
from tests.helpers.outcomes.run_folders import NAMES
from tests.methods.test_joint_reference import FIFTY, assert_equal, distributed
from tests.methods.test_rebuilt import differing, live, rebuilt
from vfl_flower.common.codec import Array
from vfl_flower.common.errors import DataError, Interrupted, PartyError
from vfl_flower.common.layout import checkpoint_path
from vfl_flower.common.state import read_state, write_state
from vfl_flower.config.run_config import RunConfig
from vfl_flower.learning.batching import lag
from vfl_flower.runs.run_folder import RunFolder
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


# Parties that are some steps apart ----------------------------------------------------------------

APART = CFG.changed(staleness=3, seed=1)


def test_lags_are_drawn_from_the_seed_up_to_the_bound() -> None:
    drawn = [lag(7, step, rank, 3) for step in range(100) for rank in (1, 2)]
    assert set(drawn) == {0, 1, 2, 3}
    assert drawn == [lag(7, step, rank, 3) for step in range(100) for rank in (1, 2)]
    assert drawn[::2] != drawn[1::2]
    assert [lag(7, step, 1, 0) for step in range(20)] == [0] * 20


def test_steps_wait_within_the_bound_and_none_at_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waited: list[int] = []
    update = FDMLClient.update

    def watched(self: FDMLClient, R: torch.Tensor) -> None:
        update(self, R)
        waited.append(len(self.waiting))

    watched.phase = update.phase  # type: ignore[attr-defined]
    monkeypatch.setattr(FDMLClient, "update", watched)
    active, passive = parties(APART)
    run_local(active, passive)
    assert max(waited) == 3 and min(waited) == 0
    for party in passive:
        assert not party.waiting
        assert party.optimizer.taken == active.progress.step == len(waited) / 3


def test_staleness_changes_the_weights() -> None:
    cfg = FIFTY.changed(method="fdml")
    with pytest.raises(AssertionError):
        assert_equal(distributed(cfg.changed(staleness=1)), distributed(cfg))


def test_rebuilt_parties_keep_the_steps_that_wait() -> None:
    cfg = APART.changed(batch_size=300)
    assert differing(live(cfg), rebuilt(cfg)) == []


def test_steps_that_wait_are_in_checkpoints(tmp_path: Path) -> None:
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    Attempt(APART, whole).run()
    first = Attempt(APART, broken)
    with pytest.raises(Interrupted):
        first.run(4)
    assert any(party.waiting for party in first.passive)  # type: ignore[attr-defined]
    Attempt(APART, broken).run()
    for name in NAMES:
        weights = [out / name / "model" / "weights.safetensors" for out in (whole, broken)]
        assert weights[0].read_bytes() == weights[1].read_bytes(), name


def test_checkpoints_from_before_there_was_staleness_are_resumed(tmp_path: Path) -> None:
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    Attempt(CFG, whole).run()
    with pytest.raises(Interrupted):
        Attempt(CFG, broken).run(4)
    for name in NAMES:
        path = checkpoint_path(broken / name, 4)
        content = read_state(path)
        assert content["header"]["run"].pop("staleness", 0) == 0
        assert content["state"].pop("waiting", []) == []
        write_state(path, content)
    edit(broken / "config.toml", "staleness = 0\n", "")
    Attempt(RunFolder.reopen(broken, {}).cfg, broken).run()
    for name in NAMES:
        weights = [out / name / "model" / "weights.safetensors" for out in (whole, broken)]
        assert weights[0].read_bytes() == weights[1].read_bytes(), name


def test_noised_uploads_of_late_steps_are_counted_once(tmp_path: Path) -> None:
    cfg = APART.changed(dp_sigma=2.0, epochs=1)
    late, timely = (
        Attempt(cfg, tmp_path / "late"),
        Attempt(cfg.changed(staleness=0), tmp_path / "t"),
    )
    late.run()
    timely.run()
    counts = [[party.privacy.counts() for party in each.passive] for each in (late, timely)]
    assert counts[0] == counts[1] and counts[0][0]
