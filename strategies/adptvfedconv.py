"""AdptVFedConv, active party.

Li et al. 2022, "Adaptive Vertical Federated Learning via Feature Map Transferring in Mobile Edge
Computing", Algorithm 1.

Every party k = 0..K (0 is active) holds one tile of each image. A network is cut in two: the
extractor W_e in front of the cut, of which every party gets its own, and a classifier behind it.
For N rows, tiles of c x h x w pixels, and maps of c' x h' x w' numbers:

    1. pre-training     W_e^0 and W_clst descend loss(W_clst(W_e^0(x_0)), y)            Eq. 1
    2. fine-tuning      W_e^k starts from W_e^0 and descends, with a decoder W_g^k,
                        mse(W_g^k(W_e^k(x_k)), x_k)                                      Eq. 2, 3
       upload           H^k = W_e^k(x_k)             (N, c', h', w')  once in every view
    3. training         H = the H^k side by side, by position                            Eq. 4
                        W_s descends loss(W_s(H), y)                                     Eq. 5

Learns
    Active: *every feature map H^k, in the clear*; nothing blinds them, for W_s needs each. With
    W_e^0, from which the others' extractors differ little, and tiles of its own, it can train a
    decoder that makes *pictures of the other parties' tiles* of them; the earlier the cut, the
    better they are (``python -m vfl_flower audit reconstruct``). It learns how well each party's
    decoder does, too. Under client-level privacy each upload is clipped and noised at party k, and
    no error of reconstruction is sent.
    Passive k: W_e^0, which was trained on the labels, and which rows there are. Nothing of a single
    row's label is sent. *Without label privacy W_e^0 tells of the labels what a trained network
    tells of its training rows*, and of the active party's tiles.
Assumes
    Semi-honest (honest-but-curious) parties; that passive parties may show the active one their
    feature maps, and the active one its extractor; tiles that are all alike, of which none is
    missing.
Deviates
    The decoder's last block is linear: one that ends in ReLU could not make standardised pixels.
    The decoders' convolutions are transposed ones, padded by zeros. Fine-tuning ends early by the
    error on validation rows, and the weights of its least error count. Under client-level privacy
    it takes all its epochs, whatever the error is: when it ends would tell of the tiles. Without
    model transfer extractors learn at the decoder's rate: at 1e-5 they would stay as they were
    drawn.
    Poolings that would leave nothing of a tile, VGG-16's last of 16 x 16 pixels, are left out of
    W_clst. With several views, each epoch trains on one of each row's, drawn by the seed; the paper
    does not say how it augments maps that are sent once. Crops stay within a tile: each tile of an
    image is shifted alike, and what leaves it is lost, where a crop of the whole image would bring
    in a neighbour's pixels; those belong to another party. Learning rates follow `schedule`; the
    paper has "simulated annealing", which is read as cosine annealing.
Costs
    Per passive party W_e^0 and 4N bytes down once, and 4N c' h' w' bytes up in every view (half of
    it with ``float16``, a quarter with ``quantize:8``), in messages of `eval-batch-size` rows, with
    4 bytes a row down. Validation and test rows are sent once, in one view. An epoch of
    fine-tuning is an exchange of 8 bytes, by which a run shows progress and can be resumed.
    The active party's maps take 4N c' H' W' bytes of disk a view, and those of held-out rows once,
    (half if sent as less than float32) until its classifier has learnt.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from flwr.common import Scalar
from torch import Tensor

from vfl_flower.algorithms.augmentation import augmented, chosen, maps_of, view
from vfl_flower.algorithms.feature_map_store import Maps
from vfl_flower.api import (
    ActiveParty,
    Party,
    Protocol,
    Purpose,
    Replies,
    ask,
    check_finite,
    checkpoint,
    interrupted,
    stage,
    tell,
    train,
)
from vfl_flower.common.codec import Array
from vfl_flower.common.names import party_name
from vfl_flower.data.tiling import Tiling, tile_fact
from vfl_flower.learning.batching import batches
from vfl_flower.learning.compression import compression_of
from vfl_flower.learning.losses import Labels
from vfl_flower.learning.networks.base import TopInput
from vfl_flower.learning.networks.cut_network import cut_network, halves
from vfl_flower.learning.optimizer import ScheduledOptimizer
from vfl_flower.learning.schedule import steps_per_epoch

from .specs.adptvfedconv import AdptVFedConvOptions

JOINED = 512
"""Rows whose maps are put together at a time: a message's would be large once more."""


