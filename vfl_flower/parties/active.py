"""The active party of a training: labels, network, and protocol."""

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import ClassVar, TypeVar

import numpy as np
import torch
from flwr.common import Scalar
from torch import Tensor

from vfl_flower.common.codec import Array
from vfl_flower.common.errors import PartyError
from vfl_flower.common.json_schema import fits
from vfl_flower.common.nonce import NONCE
from vfl_flower.config.catalog import USUAL_LOSSES
from vfl_flower.config.evaluation.threshold import read_threshold
from vfl_flower.data.preprocessing.row_weights import in_proportion
from vfl_flower.learning.device import threads
from vfl_flower.learning.losses import Labels, loss_of
from vfl_flower.learning.row_limit import RowLimit
from vfl_flower.learning.schedule import steps_per_epoch
from vfl_flower.parties.party import Party
from vfl_flower.parties.progress import Progress
from vfl_flower.parties.replies import ReplyRules
from vfl_flower.privacy.client_dp.budget import Noise
from vfl_flower.privacy.client_dp.planning import budget_of
from vfl_flower.privacy.client_dp.upload_log import Counts
from vfl_flower.privacy.gradient_defences.applied import defended_gradients
from vfl_flower.privacy.label_dp.training_labels import TrainingLabels
from vfl_flower.privacy.label_encodings.encoding import LabelEncoding, encoding_of
from vfl_flower.privacy.missing_parties.drawn_subsets import drawn_sizes
from vfl_flower.privacy.missing_parties.subset_drawing import open_subsets
from vfl_flower.protocol.exchange import Protocol, Request
from vfl_flower.protocol.strategy import Coordinator

T = TypeVar("T")


