"""Callbacks: a user's own code that follows a run."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vfl_flower.common.errors import CallbackError, VflError, last_line
from vfl_flower.common.names import party_log, party_name
from vfl_flower.config.registry import method_options
from vfl_flower.config.run_config import RunConfig
from vfl_flower.config.schema import declaration, kebab
from vfl_flower.config.settings import COMMON
from vfl_flower.protocol.observer import Evaluation, Observer


@dataclass(frozen=True)
class Start:
    """Facts of a run whose training begins, or goes on.

    Attributes
    ----------
    folder : Path or None
        The run's folder.
    config : dict
        Options of the run by name, without paths, addresses and what else says where it runs.
    step, steps : int
        Steps that are done, and those of the whole run.
    evaluations : list of Evaluation
        Those of earlier attempts.
    """

    folder: Path | None
    config: dict[str, Any]
    step: int
    steps: int
    evaluations: list[Evaluation]


class Callback:
    """Follows a run; override the methods that you need.

    All four are called in the thread of the run, at the active party. An exception stops the run
    with a `CallbackError` that names the callback; the run can be resumed.
    """

    def on_start(self, run: Start) -> None:
        """Hear that training begins, or goes on after a resume."""

    def on_step(self, step: int, losses: dict[str, float]) -> None:
        """Hear a finished step, counted from 1, and losses by party."""

    def on_evaluation(self, evaluation: Evaluation) -> None:
        """Hear an evaluation of the validation rows."""

    def on_end(self, result: Mapping[str, Any] | None) -> None:
        """Hear the content of ``result.json``, or None.

        It is None if the run stopped early. Called once, if `on_start` was.
        """


class CallbackObserver(Observer):
    """Observer that calls one callback.

    Parameters
    ----------
    callback : Callback
        Its exceptions are told as errors that name it.
    cfg : RunConfig
        The run's configuration.
    folder : Path or None
        The run's folder.
    """

    def __init__(self, callback: Callback, cfg: RunConfig, folder: Path | None) -> None:
        self._callback, self._cfg, self._folder = callback, cfg, folder
        self._open = False

    def on_start(self, step: int, steps: int, records: list[Evaluation]) -> None:
        """Tell the facts of the run."""
        self._open = True
        start = Start(self._folder, shared_options(self._cfg), step, steps, list(records))
        self._call("on_start", start)

    def on_step(self, step: int, losses: list[float]) -> None:
        """Tell the losses by party."""
        self._call("on_step", step, {party_name(k): loss for k, loss in enumerate(losses)})

    def on_evaluation(self, evaluation: Evaluation) -> None:
        """Tell the evaluation."""
        self._call("on_evaluation", evaluation)

    def on_close(self, result: Mapping[str, Any] | None) -> None:
        """Tell the end once; after a failure, only log errors."""
        if not self._open:
            return
        self._open = False
        try:
            self._call("on_end", result)
        except VflError as error:
            if result is not None:
                raise
            party_log(0).warning("%s", error.in_full())  # the run's own error matters more

    def _call(self, hook: str, *values: object) -> None:
        """Call one method of the callback.

        Raises
        ------
        CallbackError
            If it raises; a `VflError` is raised as it is.
        """
        try:
            getattr(self._callback, hook)(*values)
        except VflError:
            raise
        except Exception as error:  # a user's code may raise anything
            name = type(self._callback).__name__
            ended = hook == "on_end" and values != (None,)
            done = "the result is saved" if ended else "mend it and resume the run"
            text = f"callback {name} failed in {hook} ({type(error).__name__}); {done}"
            raise CallbackError(text, last_line(error)) from error


def shared_options(cfg: RunConfig) -> dict[str, Any]:
    """Return the options of a run that may be told to others.

    Paths, addresses and other circumstances are left out.
    """
    declared = {
        kebab(name): declaration(each) for name, each in (COMMON | method_options()).items()
    }
    return {
        key: value
        for key, value in cfg.to_mapping().items()
        if not (declared[key].path or declared[key].circumstance)
    }
