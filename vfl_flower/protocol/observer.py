"""Observers of a run: progress bars, metrics files, tests."""

import math
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from statistics import fmean
from typing import Any

VALIDATION = "validation_"
"""What the keys of losses and scores on validation rows begin with."""


@dataclass(frozen=True)
class Evaluation:
    """One evaluation on the validation rows.

    Attributes
    ----------
    step, epoch : int
        Steps and whole epochs done.
    train_loss : dict of str to float
        Mean since the last evaluation, by party.
    validation_loss : dict of str to float
        By party; empty without validation rows.
    scores : dict of str to dict of str to float
        On the validation rows, by metric and party: the primary one first, accuracy, a fraction, or
        r2 of a regression; then the one that decides, if it is another.
    seconds : float
        Since the run started, earlier attempts of a resumed run included.
    exchanges, bytes_up, bytes_down : int
        Spent on training so far.
    metric : str
        Name of the metric that decides, as results call it.
    thresholds : dict of str to float
        By party, those that the validation rows choose; nothing where a number is set.
    train_accuracy : dict of str to float
        Share of the training rows since the last evaluation whose true class was predicted, by
        party, each by the weights before its step; nothing where labels are not classes.
    leave_one_out : dict of str to float
        The active party's primary metric on the validation rows without the upload of a passive
        party, by that party; nothing where it is not measured.
    without : list of str
        Passive parties that had left.
    """

    step: int
    epoch: int
    train_loss: dict[str, float]
    validation_loss: dict[str, float]
    scores: dict[str, dict[str, float]]
    seconds: float
    exchanges: int
    bytes_up: int
    bytes_down: int
    metric: str = "accuracy"
    thresholds: dict[str, float] = field(default_factory=dict)
    train_accuracy: dict[str, float] = field(default_factory=dict)
    leave_one_out: dict[str, float] = field(default_factory=dict)
    without: list[str] = field(default_factory=list)

    @property
    def score(self) -> float:
        """Mean of the metric by which early stopping and `keep` decide.

        NaN without validation rows.
        """
        return fmean(self.decisive.values()) if self.decisive else math.nan

    @property
    def decisive(self) -> dict[str, float]:
        """Metric that decides, on the validation rows, by party."""
        return self.scores.get(self.metric, {})

    @property
    def primary(self) -> dict[str, float]:
        """Primary metric on the validation rows, by party."""
        return next(iter(self.scores.values()), {})

    @property
    def validation_accuracy(self) -> dict[str, float]:
        """Accuracy on the validation rows, by party; nothing of a regression."""
        return self.scores.get("accuracy", {})

    @property
    def validation(self) -> dict[str, dict[str, float]]:
        """Loss and scores on the validation rows, by name and party."""
        scores = {f"{VALIDATION}{name}": each for name, each in self.scores.items()}
        return {f"{VALIDATION}loss": self.validation_loss} | scores

    def as_dict(self) -> dict[str, Any]:
        """Return all of it as JSON values, a key for each metric."""
        values = asdict(self)
        del values["scores"], values["validation_loss"]
        for name in ("thresholds", "train_accuracy", "leave_one_out", "without"):
            if not values[name]:
                del values[name]
        return values | self.validation

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Evaluation":
        """Return the evaluation that `as_dict` has written.

        Raises
        ------
        TypeError
            If a key is missing.
        """
        fields = {key: each for key, each in values.items() if not key.startswith(VALIDATION)}
        judged = {key: each for key, each in values.items() if key.startswith(VALIDATION)}
        loss = judged.pop(f"{VALIDATION}loss")
        scores = {key.removeprefix(VALIDATION): each for key, each in judged.items()}
        return cls(validation_loss=loss, scores=scores, **fields)


@dataclass(frozen=True)
class Stage:
    """How far a stage before the training in steps is.

    Attributes
    ----------
    name : str
        What a person reads.
    done, total : int
        Units of it: epochs, or messages.
    figures : dict of str to float
        What the last unit came to, by party, or of the active party alone.
    seconds : float
        Since the run started, earlier attempts of a resumed run included.
    ended : bool
        Whether it ended with this unit before its last.
    """

    name: str
    done: int
    total: int
    figures: dict[str, float] = field(default_factory=dict)
    seconds: float = 0.0
    ended: bool = False

    def as_dict(self) -> dict[str, Any]:
        """Return all of it as JSON values."""
        return asdict(self)

    def __str__(self) -> str:
        figures = "".join(f"  {name} {value:.4f}" for name, value in self.figures.items())
        return f"{self.name} {self.done}/{self.total}{figures}"


class Observer:
    """Watches a run; each method may be overridden."""

    def on_stage(self, stage: Stage) -> None:
        """Hear the progress of a stage before the steps.

        The first call has no figures.
        """

    def on_start(self, step: int, steps: int, records: list[Evaluation]) -> None:
        """Hear that training begins at `step` of `steps`.

        A resumed run has records already.
        """

    def on_step(self, step: int, losses: list[float]) -> None:
        """Hear that a step is done, with every model's loss.

        The active party's loss comes first.
        """

    def on_evaluation(self, evaluation: Evaluation) -> None:
        """Hear an evaluation of the validation rows."""

    def on_wait(self, names: list[str]) -> None:
        """Hear which parties an exchange still waits for."""

    def on_end(self) -> None:
        """Hear that the protocol has ended, or broken off."""

    def on_baselines(self) -> None:
        """Hear that the baselines are trained next."""

    def on_close(self, result: Mapping[str, Any] | None) -> None:
        """Hear the end of the run: its result, or None.

        It is None if the run failed. A second call is to have no effect.
        """


class Observers(Observer):
    """Several observers as one, told in order."""

    def __init__(self, *observers: Observer) -> None:
        self.observers = observers

    def on_stage(self, stage: Stage) -> None:
        """Tell all."""
        for observer in self.observers:
            observer.on_stage(stage)

    def on_start(self, step: int, steps: int, records: list[Evaluation]) -> None:
        """Tell all."""
        for observer in self.observers:
            observer.on_start(step, steps, records)

    def on_step(self, step: int, losses: list[float]) -> None:
        """Tell all."""
        for observer in self.observers:
            observer.on_step(step, losses)

    def on_evaluation(self, evaluation: Evaluation) -> None:
        """Tell all."""
        for observer in self.observers:
            observer.on_evaluation(evaluation)

    def on_wait(self, names: list[str]) -> None:
        """Tell all."""
        for observer in self.observers:
            observer.on_wait(names)

    def on_end(self) -> None:
        """Tell all."""
        for observer in self.observers:
            observer.on_end()

    def on_baselines(self) -> None:
        """Tell all."""
        for observer in self.observers:
            observer.on_baselines()

    def on_close(self, result: Mapping[str, Any] | None) -> None:
        """Tell all, though some raise."""
        with ExitStack() as closing:
            for observer in reversed(self.observers):
                closing.callback(observer.on_close, result)
