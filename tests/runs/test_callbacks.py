"""Callbacks of runs: order, failures, options without paths."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.outcomes.attempts import Attempt
from tests.helpers.outcomes.edits import values_of
from vfl_flower.common.errors import CallbackError, Interrupted, PartyError, RunError
from vfl_flower.config.run_config import RunConfig
from vfl_flower.protocol.observer import Evaluation
from vfl_flower.runs.callback import Callback, Start, shared_options

CFG = RunConfig(models="linear", epochs=2, batch_size=700, embedding_dim=4, baselines="off")
STEPS, PARTIES = 4, ["active", "party-1", "party-2", "party-3"]


class Notes(Callback):
    """Writes down all that it hears."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, Any]] = []

    def on_start(self, run: Start) -> None:
        self.heard.append(("start", run))

    def on_step(self, step: int, losses: dict[str, float]) -> None:
        self.heard.append(("step", step))
        assert list(losses) == PARTIES

    def on_evaluation(self, evaluation: Evaluation) -> None:
        self.heard.append(("evaluation", evaluation))

    def on_end(self, result: Mapping[str, Any] | None) -> None:
        self.heard.append(("end", result))

    def of(self, kind: str) -> list[Any]:
        return [each for name, each in self.heard if name == kind]


class Fails(Callback):
    """Raises an exception in one method."""

    def __init__(self, hook: str, error: Exception) -> None:
        self.error = error
        setattr(self, hook, self.fail)

    def fail(self, *_: object) -> None:
        raise self.error


def test_a_callback_hears_everything_in_order(tmp_path: Path) -> None:
    notes, attempt = Notes(), Attempt(CFG, tmp_path / "run")
    attempt.run(callbacks=[notes])
    kinds = [kind for kind, _ in notes.heard]
    epoch = ["step", "step", "evaluation"]
    assert kinds == ["start", *epoch, *epoch, "end"]
    (start,), (end,) = notes.of("start"), notes.of("end")
    assert (start.folder, start.step, start.steps) == (tmp_path / "run", 0, STEPS)
    assert start.evaluations == []
    assert start.config["batch-size"] == 700
    assert notes.of("step") == [1, 2, 3, 4]
    assert end == values_of(tmp_path / "run" / "result.json")


def test_a_run_without_a_folder_has_callbacks_too() -> None:
    notes = Notes()
    Attempt(CFG, None).run(callbacks=[notes])
    assert notes.of("start")[0].folder is None
    assert notes.of("end")[0]["steps"] == STEPS


def test_a_stopped_run_has_no_result_and_its_resume_hears_the_evaluations(tmp_path: Path) -> None:
    first, second = Notes(), Notes()
    with pytest.raises(Interrupted):
        Attempt(CFG, tmp_path / "run").run(stop_at=3, callbacks=[first])
    assert first.of("end") == [None]
    Attempt(CFG, tmp_path / "run").run(callbacks=[second])
    assert second.of("start")[0].step == 3
    assert second.of("start")[0].evaluations == first.of("evaluation")
    assert len(second.of("evaluation")) == 1


@pytest.mark.parametrize("hook", ["on_start", "on_step", "on_evaluation"])
def test_an_exception_stops_the_run_which_can_be_resumed(hook: str, tmp_path: Path) -> None:
    notes = Notes()
    with pytest.raises(CallbackError, match=f"callback Fails failed in {hook}") as failed:
        Attempt(CFG, tmp_path / "run").run(callbacks=[notes, Fails(hook, ValueError("row 7"))])
    assert "row 7" not in str(failed.value)  # it may quote data; parties are told the text
    assert failed.value.detail == "row 7"
    assert notes.of("end") == [None]
    assert not (tmp_path / "run" / "result.json").exists()
    Attempt(CFG, tmp_path / "run").run()
    assert (tmp_path / "run" / "result.json").exists()


def test_an_exception_at_the_end_leaves_the_result_and_other_callbacks(tmp_path: Path) -> None:
    notes = Notes()
    with pytest.raises(CallbackError, match="the result is saved"):
        Attempt(CFG, tmp_path / "run").run(callbacks=[Fails("on_end", ValueError()), notes])
    assert notes.of("end")[0]["steps"] == STEPS
    assert (tmp_path / "run" / "result.json").exists()


def test_errors_of_the_package_are_told_as_they_are(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"^disk full$"):
        Attempt(CFG, tmp_path / "run").run(callbacks=[Fails("on_step", RunError("disk full"))])


def test_the_run_s_own_error_is_not_hidden_by_a_callback_s(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    cfg = CFG.changed(optimizers="sgd", learning_rates="1e30", models="mlp")
    with pytest.raises(PartyError, match="lower the learning rate"):
        Attempt(cfg, tmp_path / "run").run(callbacks=[Fails("on_end", ValueError("boom"))])
    assert "callback Fails failed in on_end" in caplog.text


def test_a_run_that_does_not_begin_ends_no_callback() -> None:
    notes = Notes()
    with pytest.raises(Exception, match="no folder"):
        Attempt(CFG.changed(dp_sigma=1.0, method="splitnn"), None).run(callbacks=[notes])
    assert notes.heard == []


def test_paths_addresses_and_circumstances_are_told_to_nobody() -> None:
    secret = "/srv/secret"  # noqa: S105
    cfg = RunConfig(
        dataset="own",
        tables=",".join(f"{secret}/{party}.toml" for party in PARTIES),
        data_dir=secret,
        weights=f"{secret}/a.pth",
        out=secret,
        stream_listen="10.1.2.3:9443",
        stream_advertise="10.1.2.3:9443",
        run_name="secret",
        device="cpu",
    )
    shared = shared_options(cfg)
    assert shared["method"] == "easter"
    assert "secret" not in str(shared)
    assert "10.1.2.3" not in str(shared)
    assert not {"device", "track", "transport", "out"} & set(shared)
