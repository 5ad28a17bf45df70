"""Common base of active and passive parties: columns, network, optimizer."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from math import prod
from pathlib import Path
from typing import ClassVar

import torch
from flwr.common import Scalar
from torch import Tensor, nn

from vfl_flower.common.codec import Array
from vfl_flower.common.state import State, restore, state_of
from vfl_flower.common.versions import code_facts
from vfl_flower.config.method_spec import MethodOptions
from vfl_flower.config.policy.record import OPEN, Policy
from vfl_flower.config.run_config import RunConfig
from vfl_flower.crypto.identity import Identity
from vfl_flower.data.byte_rows import Held
from vfl_flower.data.party_data import PartyData
from vfl_flower.learning.device import computing, laid_out, use_threads
from vfl_flower.learning.networks.base import TopInput
from vfl_flower.learning.optimizer import ScheduledOptimizer
from vfl_flower.learning.randomness import Randomness
from vfl_flower.parties.input_drift import InputRanges
from vfl_flower.privacy.client_dp.budget import Noise
from vfl_flower.protocol.profiling import SILENT, Lane
from vfl_flower.protocol.roster import NO_MODEL

_PART, _LARGEST_PART, _PART_VALUES = 128, 1024, 2**17
"""Rows that are embedded at a time in evaluation: so many at least and most, and so many numbers.

