"""Uploads are counted over all attempts of a run."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.helpers.client_privacy import (
    EVALUATIONS,
    NONCE,
    STEPS,
    asked,
    configured,
    counts_in,
    die_at,
    result_of,
    some_methods,
)
from tests.helpers.data import next_batch, rows_for
from tests.helpers.outcomes.attempts import Attempt
from vfl_flower.common.errors import Interrupted, PartyError, PrivacyError
from vfl_flower.privacy.client_dp.accounting import epsilon_of
from vfl_flower.privacy.client_dp.upload_log import Counts
from vfl_flower.workflows.build_parties import build_passive


@some_methods
def test_a_resumed_run_goes_on_counting(method: str, tmp_path: Path) -> None:
    cfg, out = configured(method), tmp_path / "run"
    with pytest.raises(Interrupted):
        Attempt(cfg, out).run(3)
    assert counts_in(out) == [Counts(training=3)] * 3
    second = Attempt(cfg, out)
    second.run()
    assert second.active.uploaded["party-2"] == Counts(training=STEPS, evaluation=EVALUATIONS)


@some_methods
def test_steps_that_are_repeated_cost_once_more(
    method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last checkpoint is after seven steps; three more are repeated."""
    cfg, out = configured(method), tmp_path / "run"
    die_at(10, cfg, out, monkeypatch)
    again = Attempt(cfg, out)
    again.run()
    counts = Counts(training=STEPS + 3, evaluation=EVALUATIONS)
    assert counts_in(out) == [counts] * 3
    assert again.active.uploaded == dict.fromkeys(("party-1", "party-2", "party-3"), counts)
    assert result_of(out)["epsilon"] == epsilon_of(2.0, counts.total(), 1e-5, "rdp")


each_loss = pytest.mark.parametrize("lose", [Path.unlink, lambda path: path.write_bytes(b"tt")])


@each_loss
def test_a_count_that_was_taken_back_is_refused(
    lose: Callable[[Path], object], tmp_path: Path
) -> None:
    cfg, out = configured("splitnn"), tmp_path / "run"
    with pytest.raises(Interrupted):
        Attempt(cfg, out).run(3)
    lose(out / "party-2" / "uploads")
    with pytest.raises(PartyError, match="PrivacyError: party-2's count of uploads is missing"):
        Attempt(cfg, out).run()


def test_a_count_is_missed_though_the_only_checkpoint_is_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No uploads preceded it, but the count's file did."""
    cfg, out = configured("splitnn"), tmp_path / "run"
    die_at(3, cfg, out, monkeypatch)
    assert counts_in(out) == [Counts(training=3)] * 3
    (out / "party-2" / "uploads").unlink()
    with pytest.raises(PartyError, match="PrivacyError: party-2's count of uploads is missing"):
        Attempt(cfg, out).run()


def test_a_run_that_died_before_its_first_upload_goes_on(tmp_path: Path) -> None:
    """Its count has begun by then, and is not taken for lost."""
    party = build_passive(configured("splitnn"), 1, tmp_path)
    assert "error" not in asked(party, 1, "checkpoint", np.array(0), NONCE)[2]
    assert (tmp_path / "party-1" / "uploads").read_bytes() == b""
    again = build_passive(configured("splitnn"), 1, tmp_path)
    assert "error" not in asked(again, 1, "restore", np.array(0), NONCE)[2]
    assert len(asked(again, 2, "embed", next_batch(again))[0]) == 1
    assert again.privacy.counts() == Counts(training=1)


@each_loss
def test_a_party_at_work_misses_its_count(lose: Callable[[Path], object], tmp_path: Path) -> None:
    """Live, and rebuilt with its memory alone."""
    cfg = configured("splitnn")
    party = build_passive(cfg, 2, tmp_path)
    for exchange in (1, 2, 3):
        assert len(asked(party, exchange, "embed_only", rows_for(party, "embed_only"))[0]) == 1
    path = tmp_path / "party-2" / "uploads"
    lose(path)
    left = path.exists() and path.read_bytes()
    reply, _, metrics = asked(party, 4, "embed_only", rows_for(party, "embed_only"))
    assert reply == []
    assert metrics["error"] == "PrivacyError"
    assert "party-2's count of uploads is missing or cut short" in metrics["message"]
    with pytest.raises(PrivacyError, match="party-2's count of uploads is missing"):
        build_passive(cfg, 2, tmp_path).recall(party.memory())
    assert left == (path.exists() and path.read_bytes())  # none was begun in its place


@pytest.mark.parametrize("kept", [1, 2])
def test_a_party_with_checkpoints_begins_no_count(kept: int, tmp_path: Path) -> None:
    """Not even before it is taken back to one of them."""
    cfg, out = configured("splitnn"), tmp_path / "run"
    with pytest.raises(Interrupted):
        Attempt(cfg, out).run(3)
    checkpoints = sorted((out / "party-2").glob("checkpoint-*"))
    assert len(checkpoints) == 2  # of steps 0 and 3
    for path in (*checkpoints[kept:], out / "party-2" / "uploads"):
        path.unlink()
    party = build_passive(cfg, 2, out)
    reply, _, metrics = asked(party, 1, "embed", next_batch(party))
    assert reply == []
    assert "party-2's count of uploads is missing" in metrics["message"]
