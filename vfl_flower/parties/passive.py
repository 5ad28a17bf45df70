"""The passive party of a training: columns and a network, and the phases of a method."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import ClassVar

import torch
from flwr.common import Scalar

from vfl_flower.common.state import State
from vfl_flower.parties.party import Party
from vfl_flower.parties.persistence.checkpoint_component import CheckpointComponent
from vfl_flower.privacy.client_dp.budget import Noise
from vfl_flower.privacy.client_dp.component import ClientPrivacy
from vfl_flower.protocol.client import ProtocolClient
from vfl_flower.protocol.components import Component, Phase, phases_of


class PassiveParty(Party, ProtocolClient):
    """A party without labels; a method gives it phases.

    Attributes
    ----------
    x, net, optimizer, randomness
        Its belongings; see `Party`.
    privacy : ClientPrivacy
        What all that depends on columns goes through before it is sent.
    """

    remembers = (*Party.remembers, "privacy")
    mirrors: ClassVar[bool] = False
    """Whether its decision net is the mirror of its extractor, which makes images of maps."""

    privacy: ClientPrivacy

    def __init__(self, member: Party) -> None:
        super().__init__(**vars(member))
        ProtocolClient.__init__(self)
        if self.cfg.task == "predict":  # nothing is learnt, and no checkpoint touched
            kept = phases_of(self._components["checkpoints"])
            self.phases = {
                name: method
                for name, method in self.phases.items()
                if not method.phase.training and name not in kept  # type: ignore[attr-defined]
            }

    @classmethod
    def all_components(cls) -> tuple[type[Component], ...]:
        """Return the method's components, and those that every trained party has."""
        return (*cls.components, ClientPrivacy, CheckpointComponent)

    @property
    def takes(self) -> str:
        """What its decision net takes: an embedding, or a map to make an image of."""
        return "mirror" if self.mirrors else "embedding"

    def check_in(self) -> None:
        """Refuse a prediction that the privacy budget does not last for."""
        if self.cfg.task == "predict":
            self.privacy.afford()

    def metrics(self) -> Mapping[str, Scalar]:
        """Return how many uploads were counted, if they are noised."""
        return self.privacy.counts()

    @contextmanager
    def mode(self, declared: Phase) -> Iterator[None]:
        """Set the network to training or evaluation; without training, keep no gradients."""
        if self.net.training != declared.training:
            self.net.train(declared.training)
        with torch.set_grad_enabled(declared.training):
            yield

    def check_reply(self, name: str, *, sends: bool) -> None:
        """Refuse what did not go through `privacy`; components' phases say nothing of columns."""
        if hasattr(self, name):
            self.privacy.check(sends)

    def checkpointed(self) -> State:
        """Return the content of a checkpoint; from now on uploads are counted on disk."""
        self.privacy.begin()
        return self.durable()

    def go_back(self, checkpoint: State) -> None:
        """Return to the state of a checkpoint."""
        self.recall(checkpoint)
        self.renew_components()

    def upload_noise(self) -> Noise | None:
        """Return the noise of its uploads, and their cost so far."""
        return self.privacy.noise()