More gain nothing, and a network can make much of a small row.
"""
_FORMER_NAMES = {"descent": "optimizer"}
"""Attributes that checkpoints of earlier versions hold under other names."""


@dataclass
class Party:
    """One party: columns, network, optimizer, generator and folder.

    Attributes
    ----------
    cfg : RunConfig
        The run's configuration.
    data : PartyData
        Its data, with the columns on the device where it computes.
    net : nn.Module
        Has `embed`, (B, ...) -> (B, D), and `decide`, (B, D) -> (B, C).
    optimizer : ScheduledOptimizer
        Its optimizer, with a learning-rate schedule.
    randomness : Randomness
        Its generator.
    folder : Path or None
        Where it writes weights and checkpoints; None writes nothing.
    identity : Identity or None
        A passive party's long-term key and those that it pins, if it has some.
    policy : Policy
        Of a passive party's owner: which runs it takes part in.
    nonce : str
        What tells its run from all others: random hex digits, the same in every attempt; of a
        passive party only where its model has been loaded.
    began_with : str
        Number of the run whose model a frozen party has; empty for another party.
    ranges : InputRanges or None
        Of its model's training rows; only where the model has been loaded.
    best : dict of str to Tensor
        The network's weights at the best evaluation so far; empty where nobody asks for them.
    profile : Lane
        Where its time is noted.
    """

    cfg: RunConfig
    data: PartyData
    net: nn.Module
    optimizer: ScheduledOptimizer
    randomness: Randomness
    folder: Path | None
    identity: Identity | None = None
    policy: Policy = OPEN
    nonce: str = ""
    began_with: str = ""
    ranges: InputRanges | None = None
    best: dict[str, Tensor] = field(default_factory=dict)
    profile: Lane = SILENT

    remembers: ClassVar[tuple[str, ...]] = ("net", "optimizer", "randomness", "best")
    predicts_with: ClassVar[tuple[str, ...]] = ()
    """Tensors that it predicts with beside its network, by their attributes' names."""

    earlier_lack: ClassVar[tuple[str, ...]] = ()
    """Those of `predicts_with` that model folders of earlier versions do not hold."""

    top_input: ClassVar[TopInput] = TopInput.EMBEDDING
    """Input of its decision net."""

    @classmethod
    def own_network(cls, cfg: RunConfig, data: PartyData) -> nn.Module | None:
        """Build the method's own network, if it has one."""
        return None

    @property
    def rank(self) -> int:
        """0 for the active party, k for the k-th passive one."""
        return self.data.rank

    @property
    def frozen(self) -> bool:
        """Whether its network stays as the model has it that others join."""
        return self.cfg.frozen(self.rank)

    def set_mode(self, training: bool) -> None:
        """Set its network to training or evaluation mode.

        A frozen one stays in evaluation mode: dropout would be noise, and BatchNorm would learn.
        """
        training = training and not self.frozen
        if self.net.training != training:
            self.net.train(training)

    @property
    def x(self) -> Held:
        """Its columns, (N, ...)."""
        return self.data.x

    @property
    def parties(self) -> int:
        """How many parties there are, the active one included."""
        return self.cfg.parties

    @property
    def options(self) -> MethodOptions:
        """The method's own options, declared with their type by its class."""
        return self.cfg.options

    def durable(self) -> State:
        """Return a checkpoint's content: all that `remembers` names, no keys."""
        return {name: state_of(getattr(self, name)) for name in self.remembers}

    def checkpointed(self) -> State:
        """Return the content of a checkpoint, ready to be written."""
        return self.durable()

    def go_back(self, checkpoint: State) -> None:
        """Return to the state of a checkpoint."""
        self.recall(checkpoint)

    def further_files(self) -> Mapping[str, bytes]:
        """Return the method's own files of its model folder, by name."""
        return {}

    def upload_noise(self) -> Noise | None:
        """Return the noise of uploads and its cost; None without client-level privacy."""
        return None

    def uploads_counted(self) -> Mapping[str, int]:
        """Return how many noised uploads were counted, by purpose."""
        return {}

    def expect_uploads(self, counts: Mapping[str, int]) -> None:
        """Refuse a count of uploads below that of the model folder."""

    def count_on(self, folder: Path, counts: Mapping[str, int]) -> None:
        """Count uploads on top of those of a model folder."""

    def recall(self, state: State) -> None:
        """Take a state back, attribute by attribute."""
        restore(self, {_FORMER_NAMES.get(name, name): value for name, value in state.items()})

    def keep_weights(self) -> None:
        """Keep the present weights as the best so far."""
        self.best = {name: each.clone() for name, each in self.net.state_dict().items()}

    def take_best(self) -> None:
        """Take back the weights that were kept last, if there are some."""
        if self.best:
            self.net.load_state_dict(self.best)

    def facts(self) -> dict[str, Scalar]:
        """Return facts that must be equal everywhere, and the code's folder."""
        return {
            "rows": len(self.x),
            **({"alignment": self.data.alignment} if self.data.alignment else {}),
            **({"split": self.data.split.digest} if self.data.split else {}),
            **({"model": self.model_digest()} if self.cfg.predicts or self.cfg.joins else {}),
            "embedding_dim": self.cfg.embedding_dim,
            **code_facts(),
        }

    def model_digest(self) -> str:
        """Digest the number of its model's run, which lets others write."""
        if self.cfg.joins and not self.frozen:
            return NO_MODEL
        number = self.began_with if self.cfg.joins else self.nonce
        return sha256(f"model of run {number}".encode()).hexdigest()[:16]

    def embed_rows(self, rows: Tensor | Array) -> Tensor:
        """Run the bottom model on some rows: (B,) -> (B, D).

        In evaluation a processor takes part after part, whose activations stay small; rows do not
        depend on each other there.
        """
        if self.net.training or torch.is_grad_enabled() or self.x.device.type != "cpu":
            return self.embedding(self.columns(rows))
        size = _PART_VALUES // max(prod(self.x.shape[1:]), 1)
        parts = torch.as_tensor(rows).split(min(max(size, _PART), _LARGEST_PART))
        return torch.cat([self.embedding(self.columns(part)) for part in parts])

    def columns(self, rows: Tensor | Array) -> Tensor:
        """Return its columns of some rows: (B,) -> (B, ...)."""
        return self.x.index_select(0, torch.as_tensor(rows).to(self.x.device))

    @contextmanager
    def running(self) -> Iterator[None]:
        """Enclose a forward pass, for its own randomness and the run's precision."""
        with (
            self.profile.doing("forward"),
            self.randomness.running(self.net),
            computing(self.cfg.precision, self.x.device),
        ):
            yield

    def embedding(self, columns: Tensor) -> Tensor:
        """Run the bottom model: (B, ...) -> (B, D)."""
        with self.running():
            x = laid_out(columns, self.cfg.precision)
            made: Tensor = self.net.embed(x)  # type: ignore[operator]
        return made.float().cpu()

    def decide(self, embedding: Tensor) -> Tensor:
        """Run the top model: (B, D) -> (B, C)."""
        with self.running():
            x = laid_out(embedding.to(self.x.device), self.cfg.precision)
            logits: Tensor = self.net.decide(x)  # type: ignore[operator]
        return logits.float().cpu()

    def use_threads(self) -> None:
        """Set the calling thread's torch threads to the run's."""
        use_threads(self.cfg.threads)
