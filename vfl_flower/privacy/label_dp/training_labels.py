"""What teaches in the place of the labels, so that nothing else can leave the active party."""

from functools import cached_property
from pathlib import Path
from typing import Any

from torch import Tensor

from vfl_flower.common.errors import RunError
from vfl_flower.common.names import load_object
from vfl_flower.common.state import read_state, write_state
from vfl_flower.config.catalog import LABEL_MECHANISMS
from vfl_flower.config.options.privacy import TRUE_SENSITIVITY
from vfl_flower.config.run_config import RunConfig
from vfl_flower.learning.losses import Loss, loss_of
from vfl_flower.privacy.label_dp.mechanisms import LabelNoise, compact

NOISED = "noised-labels.safetensors"
COVERS = (
    "the label of each training row, against everything that passive parties receive in this run: "
    "any two values of it make what they see at most exp(epsilon) times as likely"
)
EXCLUDES = (
    "columns; which rows there are; that every class has a training row; what other runs on the "
    "same labels reveal, whose epsilons add up; losses and accuracies, which the active party "
    "computes from true labels and prints: under flwr run, the SuperLink's operator sees that"
)


def noise_of(cfg: RunConfig, classes: int) -> LabelNoise | None:
    """Return the mechanism of a run, as every party knows it; None if labels teach as they are."""
    if not cfg.label_noise:
        return None
    mechanism: type[LabelNoise] = load_object(LABEL_MECHANISMS[cfg.label_noise])
    return mechanism(classes, cfg.label_epsilon, cfg.label_sensitivity)


def _matched(loss: Loss, noise: LabelNoise | None) -> Loss:
    """Return a loss that takes true labels (B,) or, under label privacy, noised rows (B, C)."""

    def measure(logits: Tensor, y: Tensor) -> Tensor:
        if noise is None or y.dim() == 1:
            return loss(logits, y)
        return loss(logits, noise.posterior(y, logits))

    return measure


def epsilon_of(cfg: RunConfig) -> float:
    """Return the epsilon that holds, which an understated sensitivity makes larger."""
    understated = 1.0
    if cfg.label_noise != "randomized-response":
        understated = max(TRUE_SENSITIVITY / cfg.label_sensitivity, 1.0)
    return cfg.label_epsilon * understated


def label_report(cfg: RunConfig) -> dict[str, Any] | None:
    """Return what ``result.json`` says of label privacy; None if there is none."""
    if not cfg.label_noise:
        return None
    return {
        "mechanism": cfg.label_noise,
        "epsilon": epsilon_of(cfg),
        "private": epsilon_of(cfg) <= cfg.label_epsilon,
        "covers": COVERS,
        "does_not_cover": EXCLUDES,
    }


def received(published: Tensor, noise: LabelNoise | None) -> Tensor:
    """Return what `TrainingLabels.published` gave away, as `TrainingLabels.of` has it."""
    return noise.receive(published) if noise else published.long()


class Lessons:
    """What teaches a passive party that is given labels: the other end of `TrainingLabels`.

    Parameters
    ----------
    cfg : RunConfig
        The run's configuration.
    classes : int
        C.

    Attributes
    ----------
    loss : callable
        From logits (B, C), and what `read` returns, to the mean over the batch.
    """

    def __init__(self, cfg: RunConfig, classes: int) -> None:
        self.noise = noise_of(cfg, classes)
        self.loss = _matched(loss_of(cfg.loss or "cross-entropy"), self.noise)

    def read(self, published: Tensor) -> Tensor:
        """Return labels (B,), or noised rows (B, C), of what travelled."""
        return received(published, self.noise)


class TrainingLabels:
    """The labels that training may use, and the loss to match.

    Parameters
    ----------
    cfg : RunConfig
        The run's configuration.
    y : Tensor
        The true labels, (N,), int64.
    classes : int
        C.
    loss : callable
        As `loss_of` returns it.
    """

    def __init__(self, cfg: RunConfig, y: Tensor, classes: int, loss: Loss) -> None:
        self.noise = noise_of(cfg, classes)
        self._loss, self.classes, self._true = _matched(loss, self.noise), classes, y

    @cached_property
    def labels(self) -> Tensor:
        """The true labels, (N,), int64; under label privacy, rows noised once, (N, C), float32."""
        return self._true if self.noise is None else self.noise.release(self._true)

    def of(self, rows: Tensor) -> Tensor:
        """Return what teaches some rows, (B,) or (B, C)."""
        return self.labels[rows]

    def published(self, rows: Tensor) -> Tensor:
        """Return what teaches some rows as it travels; `received` is the other end."""
        labels = self.of(rows)
        return self.noise.publish(labels) if self.noise else compact(labels, self.classes)

    def loss(self, logits: Tensor, y: Tensor) -> Tensor:
        """Return the loss against true labels (B,), or the posterior of noised ones (B, C)."""
        return self._loss(logits, y)

    def target(self, logits: Tensor, y: Tensor) -> Tensor:
        """Return labels (B,) as they are, or of noised ones the posterior at a prediction."""
        return y if self.noise is None or y.dim() == 1 else self.noise.posterior(y, logits)

    def keep(self, folder: Path | None, *, begun: bool) -> None:
        """Write noised labels down before they are used, or read those of an earlier sitting.

        Parameters
        ----------
        folder : Path or None
            The active party's.
        begun : bool
            Whether there was an earlier sitting.

        Raises
        ------
        RunError
            If an earlier sitting's are gone: others would cost as much privacy again.
        """
        if self.noise is None or folder is None:
            return
        path = folder / NOISED
        if path.exists():
            self.labels = read_state(path)["labels"]
        elif begun:
            raise RunError(
                f"{path} is missing: the labels would be noised once more, and label-epsilon would "
                "not be true; put the file back, or start a new run"
            )
        else:
            write_state(path, {"labels": self.labels})
