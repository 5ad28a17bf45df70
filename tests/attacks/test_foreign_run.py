"""Runs of the same name as another one."""

import logging
import shutil
from pathlib import Path

import numpy as np
import pytest

from tests.helpers.blinding import send
from tests.helpers.contract import configured
from tests.helpers.outcomes.attempts import Attempt
from tests.helpers.outcomes.run_folders import TINY
from vfl_flower.common.codec import Array
from vfl_flower.common.errors import Interrupted, PartyError
from vfl_flower.common.layout import MODEL, RUN, checkpoint_path, steps_kept
from vfl_flower.common.nonce import nonce_to_array
from vfl_flower.learning.schedule import last_mark
from vfl_flower.parties.passive import PassiveParty
from vfl_flower.parties.persistence.checkpoints import write_checkpoint
from vfl_flower.parties.persistence.run_identity import known_run
from vfl_flower.workflows.build_parties import build_passive

FOREIGN = np.arange(8, dtype=np.uint8)
NAME = "party-1"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a complete run."""
    out = tmp_path_factory.mktemp("runs") / "run"
    Attempt(TINY, out).run()
    return out


@pytest.fixture
def folder(whole: Path, tmp_path: Path) -> Path:
    """Return a copy that a test may harm."""
    return Path(shutil.copytree(whole, tmp_path / "run"))


def files(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in (folder / NAME).rglob("*") if path.is_file()}


def asked(party: PassiveParty, exchange: int, phase: str, *arrays: Array) -> str:
    """Return the error that a request ends in; empty for none."""
    return str(send(party, exchange, phase, *arrays)[1].get("message", ""))


def own(folder: Path) -> Array:
    return nonce_to_array(known_run(folder / NAME))


@pytest.mark.parametrize("number", [(), (FOREIGN,)], ids=["no number", "another number"])
def test_another_run_cannot_prune_or_replace(number: tuple[Array, ...], folder: Path) -> None:
    """Checkpoints pushed out the run's, and a model took its model's place."""
    before = files(folder)
    party = build_passive(TINY, 1, folder)
    for exchange, step in enumerate((0, 12, 13, 14), 1):
        assert asked(party, exchange, "checkpoint", np.array(step), *number)
    assert asked(party, 5, "save", *(number or (np.zeros(8, np.uint8),)))
    assert asked(party, 6, "restore", np.array(steps_kept(folder / NAME)[0]), *number)
    assert files(folder) == before


def test_a_refusal_does_not_tell_the_number(folder: Path) -> None:
    """Whoever knows it could write."""
    said = asked(build_passive(TINY, 1, folder), 1, "save", FOREIGN)
    assert "holds another run's checkpoints; choose another run-name" in said
    assert known_run(folder / NAME) not in said


@pytest.mark.parametrize("step", [10**9, 10**9 + 1, 2**62, 0])
def test_marks_are_steps_that_the_run_can_have(step: int, folder: Path) -> None:
    """Marks from 10^9 on have longer names, and were never pruned."""
    before = files(folder)
    party = build_passive(TINY, 1, folder)
    said = asked(party, 1, "checkpoint", np.array(step), own(folder))
    low = "array 1 of phase 'checkpoint' has a number that is not in [0, inf]"
    assert (low if step < 0 else f"was asked for a checkpoint of step {step}") in said
    assert files(folder) == before


def test_marks_never_fill_the_folder(tmp_path: Path) -> None:
    """Each is at least as large as the last; two are kept."""
    party = build_passive(TINY, 1, tmp_path)
    last = last_mark(TINY, party.data.rows)
    for exchange, step in enumerate(range(last + 3), 1):
        assert bool(asked(party, exchange, "checkpoint", np.array(step), FOREIGN)) == (step > last)
    assert steps_kept(tmp_path / NAME) == [last - 1, last]


@pytest.mark.parametrize("method", ["adptvfedconv", "pravfed", "fdml"])
def test_honest_marks_stay_within_the_bound(method: str, tmp_path: Path) -> None:
    attempt = Attempt(configured(method).changed(baselines="off", epochs=1), tmp_path / "run")
    attempt.run()
    assert attempt.active.progress.mark <= last_mark(attempt.active.cfg, attempt.active.rows)


def test_all_attempts_of_a_run_have_one_number(tmp_path: Path) -> None:
    with pytest.raises(Interrupted):
        Attempt(TINY, tmp_path / "run").run(3)
    names = ("active", NAME, "party-2")
    first = [known_run(tmp_path / "run" / name) for name in names]
    again = Attempt(TINY, tmp_path / "run")
    again.run()
    assert len({*first, again.active.nonce}) == 1
    assert {known_run(tmp_path / "run" / name) for name in names} == {*first}


def test_a_run_that_died_before_its_first_whole_set_is_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The passive parties have written theirs; the active party knows its number."""
    out = tmp_path / "run"
    with monkeypatch.context() as patched:
        patched.setattr("vfl_flower.training.checkpointing.write_checkpoint", _die)
        with pytest.raises(KeyboardInterrupt):
            Attempt(TINY, out).run()
    assert steps_kept(out / NAME) == [0]
    Attempt(TINY, out).run()
    assert (out / NAME / MODEL).is_dir()


def _die(*_: object) -> None:
    raise KeyboardInterrupt


def test_checkpoints_of_an_earlier_version_take_the_number_of_the_run_that_resumes(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    out = tmp_path / "run"
    with pytest.raises(Interrupted):
        Attempt(TINY, out).run(3)
    for name in ("active", NAME, "party-2", "party-3"):
        (out / name / RUN).unlink()
    stranger = build_passive(TINY, 1, out)
    for exchange, step in enumerate((0, 3, 12), 1):
        assert "another run's" in asked(stranger, exchange, "checkpoint", np.array(step), FOREIGN)
    assert "another run's" in asked(stranger, 4, "save", FOREIGN)
    assert not (out / NAME / RUN).exists()
    again = Attempt(TINY, out)
    with caplog.at_level(logging.WARNING):
        again.run()
    assert f"now on it belongs to run {again.active.nonce}" in caplog.text
    assert known_run(out / NAME) == again.active.nonce


def test_a_folder_of_an_earlier_version_belongs_to_its_models_run(folder: Path) -> None:
    (folder / NAME / RUN).unlink()
    party = build_passive(TINY, 1, folder)
    number = own(folder)
    assert "another run's" in asked(party, 1, "save", FOREIGN)
    assert not asked(party, 2, "save", number)


def test_a_damaged_number_is_refused(folder: Path) -> None:
    (folder / NAME / RUN).write_text("{}")
    with pytest.raises(PartyError, match=f"{RUN} is missing or damaged"):
        for path in folder.rglob("result.json"):
            path.unlink()
        Attempt(TINY, folder).run()


def test_a_restore_of_nothing_takes_no_number(tmp_path: Path) -> None:
    party = build_passive(TINY, 1, tmp_path)
    assert "is missing" in asked(party, 1, "restore", np.array(3), FOREIGN)
    assert not (tmp_path / NAME / RUN).exists()
    write_checkpoint(party, 3, party.checkpointed())
    assert checkpoint_path(tmp_path / NAME, 3).exists()
    assert not asked(party, 2, "restore", np.array(3), FOREIGN)
    assert known_run(tmp_path / NAME) == FOREIGN.tobytes().hex()