class Upload(NamedTuple):
    """Some rows, of which maps are sent in one message."""

    view: int
    rows: Array
    purpose: Purpose


class AdptVFedConv(ActiveParty):
    """AdptVFedConv's active party: a classifier of feature maps sent once."""

    options: AdptVFedConvOptions
    top_input = TopInput.TILED
    remembers = (*ActiveParty.remembers, "W_clst", "pretraining", "maps")

    def __init__(self, party: Party, y: Tensor, rows: dict[str, Array]) -> None:
        super().__init__(party, y, rows)
        cfg = self.cfg
        with self.randomness.building():
            base = cut_network(cfg, self.data)
        self.W_e, _ = halves(self.net)
        self.W_clst = base.decide.to(self.x.device)
        self.randomness.attach(self.W_clst)
        rates = {self.W_e: cfg.rate_of(0), self.W_clst: cfg.rate_of(0)}
        steps = self.options.pretrain_epochs * steps_per_epoch(cfg, len(rows["train"]))
        self.pretraining = ScheduledOptimizer(rates, cfg.optimizer_of(0), cfg.schedule, steps)
        self.tiling = Tiling.of(cfg, self.data.whole)
        self.map_shape = maps_of(self, 0, torch.tensor([0])).shape[1:]
        self.compression = compression_of(self.options.upload_compression, self.map_shape.numel())
        dtype = "float32" if self.options.upload_compression == "none" else "float16"
        held_out = np.concatenate([rows["validation"], rows["test"]])
        views = [
            np.concatenate([held_out, rows["train"]]),
            *[rows["train"]] * (self.options.views - 1),
        ]
        self.whole, self.dtype = self.tiling.whole(self.map_shape), dtype
        self.maps = self.room(views, self.folder)

    def room(self, views: Sequence[Array], folder: Path | None = None) -> Maps:
        """Make a store for the maps of each view.

        It is in memory if the party has no folder.
        """
        return Maps(folder, views, len(self.x), self.whole, self.dtype)

    def sizes(self) -> Mapping[str, int]:
        """Return lengths by symbol, with M, the numbers of a feature map."""
        return {**super().sizes(), "M": self.map_shape.numel()}

    def facts(self) -> dict[str, Scalar]:
        """Return facts that must be equal everywhere, the tiles' shape included."""
        return super().facts() | tile_fact(self.x)

    def protocol(self) -> Protocol:
        """Algorithm 1."""
        options, uploads = self.options, list(self.uploads())
        yield from stage(self, "pre-training", options.pretrain_epochs, self.pretrain)
        yield from stage(self, "fine-tuning", options.local_epochs, self.finetune)
        yield from stage(self, "upload", len(uploads), lambda n: self.upload(uploads[n], self.maps))
        yield from train(self)
        self.maps.forget()
        yield from checkpoint(self)  # a run that goes on from here does not miss them
        self.maps.delete()

    # 1. Pre-training (lines 1 to 5) --------------------------------------------------------------

    def pretrain(self, epoch: int) -> Protocol:
        """Train W_e^0 and W_clst for one epoch, without an exchange."""
        yield from ()
        losses = []
        for rows in batches(self.cfg.seed, epoch, self.rows["train"], self.cfg.batch_size):
            losses.append(self.compute(partial(self.descend, epoch, rows)))
            if self.stop:
                raise interrupted(self, f"a part of epoch {epoch + 1} of pre-training")
        check_finite([loss := sum(losses) / len(losses)], epoch + 1, "epoch of pre-training")
        return {"loss": loss}, False

    def descend(self, epoch: int, batch: Array) -> float:
        """Descend Eq. 1 on one batch."""
        rows = torch.from_numpy(batch)
        x_0 = augmented(self.cfg, epoch, len(self.x), rows, self.columns(rows))
        L = self.loss(self.classify(self.embedding(x_0)), self.training_labels.of(rows))
        self.pretraining.down(L)
        return L.item()

    def classify(self, H_0: Tensor) -> Tensor:
        """Run W_clst: (B, c', h', w') -> (B, C)."""
        with self.running():
            logits: Tensor = self.W_clst(H_0.to(self.x.device))
        return logits.float().cpu()

    # 2. Model transfer, fine-tuning, upload (lines 6 to 9) ---------------------------------------

    def finetune(self, epoch: int) -> Protocol:
        """Let the passive parties train their autoencoders for one epoch."""
        if epoch == 0:
            rows = self.rows["train"], self.rows["validation"]
            W_e = self.W_e.state_dict().values() if self.options.model_transfer else ()
            yield tell("adapt", *rows, *(each.cpu() for each in W_e))
        replies = yield ask("finetune", np.array(epoch))
        if self.budget:  # an error that is no upload of maps is not sent
            return {}, False
        answers = torch.stack(replies.tensors)  # (K, 2): the error, and whether the party has ended
        figures = {party_name(k): error for k, error in enumerate(answers[:, 0].tolist(), 1)}
        return figures, bool(answers[:, 1].all())

    def uploads(self) -> Iterator[Upload]:
        """Yield uploads: held-out rows unaugmented, training rows in every view."""
        for part in ("validation", "test"):
            yield from self.in_chunks(0, self.rows[part], "evaluation")
        for number in range(self.options.views):
            yield from self.in_chunks(number, self.rows["train"], "training")

    def in_chunks(self, number: int, rows: Array, purpose: Purpose) -> Iterator[Upload]:
        """Yield the messages that some rows take in one view."""
        for start in range(0, len(rows), self.cfg.eval_batch_size):
            yield Upload(number, rows[start : start + self.cfg.eval_batch_size], purpose)

    def upload(self, due: Upload, maps: Maps) -> Protocol:
        """Get and keep the maps of some rows."""
        rows = torch.from_numpy(due.rows)
        own = partial(maps_of, self, due.view, rows)
        if due.purpose == "training":
            replies = yield ask("embed", due.rows, np.array(due.view), own=own)
        else:
            replies = yield ask("embed_only", due.rows, own=own, purpose="evaluation")
        mirrored = view(self.cfg, due.view, len(self.x), self.x.shape[2:]).flips[rows]
        received = self.received(replies, due.rows)
        for part in range(0, len(rows), JOINED):
            these = slice(part, part + JOINED)
            H = self.tiling.join([H_k[these] for H_k in received], mirrored[these])  # Eq. 4
            maps.put(due.view, rows[these], H)
        return {}, False

    def received(self, replies: Replies, rows: Array) -> list[Tensor]:
        """Return H^k of all parties, the own first."""
        maps = [self.compression.restore(arrays, len(rows)) for arrays in replies.arrays]
        return [replies.own, *(each.unflatten(1, self.map_shape) for each in maps)]

    # 3. Training (lines 11 to 14) ----------------------------------------------------------------

    def labels_of(self, rows: Array) -> Labels:
        """Return true labels: training needs no exchange."""
        return self.truth(rows)

    def step(self, rows: Array, y: Labels) -> Protocol:
        """Train W_s on one batch, without an exchange."""
        yield from ()
        return [self.compute(lambda: self.learn(torch.from_numpy(rows), y))]

    def learn(self, rows: Tensor, y: Labels) -> float:
        """Descend Eq. 5 on one batch."""
        views = chosen(self.cfg, self.epoch, len(self.x))
        L = self.loss(self.decide(self.maps.take(views[rows], rows)), y)
        self.optimizer.down(L)
        return L.item()

    def infer(self, rows: Array) -> Protocol:
        """Return logits; request missing maps without storing them."""
        maps = self.maps
        if len(maps.lacking(rows)):
            maps = self.room([rows])
            for due in self.in_chunks(0, rows, "evaluation"):
                yield from self.upload(due, maps)
        index = torch.from_numpy(rows)
        return [self.compute(lambda: self.predict(maps, index), training=False)]

    def predict(self, maps: Maps, rows: Tensor) -> Tensor:  # (B,) -> (B, C)
        """Return W_s(H)."""
        return self.decide(maps.take(torch.zeros_like(rows), rows))

    def figures(self) -> dict[str, float]:
        """Return each party's reconstruction error on its validation tiles."""
        last = [each for each in self.progress.stages if each.name == "fine-tuning"][-1]
        return {f"reconstruction_error_of_{name}": error for name, error in last.figures.items()}
