"""AdptVFedConv, passive party; notation and header in `strategies.adptvfedconv`.

Its network's decision net is the decoder W_g^k, the mirror of its extractor.
"""

import math
from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from flwr.common import Scalar
from torch import Tensor

from vfl_flower.algorithms.augmentation import augmented, maps_of
from vfl_flower.api import Party, PassiveParty, floats, number, phase, rows, weights
from vfl_flower.common.errors import ProtocolError, TrainingError
from vfl_flower.common.names import party_name
from vfl_flower.data.tiling import tile_fact
from vfl_flower.learning.batching import batches
from vfl_flower.learning.networks.base import TopInput
from vfl_flower.learning.networks.cut_network import halves
from vfl_flower.learning.optimizer import ScheduledOptimizer
from vfl_flower.learning.schedule import steps_per_epoch

if TYPE_CHECKING:
    from strategies.specs.adptvfedconv import AdptVFedConvOptions


class AdptVFedConvClient(PassiveParty):
    """Fine-tunes the active party's extractor, and sends feature maps once."""

    options: "AdptVFedConvOptions"
    top_input = TopInput.MIRROR
    remembers = (*PassiveParty.remembers, "rows", "errors", "ended")

    def __init__(self, party: Party) -> None:
        super().__init__(party)
        cfg = self.cfg
        self.extractor, self.decoder = halves(self.net)  # W_e^k, W_g^k
        options = self.options
        slow = options.extractor_rate if options.model_transfer else options.decoder_rate
        rates = {self.extractor: slow, self.decoder: options.decoder_rate}
        steps = options.local_epochs * steps_per_epoch(cfg, len(self.data.rows["train"]))
        self.optimizer = ScheduledOptimizer(rates, cfg.optimizer_of(self.rank), cfg.schedule, steps)
        self.rows: dict[str, Tensor] = {}  # to learn from, and to be judged by
        self.errors: list[float] = []  # of reconstruction, after each epoch
        self.ended = False

    def facts(self) -> dict[str, Scalar]:
        """Return facts that must be equal everywhere, the tiles' shape included."""
        return super().facts() | tile_fact(self.x)

    @property
    def transferred(self) -> list[Tensor]:
        """Weights of the extractor, if the active party sends its own."""
        return list(self.extractor.state_dict().values()) if self.options.model_transfer else []

    @property
    def due_epoch(self) -> int | None:
        """The next epoch of fine-tuning; None after the last."""
        return None if self.ended else len(self.errors)

    @phase(
        takes=(rows("train"), rows("validation"), weights("W_e^0, if sent", "transferred")), most=1
    )
    def adapt(self, train: Tensor, validation: Tensor, *W_e: Tensor) -> None:  # (N,), (V,), ... ->
        """Start from the active party's extractor (line 18), if it is sent."""
        self.rows = {"train": train, "validation": validation}
        if self.options.model_transfer:
            self.take_extractor(W_e)

    @phase(
        takes=number("options.local_epochs", "due_epoch"),
        gives=floats(2, low=0, name="least error, and whether it ended"),
        sends="figure",
        most="options.local_epochs",
    )
    def finetune(self, epoch: Tensor) -> Tensor | None:  # () int64 -> (2,)
        """Train the autoencoder for one epoch, line 20.

        Returns its least error, and whether it ends.
        """
        if not self.rows:
            raise ProtocolError("fine-tuning was asked for before the extractor was sent")
        if not self.ended:
            train, size = self.rows["train"].numpy(), self.cfg.batch_size
            for rows in map(torch.from_numpy, batches(self.cfg.seed, int(epoch), train, size)):
                self.learn(int(epoch), rows)
            self.judge()
        if self.privacy.budget:  # an error tells of columns, and is not worth an upload
            return None
        return torch.tensor([min(self.errors), self.ended])

    @phase(
        takes=(rows("chunk"), number("options.views")),
        gives=floats("B", "M", name="H^k"),
        sends="maps",
        repeatable=True,
    )
    def embed(self, rows: Tensor, view: Tensor) -> Tensor:  # (B,), () -> (B, c' h' w')
        """Return H^k of training rows in one view (line 22)."""
        return self.maps(rows, int(view))

    @phase(
        training=False,
        takes=rows("held-out"),
        gives=floats("B", "M", name="H^k"),
        sends="maps",
        repeatable=True,
    )
    def embed_only(self, rows: Tensor) -> Tensor:  # (B,) -> (B, c' h' w')
        """Return H^k of other rows, as they are."""
        return self.maps(rows, 0)

    def maps(self, rows: Tensor, view: int) -> Tensor:
        """Return feature maps, a row each."""
        return maps_of(self, view, rows).flatten(1)

    def take_extractor(self, weights: tuple[Tensor, ...]) -> None:
        """Take the active party's extractor over (Eq. 2)."""
        own = self.extractor.state_dict()
        self.extractor.load_state_dict(dict(zip(own, weights, strict=True)))

    def reconstruct(self, x: Tensor) -> Tensor:
        """Return W_g^k(W_e^k(x)): (B, c, h, w), either way."""
        with self.running():
            made: Tensor = self.decoder(self.extractor(x))
        return made.float()

    def learn(self, epoch: int, rows: Tensor) -> None:
        """Descend Eq. 3 on one batch."""
        x_k = augmented(self.cfg, epoch, len(self.x), rows, self.columns(rows))
        self.optimizer.down(F.mse_loss(self.reconstruct(x_k), x_k))

    def judge(self) -> None:
        """Keep the best weights on validation tiles; decide on early stopping."""
        error = self.judged()
        if error < min(self.errors, default=math.inf):
            self.keep_weights()
        self.errors.append(error)
        since = len(self.errors) - 1 - self.errors.index(min(self.errors))
        patience = 0 if self.privacy.budget else self.options.local_patience
        self.ended = len(self.errors) == self.options.local_epochs or 0 < patience <= since
        if self.ended:
            self.take_best()
            self.best = {}

    def judged(self) -> float:
        """Return the error on validation tiles; without noise, refuse overflow."""
        error = self.error(self.rows["validation"])
        if math.isfinite(error):
            return error
        if self.privacy.budget:  # a refusal would tell of columns
            return math.inf
        raise TrainingError(
            f"{party_name(self.rank)}: the error of reconstruction is not finite; lower "
            "decoder-rate or extractor-rate"
        )

    @torch.no_grad()
    def error(self, rows: Tensor) -> float:
        """Return the mean squared error of reconstruction of some rows."""
        self.net.eval()
        total = 0.0
        for part in rows.split(self.cfg.batch_size):
            x_k = self.columns(part)
            total += F.mse_loss(self.reconstruct(x_k), x_k, reduction="sum").item()
        self.net.train()
        return total / (len(rows) * x_k[0].numel())
