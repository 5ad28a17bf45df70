"""PraVFed, passive party; notation and header in `strategies.pravfed`."""

import math
from hashlib import sha256
from typing import TYPE_CHECKING

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from vfl_flower.algorithms.integer_weights import TOTAL, weights_of
from vfl_flower.api import (
    Lessons,
    Party,
    PassiveParty,
    Upload,
    floats,
    known_run,
    labels,
    phase,
    rows,
)
from vfl_flower.common.codec import Array, to_array
from vfl_flower.common.errors import ProtocolError, TrainingError
from vfl_flower.common.names import party_log
from vfl_flower.common.state import State, read_state, write_state
from vfl_flower.learning.batching import batches
from vfl_flower.learning.losses import Weighted, onehot
from vfl_flower.learning.schedule import steps_per_epoch
from vfl_flower.learning.wire_precision import as_sent

if TYPE_CHECKING:
    from strategies.specs.pravfed import PraVFedOptions


ACCEPTED = "accepted-accuracies.safetensors"
"""First labels and accuracies of a run. No return to a checkpoint takes it back."""


class PraVFedClient(PassiveParty):
    """Learns by itself from noisy labels, and then embeds its columns."""

    options: "PraVFedOptions"
    remembers = (*PassiveParty.remembers, "accuracy", "accuracies", "label_digest")
    predicts_with = ("accuracy", "accuracies")
    earlier_lack = ("accuracies",)

    def __init__(self, party: Party) -> None:
        super().__init__(party)
        self.classes = self.data.classes
        self.lessons = Lessons(self.cfg, self.classes)
        self.noise = self.lessons.noise
        adaptive = self.noise is not None and self.noise.adaptive  # whose prior is the softmax
        self.softmax = adaptive or self.options.local_output == "softmax"
        self.accuracy = torch.zeros(1)  # ACC_k
        self.accuracies = torch.empty(0)  # of all passive parties, once they were told
        self.label_digest = ""  # digest of Y', once it was sent

    @phase(
        takes=(rows("train"), labels("N")),
        gives=floats(1, low=0, high=1, name="ACC_k"),
        sends="figure",
        most=1,
    )
    def pretrain(
        self, rows: Tensor, noisy: Tensor
    ) -> Tensor | None:  # (N,), (N,) or (N, C) -> (1,)
        """Train on Y' (Algorithm 1); return ACC_k, or nothing under noise."""
        self.accept_labels(noisy)
        cfg, options = self.cfg, self.options
        given = self.lessons.read(noisy)
        self.lessons.balance(given)
        labels = onehot(given, self.classes, torch.float32)
        self.optimizer.steps = options.local_epochs * steps_per_epoch(cfg, len(rows))
        for epoch in range(options.local_epochs):
            errors = [
                self.learn(rows[batch], labels[batch])
                for batch in map(torch.from_numpy, self.batches(epoch, len(rows)))
            ]
            self.end_epoch(f"local epoch {epoch + 1} of {options.local_epochs}", errors)
        if self.privacy.budget:  # ACC_k tells of columns, and nothing would noise it
            return None
        self.accuracy = as_sent(self.agreement(rows, labels), cfg.wire_precision)
        return self.accuracy

    @phase(
        training=False,
        after="pretrain",
        takes=(rows("train"), floats("K", low=0, high=1, name="all ACC")),
        gives=floats("N", "D", name="W_k E_k"),
        sends="embedding",
        repeatable=True,
        most=1,
    )
    def embed(self, rows: Tensor, accuracies: Tensor) -> Upload:  # (N,), (K,) -> (N, D), masked
        """Return [W_k E_k] of the training rows."""
        return self.weighted(rows, accuracies)

    @phase(
        training=False,
        takes=(rows("held-out"), floats("K", low=0, high=1, name="all ACC")),
        gives=floats("B", "D", name="W_k E_k"),
        sends="embedding",
        repeatable=True,
    )
    def embed_only(self, rows: Tensor, accuracies: Tensor) -> Upload:  # (B,), (K,) -> (B, D)
        """Return [W_k E_k] of other rows."""
        return self.weighted(rows, accuracies)

    def weighted(self, rows: Tensor, accuracies: Tensor) -> Upload:
        """Weight E_k by W_k, which follows from the ACC_k."""
        self.accept(accuracies)
        chunks = rows.split(self.cfg.eval_batch_size)
        E_k = torch.cat([self.share(chunk) for chunk in chunks])
        if self.privacy.budget:  # clip and noise are alike for all, and so are weights
            return Upload(E_k)
        weight = weights_of(self.options.aggregation, accuracies)[self.rank - 1]
        return Upload(E_k, weight, TOTAL)

    def accept(self, accuracies: Tensor) -> None:
        """Take the first accuracies for good, and refuse any others.

        Sums of the same embeddings under two sets of weights would tell single ones.
        """
        self.read_first()
        if len(self.accuracies) and not torch.equal(accuracies, self.accuracies):
            raise ProtocolError("the accuracies that were shared are not those of before")
        if not torch.equal(accuracies[self.rank - 1 : self.rank], self.accuracy):
            raise ProtocolError("the accuracies that were shared do not hold this party's own")
        if not len(self.accuracies):
            self.accuracies = accuracies
            self.write_first()

    def accept_labels(self, noisy: Tensor) -> None:
        """Take the first labels for good, and refuse any others.

        ACC_k is sent as it is, and under labels of all choices it would tell the columns.
        """
        digest = sha256(to_array(noisy).tobytes()).hexdigest()
        self.read_first()
        if self.label_digest and digest != self.label_digest:
            raise ProtocolError("the labels that were sent are not those of before")
        if not self.label_digest:
            self.label_digest = digest
            self.write_first()

    def read_first(self) -> None:
        """Read this run's first labels and accuracies, also another process's.

        Another run of the same name may have written a file before this one had its number.
        """
        if self.folder is None or not (self.folder / ACCEPTED).exists():
            return
        known, number = read_state(self.folder / ACCEPTED), known_run(self.folder)
        if known.get("run", number) == number:  # an earlier version wrote no number
            self.take_first(known["accuracies"], known.get("labels", ""))

    def write_first(self) -> None:
        """Write the first labels and accuracies, with the run's number."""
        if self.folder is not None:
            first = {"accuracies": self.accuracies, "labels": self.label_digest}
            write_state(self.folder / ACCEPTED, {"run": known_run(self.folder), **first})

    def take_first(self, accuracies: Tensor, labels: str) -> None:
        """Take first labels and accuracies, where there are some."""
        self.accuracies = accuracies if len(accuracies) else self.accuracies
        self.label_digest = labels or self.label_digest

    def go_back(self, checkpoint: State) -> None:
        """Return to a checkpoint, but for first labels and accuracies."""
        first = (self.accuracies, self.label_digest)
        super().go_back(checkpoint)
        self.take_first(*first)

    def learn(self, rows: Tensor, labels: Tensor) -> float:
        """Descend the squared error, weighted by row: (B,), (B, C)."""
        logits = self.decide(self.within_bound(self.embed_rows(rows)))
        f = logits.softmax(1) if self.softmax else logits
        target = labels if self.noise is None else self.noise.target(labels, logits)
        taught = self.lessons.taught(logits, labels)
        if isinstance(taught, Weighted):
            errors = F.mse_loss(f, target, reduction="none").sum(1)
            loss = (errors * taught.weight).sum() / (2 * len(rows))
        else:
            loss = F.mse_loss(f, target, reduction="sum") / (2 * len(rows))  # Eq. 4
        self.optimizer.down(loss)
        return loss.item()

    def batches(self, epoch: int, count: int) -> list[Array]:
        """Shuffle the positions of all rows into batches."""
        every = np.arange(count, dtype=np.int32)
        return batches(self.cfg.seed, epoch, every, self.cfg.batch_size)

    @torch.no_grad()
    def agreement(self, rows: Tensor, labels: Tensor) -> Tensor:
        """Return the share of rows whose prediction agrees with argmax Y': (1,)."""
        self.net.eval()
        chunks = rows.split(self.cfg.eval_batch_size)
        said = torch.cat([self.decide(self.share(chunk)).argmax(1) for chunk in chunks])
        return (said == labels.argmax(1)).float().mean().reshape(1)

    def end_epoch(self, what: str, errors: list[float]) -> None:
        """Log this party's progress; refuse losses that are not finite.

        Under noise a refusal would tell of columns, and the upload is then noise alone.
        """
        error = sum(errors) / len(errors)
        if not math.isfinite(error) and not self.privacy.budget:
            raise TrainingError(f"the error of {what} is not finite; lower the learning rate")
        party_log(self.rank).info("%s: squared error %.4f", what, error)
