"""PraVFed, passive party; notation and header in `strategies.pravfed`."""

import math
from typing import TYPE_CHECKING

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from strategies.specs.pravfed import PraVFedOptions
from vfl_flower.algorithms.integer_weights import TOTAL, weights_of
from vfl_flower.api import Party, PassiveParty, Upload, noise_of, phase, received
from vfl_flower.common.codec import Array
from vfl_flower.common.errors import ProtocolError, TrainingError
from vfl_flower.common.names import party_log
from vfl_flower.learning.batching import batches
from vfl_flower.learning.losses import onehot
from vfl_flower.learning.schedule import steps_per_epoch

if TYPE_CHECKING:
    from vfl_flower.privacy.label_dp.mechanisms import LabelNoise


class PraVFedClient(PassiveParty):
    """Learns by itself from noisy labels, and then embeds its columns."""

    options: PraVFedOptions
    remembers = (*PassiveParty.remembers, "accuracy")
    predicts_with = ("accuracy",)

    def __init__(self, party: Party) -> None:
        super().__init__(party)
        self.classes = self.data.classes
        self.noise: LabelNoise | None = noise_of(self.cfg, self.classes)
        adaptive = self.noise is not None and self.noise.adaptive  # whose prior is the softmax
        self.softmax = adaptive or self.options.local_output == "softmax"
        self.accuracy = torch.zeros(1)  # ACC_k

    @phase(sends="figure")
    def pretrain(self, rows: Tensor, noisy: Tensor) -> Tensor:  # (N,), (N,) or (N, C) -> (1,)
        """Train on Y' (Algorithm 1); return ACC_k."""
        cfg, options = self.cfg, self.options
        labels = onehot(received(noisy, self.noise), self.classes, torch.float32)
        self.optimizer.steps = options.local_epochs * steps_per_epoch(cfg, len(rows))
        for epoch in range(options.local_epochs):
            errors = [
                self.learn(rows[batch], labels[batch])
                for batch in map(torch.from_numpy, self.batches(epoch, len(rows)))
            ]
            self.end_epoch(f"local epoch {epoch + 1} of {options.local_epochs}", errors)
        self.accuracy = self.agreement(rows, labels)
        return self.accuracy

    @phase(training=False, after="pretrain", sends="embedding")
    def embed(self, rows: Tensor, accuracies: Tensor) -> Upload:  # (N,), (K,) -> (N, D), masked
        """Return [W_k E_k] of the training rows."""
        return self.weighted(rows, accuracies)

    @phase(training=False, sends="embedding")
    def embed_only(self, rows: Tensor, accuracies: Tensor) -> Upload:  # (B,), (K,) -> (B, D)
        """Return [W_k E_k] of other rows."""
        return self.weighted(rows, accuracies)

    def weighted(self, rows: Tensor, accuracies: Tensor) -> Upload:
        """Weight E_k by W_k, which follows from the ACC_k."""
        if not torch.equal(accuracies[self.rank - 1 : self.rank], self.accuracy):
            raise ProtocolError("the accuracies that were shared do not hold this party's own")
        weight = weights_of(self.options.aggregation, accuracies)[self.rank - 1]
        chunks = rows.split(self.cfg.eval_batch_size)
        E_k = torch.cat([self.embed_rows(chunk) for chunk in chunks])
        return Upload(E_k, weight, TOTAL)

    def learn(self, rows: Tensor, labels: Tensor) -> float:
        """Descend the squared error on one batch: (B,), (B, C)."""
        logits = self.decide(self.embed_rows(rows))
        f = logits.softmax(1) if self.softmax else logits
        target = labels if self.noise is None else self.noise.target(labels, logits)
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
        said = torch.cat([self.decide(self.embed_rows(chunk)).argmax(1) for chunk in chunks])
        return (said == labels.argmax(1)).float().mean().reshape(1)

    def end_epoch(self, what: str, errors: list[float]) -> None:
        """Log this party's progress; refuse losses that are not finite."""
        error = sum(errors) / len(errors)
        if not math.isfinite(error):
            raise TrainingError(f"the error of {what} is not finite; lower the learning rate")
        party_log(self.rank).info("%s: squared error %.4f", what, error)
