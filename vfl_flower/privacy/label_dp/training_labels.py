"""Training labels under label differential privacy.

Nothing that leaves the active party depends on the labels otherwise.
"""

from functools import cached_property
from pathlib import Path
from typing import Any

from torch import Tensor

from vfl_flower.common.errors import RunError
from vfl_flower.common.names import load_object
from vfl_flower.common.state import read_state, write_state
from vfl_flower.config.catalog import LABEL_MECHANISMS
from vfl_flower.config.run_config import RunConfig
from vfl_flower.learning.losses import Loss, loss_of
from vfl_flower.privacy.label_dp.mechanisms import LabelNoise, classes_format, compact
from vfl_flower.protocol.automaton.scope import LabelFormat

NOISED = "noised-labels.safetensors"
COVERS = (
    "the label of each training row (label differential privacy; adjacency: one label replaced), "
    "against everything that passive parties receive in this run: any two values of it make their "
    "view at most exp(epsilon) times as likely"
)
EXCLUDES = (
    "columns; which rows there are; that every class has a training row; what other runs on the "
    "same labels reveal, whose epsilons add up; losses and accuracies, which the active party "
    "computes from true labels and prints: under flwr run, the SuperLink's operator sees that"
)


def noise_of(cfg: RunConfig, classes: int) -> LabelNoise | None:
    """Return the run's label mechanism; None without label privacy.

    Every party can do so.
    """
    if not cfg.label_noise:
        return None
    mechanism: type[LabelNoise] = load_object(LABEL_MECHANISMS[cfg.label_noise])
    return mechanism(classes, cfg.label_epsilon, cfg.label_sensitivity)


def _matched(loss: Loss, noise: LabelNoise | None) -> Loss:
    """Adapt a loss to true labels, or to noised rows.

    True labels are (B,), noised rows (B, C).
    """

    def measure(logits: Tensor, y: Tensor) -> Tensor:
        if noise is None or y.dim() == 1:
            return loss(logits, y)
        return loss(logits, noise.posterior(y, logits))

    return measure


def epsilon_of(cfg: RunConfig) -> float:
    """Return the true epsilon, larger under an understated sensitivity."""
    noise = noise_of(cfg, 2)  # the same for any number of classes
    return noise.true_epsilon if noise else cfg.label_epsilon


def label_report(cfg: RunConfig) -> dict[str, Any] | None:
    """Return the ``label_privacy`` entry of ``result.json``, or None."""
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
    """Invert `TrainingLabels.published`."""
    return noise.receive(published) if noise else published.long()


def label_format(cfg: RunConfig, classes: int) -> LabelFormat:
    """Return the wire format of `TrainingLabels.published`."""
    noise = noise_of(cfg, classes)
    return noise.label_format() if noise else classes_format(classes)


class Lessons:
    """Training labels at a passive party that is given labels.

    The counterpart of `TrainingLabels`.

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
        """Return received labels (B,), or noised rows (B, C)."""
        return received(published, self.noise)


class TrainingLabels:
    """Labels and loss that training may use.

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
        """True labels, or under label privacy rows noised once.

        (N,) int64, or (N, C) float32.
        """
        return self._true if self.noise is None else self.noise.release(self._true)

    def of(self, rows: Tensor) -> Tensor:
        """Return training labels of some rows, (B,) or (B, C)."""
        return self.labels[rows]

    def published(self, rows: Tensor) -> Tensor:
        """Return training labels of some rows in their wire format.

        `received` inverts it.
        """
        labels = self.of(rows)
        return self.noise.publish(labels) if self.noise else compact(labels, self.classes)

    def loss(self, logits: Tensor, y: Tensor) -> Tensor:
        """Compute the loss against labels, or the posterior of noised ones."""
        return self._loss(logits, y)

    def target(self, logits: Tensor, y: Tensor) -> Tensor:
        """Return labels (B,), or the posterior of noised ones (B, C)."""
        return y if self.noise is None or y.dim() == 1 else self.noise.posterior(y, logits)

    def keep(self, folder: Path | None, *, begun: bool) -> None:
        """Write noised labels before use, or read an earlier attempt's.

        Parameters
        ----------
        folder : Path or None
            The active party's.
        begun : bool
            Whether there was an earlier attempt.

        Raises
        ------
        RunError
            If an earlier attempt's are gone: others would cost as much privacy again.
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
