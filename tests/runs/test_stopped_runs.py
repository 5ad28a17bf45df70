"""Runs of this process, stopped at a chosen step, and resumed."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flwr.common import NDArrays, Scalar

from tests.helpers.blinding import send
from tests.helpers.outcomes.attempts import Attempt
from tests.helpers.outcomes.run_folders import NAMES, TINY, lines_of
from vfl_flower.common.errors import Interrupted, RosterError
from vfl_flower.common.layout import steps_kept
from vfl_flower.data.loading import load_party
from vfl_flower.parties.persistence.checkpoints import read_checkpoint, write_checkpoint
from vfl_flower.transport.local import LocalTransport
from vfl_flower.workflows.build_learner import build_learner
from vfl_flower.workflows.build_parties import build_passive
from vfl_flower.workflows.run import conduct


@pytest.mark.slow
@pytest.mark.parametrize(("stops", "every"), [([3], 1), ([7], 1), ([2, 3, 11], 1), ([9, 16], 3)])
def test_stopped_runs_equal_an_unbroken_one(stops: list[int], every: int, tmp_path: Path) -> None:
    """Once or often, within and at the end of epochs."""
    cfg = replace(TINY, checkpoint_every=every)
    Attempt(cfg, tmp_path / "unbroken").run()
    for step in stops:
        with pytest.raises(Interrupted, match=f"step {step};"):
            Attempt(cfg, tmp_path / "broken").run(step)
        assert steps_kept(tmp_path / "broken" / "active")[-1] == step
    Attempt(cfg, tmp_path / "broken").run()
    for name in NAMES:
        paths = [
            tmp_path / out / name / "model/weights.safetensors" for out in ("unbroken", "broken")
        ]
        assert paths[0].read_bytes() == paths[1].read_bytes(), name
    lines = [lines_of(tmp_path / out) for out in ("unbroken", "broken")]
    for line in [*lines[0], *lines[1]]:
        del line["bytes_down"]  # see the next test
    assert lines[0] == lines[1]


def test_exchange_numbers_grow_over_all_attempts(tmp_path: Path) -> None:
    """The second attempt continues the numbers of the checkpoint."""
    with pytest.raises(Interrupted):
        Attempt(TINY, tmp_path / "run").run(3)
    again = Attempt(TINY, tmp_path / "run")
    earlier = read_checkpoint(again.active, 3)["exchange"]
    numbers: list[int] = []
    party = again.passive[0]
    fit = party.fit

    def noted(parameters: NDArrays, config: dict[str, Scalar]) -> Any:
        numbers.append(int(config["exchange"]))
        return fit(parameters, config)

    party.fit = noted  # type: ignore[method-assign]
    again.run()
    assert earlier > 6
    assert numbers == list(range(earlier + 1, earlier + 1 + len(numbers)))


NONCE = np.zeros(8, np.uint8)


def test_checkpoints_of_later_steps_do_not_push_out_a_new_one(tmp_path: Path) -> None:
    """A folder may hold later steps of an abandoned attempt."""
    party = build_learner(TINY, load_party(TINY, 1), tmp_path)
    for step in (2000, 2200, 11, 12, 13):
        write_checkpoint(party, step, {})
    assert steps_kept(tmp_path) == [12, 13, 2000, 2200]


def test_a_party_that_goes_back_drops_its_later_checkpoints(tmp_path: Path) -> None:
    """Later ones are of repeated steps; those up to the step stay."""
    party = build_passive(TINY, 1, tmp_path)
    for exchange, step in enumerate((0, 3, 7), 1):
        assert send(party, exchange, "checkpoint", np.array(step), NONCE) == ([], {})
    assert steps_kept(tmp_path / "party-1") == [3, 7]
    again = build_passive(TINY, 1, tmp_path)
    assert send(again, 1, "restore", np.array(3), NONCE)[0] == []
    assert steps_kept(tmp_path / "party-1") == [3]
    assert "error" not in send(again, 2, "checkpoint", np.array(5), NONCE)[1]
    assert steps_kept(tmp_path / "party-1") == [3, 5]


@pytest.mark.slow
def test_stop_within_an_epoch_does_not_change_the_books(tmp_path: Path) -> None:
    """A tell costs training equally with a checkpoint or a step."""
    Attempt(TINY, tmp_path / "unbroken").run()
    with pytest.raises(Interrupted):
        Attempt(TINY, tmp_path / "broken").run(3)
    Attempt(TINY, tmp_path / "broken").run()
    ours, theirs = (lines_of(tmp_path / out) for out in ("broken", "unbroken"))
    assert [line["bytes_down"] for line in ours] == [line["bytes_down"] for line in theirs]


def test_a_run_that_never_began_leaves_no_folder(tmp_path: Path) -> None:
    attempt = Attempt(TINY, tmp_path / "run")
    attempt.active.patience = 0.1
    with pytest.raises(RosterError, match="missing"):
        conduct(attempt.active, LocalTransport(attempt.passive[:2]), attempt.folder)
    assert not (tmp_path / "run").exists()
