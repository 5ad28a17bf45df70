"""Callbacks of `vfl.train`."""

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import vfl_flower as vfl
from vfl_flower.common.errors import CallbackError, ConfigError
from vfl_flower.protocol.observer import Evaluation

TINY: dict[str, Any] = {"models": "linear", "epochs": 1, "batch_size": 700, "baselines": "off"}


class Accuracies(vfl.Callback):
    """Keeps validation and test accuracies of the active party."""

    def __init__(self) -> None:
        self.validation: list[float] = []
        self.test = 0.0

    def on_evaluation(self, evaluation: Evaluation) -> None:
        self.validation.append(evaluation.validation_accuracy["active"])

    def on_end(self, result: Mapping[str, Any] | None) -> None:
        assert result is not None
        self.test = result["test_accuracy"]["active"]


class Fails(vfl.Callback):
    """Raises after the first step."""

    def on_step(self, step: int, losses: dict[str, float]) -> None:
        raise KeyError("nothing")


def test_train_calls_them() -> None:
    heard = Accuracies()
    run = vfl.train("digits", callbacks=[heard], **TINY)
    assert heard.validation == list(run.history["validation_accuracy active"])
    assert heard.test == run.metrics["active"]["accuracy"]


def test_a_failed_run_stays_and_the_error_says_where(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(CallbackError, match="callback Fails failed in on_step") as failed:
        vfl.train("digits", callbacks=[Fails()], **TINY)
    (note,) = failed.value.__notes__
    folder = Path(note.split("'")[1])
    assert (folder / "config.toml").is_file()


@pytest.mark.parametrize("wrong", [Accuracies, print, "mlflow"])
def test_what_is_no_callback_is_refused(wrong: Any) -> None:
    with pytest.raises(ConfigError, match="callbacks has"):
        vfl.train("digits", callbacks=[wrong], **TINY)
