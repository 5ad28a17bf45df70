"""Training labels under label differential privacy.

Nothing that leaves the active party depends on the labels otherwise.
"""

from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from vfl_flower.common.errors import ProtocolError, RunError
from vfl_flower.common.names import load_object
from vfl_flower.common.state import State, read_state, write_state
from vfl_flower.config.catalog import LABEL_MECHANISMS
from vfl_flower.config.run_config import RunConfig
from vfl_flower.learning.losses import Labels, Loss, Weighted, loss_of
from vfl_flower.privacy.label_dp.class_weights import balanced_weights
from vfl_flower.privacy.label_dp.mechanisms import LabelNoise, classes_format, compact
from vfl_flower.privacy.label_dp.supervision import Supervision
from vfl_flower.privacy.label_encodings.encoding import LabelEncoding
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

SPLIT_TOLD = "; each row's part in the split, told without noise: it may depend on its label"


def noise_of(cfg: RunConfig, classes: int) -> LabelNoise | None:
    """Return the run's label mechanism; None without label privacy.

    Every party can do so.
    """
    if not cfg.label_noise:
        return None
    mechanism: type[LabelNoise] = load_object(LABEL_MECHANISMS[cfg.label_noise])
    return mechanism(classes, cfg.label_epsilon, cfg.label_sensitivity)


def epsilon_of(cfg: RunConfig) -> float:
    """Return the true epsilon, larger under an understated sensitivity."""
    noise = noise_of(cfg, 2)  # the same for any number of classes
    return noise.true_epsilon if noise else cfg.label_epsilon


def label_report(cfg: RunConfig) -> dict[str, Any] | None:
    """Return the ``label_privacy`` entry of ``result.json``, or None."""
    if not cfg.label_noise:
        return None
    told = SPLIT_TOLD if cfg.split in ("grouped", "time") else ""
    return {
        "mechanism": cfg.label_noise,
        "epsilon": epsilon_of(cfg),
        "private": epsilon_of(cfg) <= cfg.label_epsilon,
        "covers": COVERS,
        "does_not_cover": EXCLUDES + told,
    }


def received(published: Tensor, noise: LabelNoise | None) -> Tensor:
    """Invert `TrainingLabels.published`."""
    return noise.receive(published) if noise else published.long()


def label_format(cfg: RunConfig, classes: int) -> LabelFormat:
    """Return the wire format of `TrainingLabels.published`."""
    noise = noise_of(cfg, classes)
    return noise.label_format() if noise else classes_format(classes)


class Lessons(Supervision):
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
    class_weights : Tensor
        (C,), once `balance` or a message has set them; empty before that.
    """

    def __init__(self, cfg: RunConfig, classes: int) -> None:
        super().__init__(loss_of(cfg.loss or "cross-entropy"), noise_of(cfg, classes))
        self.balanced, self.classes = cfg.class_weights != "none", classes
        self.class_weights = torch.empty(0)

    def read(self, published: Tensor) -> Tensor:
        """Return received labels (B,), or noised rows (B, C)."""
        return received(published, self.noise)

    def balance(self, labels: Tensor) -> None:
        """Balance classes by all training labels, where the run does."""
        if self.balanced:
            self.class_weights = balanced_weights(labels, self.classes)

    def weights_of_classes(self) -> Tensor | None:
        """See `Supervision`.

        Raises
        ------
        ProtocolError
            If labels are to be weighted, and nothing has told how.
        """
        if not self.balanced:
            return None
        if not len(self.class_weights):
            raise ProtocolError("a step came, and no class weights before it")
        return self.class_weights

    def state_dict(self) -> State:
        """Return the class weights."""
        return {"class_weights": self.class_weights}

    def load_state_dict(self, state: State) -> None:
        """Restore the state of `state_dict`."""
        self.class_weights = state["class_weights"]


class TrainingLabels(Supervision):
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
    train : Tensor
        The training rows, by whose labels classes are weighted.
    weights : Tensor, optional
        Of rows, (N,) float32.
    encoding : LabelEncoding, optional
        The run's encoding of labels.

    Raises
    ------
    DataError
        If classes are to be balanced, and one has no training row.
    """

    def __init__(
        self,
        cfg: RunConfig,
        y: Tensor,
        classes: int,
        loss: Loss,
        train: Tensor,
        weights: Tensor | None = None,
        encoding: LabelEncoding | None = None,
    ) -> None:
        super().__init__(loss, noise_of(cfg, classes), encoding)
        self.classes, self._true, self.train, self.weights = classes, y, train, weights
        self.balanced = cfg.class_weights != "none"
        if self.noise is None:
            self.weights_of_classes()  # refused before work starts

    @cached_property
    def labels(self) -> Tensor:
        """True labels, or under label privacy rows noised once.

        (N,) int64, or (N, C) float32.
        """
        return self._true if self.noise is None else self.noise.release(self._true)

    def of(self, rows: Tensor) -> Labels:
        """Return training labels of some rows, with their weights.

        (B,) or (B, C).
        """
        return self.weighted(self.labels[rows], rows)

    def weighted(self, labels: Tensor, rows: Tensor) -> Labels:
        """Give labels of some rows the rows' weights, if any."""
        return labels if self.weights is None else Weighted(labels, self.weights[rows])

    def published(self, rows: Tensor) -> Tensor:
        """Return training labels of some rows in their wire format.

        `received` inverts it.
        """
        labels = self.labels[rows]
        return self.noise.publish(labels) if self.noise else compact(labels, self.classes)

    def weights_of_classes(self) -> Tensor | None:
        """See `Supervision`; they are a function of the labels that may leave."""
        return self.class_weights if self.balanced else None

    @cached_property
    def class_weights(self) -> Tensor:
        """Weight of each class, (C,), by the training labels, noised or true."""
        return balanced_weights(self.labels[self.train], self.classes)

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


def learnt_classes(cfg: RunConfig, y: Tensor, classes: int, folder: Path | None) -> Tensor:
    """Return the class that each row's training label tells of most.

    Parameters
    ----------
    cfg : RunConfig
        The run's configuration.
    y : Tensor
        True labels, (N,) int64.
    classes : int
        C.
    folder : Path or None
        The active party's, where the labels are noised once for the whole run.

    Returns
    -------
    Tensor
        (N,) int64.
    """
    if not cfg.label_noise:
        return y
    none = torch.empty(0, dtype=torch.int64)  # no class is weighted here
    labels = TrainingLabels(cfg, y, classes, loss_of("cross-entropy"), none)
    labels.keep(folder, begun=False)
    return labels.labels.argmax(1)