class ActiveParty(Party, Coordinator):
    """The party with the labels; a method gives it a protocol.

    A method overrides `protocol`, and `step` and `infer` where it trains by mini-batches. Its
    `strategy` is what a Flower server drives.

    Attributes
    ----------
    x : Tensor
        The active party's own columns, (N, ...), float32.
    y : Tensor
        Labels, (N,), int64; of a regression float32, standardised; of several labels (N, C),
        float32. For evaluation, and for nets
        whose outputs and gradients never leave this party; all else learns `training_labels`.
    target : Target
        The task that the labels set, and what they are called.
    training_labels : TrainingLabels
        The labels that training uses, and `loss` with it.
    net, optimizer, randomness
        Its network, optimizer and generator; see `Party`.
    budget : Budget or None
        What the passive parties noise their uploads with; None if they do not.
    uploaded : dict of str to Counts
        What each passive party has uploaded, by its own count over all attempts.
    defence : DefendedGradients or None
        The run's defence of gradients, if there is one.
    progress : Progress
        Where training is.
    labels : Tensor, Weighted or None
        Of the step in hand.
    outputs : list of Tensor
        (B, C) each, of which `loss` was taken against these labels, one of each model.
    left_out : frozenset of int
        Ranks of passive parties whose uploads are zeros in what is computed, beside those that
        have left.
    resume_from : int or None
        The step whose checkpoint to continue from.
    begun : bool
        Whether an earlier attempt began this run.
    strategy, ledger, observer, task, patience, stop
        See `Coordinator`.
    """

    default_loss: ClassVar[str] = "cross-entropy"
    layers: ClassVar[int] = 1
    """How many linear layers its decision net has unless the run says otherwise."""

    def __init__(self, party: Party, y: Tensor, rows: dict[str, Array]) -> None:
        super().__init__(**vars(party))
        self.y, self.rows = y, rows
        assert self.data.target is not None  # noqa: S101  an active party's data have one
        self.target = self.data.target
        if self.cfg.task == "train":  # a prediction's is that of its model
            number = read_threshold(self.cfg.threshold).number
            self.target = replace(self.target, threshold=number)
        loss, train, weights = loss_of(self.loss_name), torch.from_numpy(rows["train"]), None
        if self.data.weights is not None:
            weights = in_proportion(self.data.weights, rows, self.cfg)
        classes, encoding = self.data.classes, self._encoding()
        made = TrainingLabels(self.cfg, y, classes, loss, train, weights, encoding)
        self.training_labels = made
        self.labels: Labels | None = None
        self.outputs = list[Tensor]()
        self.budget, self.uploaded = budget_of(self.cfg, self.data.rows), dict[str, Counts]()
        self.defence = defended_gradients(self.cfg, self.target.task)
        self.progress = Progress()
        self.left_out = frozenset[int]()
        self.resume_from: int | None = None
        self.nonce = secrets.token_hex(NONCE)
        self.begun = False
        Coordinator.__init__(self)

    def _encoding(self) -> LabelEncoding | None:
        """Make the encoding of labels, as a saved part of the network."""
        if not self.cfg.encoded:
            return None
        with self.randomness.building("codes"):
            made = encoding_of(self.cfg, self.target.task, self.data.classes, self.loss_name)
        if made is not None:
            self.net.add_module("label_encoding", made)
        return made

    @property
    def loss_name(self) -> str:
        """Name of the loss: the run's, the task's or the method's."""
        return self.cfg.loss or USUAL_LOSSES.get(self.target.task, self.default_loss)

    @property
    def epoch(self) -> int:
        """Which epoch the step in hand belongs to, from 0."""
        return self.progress.step // steps_per_epoch(self.cfg, len(self.rows["train"]))

    @property
    def absent(self) -> frozenset[int]:
        """Ranks of passive parties whose uploads are zeros."""
        return self.cfg.left | self.left_out

    def contributors(self, rows: Array, *, training: bool = False) -> int | Tensor:
        """Return each row's number of contributing passive parties, (B, 1).

        In a training step it may be a drawn one.
        """
        presence, cfg = self.data.presence, self.cfg
        drawn, passive = cfg.draws_subsets and training, self.parties - 1 - len(self.absent)
        if presence is None and not drawn:
            return passive
        counts = np.full(len(rows), passive)
        if presence is not None:
            counts = np.delete(presence[rows], [k - 1 for k in self.absent], 1).sum(1)
        if drawn:
            counts = drawn_sizes(cfg.seed, self.progress.step, counts, cfg.least_present)
        return torch.from_numpy(counts).float()[:, None]

    def present(self, rows: Array, *, training: bool = False) -> Tensor | None:
        """Return which passive party contributes to which row, (B, K) bool.

        None where all do. Only without masks; in a training step it may be a drawn subset.
        """
        if not self.cfg.uses_missing:
            return None
        known = self.data.presence
        shape = (len(rows), self.parties - 1)
        present = np.ones(shape, np.bool_) if known is None else known[rows]
        present[:, [rank - 1 for rank in self.absent]] = False
        if self.cfg.draws_subsets and training:
            present = open_subsets(self.cfg, self.progress.step, present)
        return torch.from_numpy(present)

    def loss(self, output: Tensor, y: Labels) -> Tensor:
        """Compute the loss of outputs, (B, C), against labels; see `Supervision.loss`.

        The training accuracy is made of a step's outputs, so they are noted here. Work of the step
        before may come after its end, with labels of its own.
        """
        if y is self.labels and len(self.outputs) < self.parties:
            self.outputs.append(output.detach())
        return self.training_labels.loss(output, y)

    def decoded(self, outputs: Tensor) -> Tensor:
        """Return outputs, (B, C), decoded where labels are encoded."""
        return self.training_labels.decoded(outputs)

    def truth(self, rows: Array) -> Labels:
        """Return true labels of some rows, (B,), with the rows' weights."""
        index = torch.from_numpy(rows)
        return self.training_labels.weighted(self.y[index], index)

    def labels_of(self, rows: Array) -> Labels:
        """Return the labels that a step on rows, (B,), learns."""
        return self.training_labels.of(torch.from_numpy(rows))

    def take_up(self, rows: Array) -> Labels:
        """Return `labels_of` a batch of rows, (B,), for a step to begin."""
        self.outputs.clear()
        self.labels = self.labels_of(rows)
        if self.defence:
            self.defence.begin(self.progress.step, self.labels)
        return self.labels

    def defended(self, request: Request) -> Request:
        """Return a request with its gradients changed, where the run defends them."""
        return self.defence.applied(request) if self.defence else request

    def step(self, rows: Array, y: Labels) -> Protocol:
        """Train on one batch; return the models' losses, the own first.

        `rows` is (B,), `y` its training labels, for `loss` to take.

        Only methods whose protocol calls `training.train` have steps.
        """
        raise NotImplementedError

    def infer(self, rows: Array) -> Protocol:
        """Return every model's logits, (B, C) each, the own first.

        Most methods give every party a model. Where there is only one it counts as the active
        party's, and `step` returns one loss too.
        """
        raise NotImplementedError

    @property
    def own_end(self) -> str:
        """Name of the end that the method sets itself, or empty."""
        return ""

    @property
    def judged(self) -> bool:
        """Whether the present weights may be the best, by validation rows."""
        return True

    def figures(self) -> dict[str, float]:
        """Return the method's further measurements, for the result."""
        return {}

    def upload_noise(self) -> Noise | None:
        """Return the noise of uploads, and the largest epsilon of a party."""
        return Noise(self.budget.sigma, self.budget.worst(self.uploaded)) if self.budget else None

    def sizes(self) -> Mapping[str, int]:
        """Return the lengths of replies that the run sets, by symbol."""
        return {"D": self.cfg.embedding_dim, "C": self.data.classes, "K": self.parties - 1}

    def fault_of(self, phase: str, rows: int, arrays: Sequence[Array]) -> str:
        """Return the fault of one party's reply to a phase, or nothing."""
        return self._rules.fault(phase, rows, arrays)

    def row_limit(self) -> RowLimit | None:
        """Return the bound of summed rows, with the parties' noise."""
        bound = self.cfg.row_bound
        return (
            None
            if bound is None
            else RowLimit(bound, self._deviation, self.cfg.narrow and self.cfg.blinded)
        )

    @cached_property
    def _rules(self) -> ReplyRules:
        return ReplyRules(self.cfg, self.sizes(), self._deviation)

    @property
    def _deviation(self) -> float:
        """Deviation of the noise on each number of an upload."""
        return self.budget.summed.width if self.budget else 0.0

    def restart_from(self, step: int | None) -> None:
        """Prepare another attempt, from a checkpoint or from the start."""
        super().restart_from(step)
        self.progress = Progress()
        self.resume_from = step

    def compute(self, work: Callable[[], T], training: bool = True) -> T:
        """Do some work with the network in training or evaluation mode."""
        self.set_mode(training)
        with threads(self.cfg.threads_in(training)), torch.set_grad_enabled(training):
            return work()

    def hear(self, name: str, metrics: Mapping[str, Scalar]) -> None:
        """Record a party's count of uploads."""
        if not self.budget:
            return
        if not fits(metrics, dict.fromkeys(self.budget.kinds, int)):
            raise PartyError(f"{name} noises its uploads and does not tell how many there were")
        counts = Counts({kind: metrics[kind] for kind in self.budget.kinds})
        if not self.uploaded.get(name, Counts()) <= counts:
            raise PartyError(f"{name} says that it has sent fewer uploads than it said before")
        self.uploaded[name] = counts
