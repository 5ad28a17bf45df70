"""The passive party of a training: columns, network, and phases."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

import torch
from flwr.common import Scalar

from vfl_flower.common.codec import Array, to_array
from vfl_flower.common.state import State
from vfl_flower.parties.party import Party
from vfl_flower.parties.persistence.checkpoint_component import CheckpointComponent
from vfl_flower.parties.uploads.registry import MECHANISMS
from vfl_flower.privacy.client_dp.budget import Noise
from vfl_flower.privacy.client_dp.component import ClientPrivacy
from vfl_flower.protocol.client import ProtocolClient
from vfl_flower.protocol.components import UPLOADS, Component, Kind, Phase, phases_of
from vfl_flower.protocol.uploads import Upload, UploadMechanism, transform


class PassiveParty(Party, ProtocolClient):
    """A party without labels; a method gives it phases.

    Attributes
    ----------
    x, net, optimizer, randomness
        Its belongings; see `Party`.
    privacy : ClientPrivacy
        Counts its uploads, and noises them where the run says so.
    """

    remembers = (*Party.remembers, "privacy")
    sealed: ClassVar[tuple[str, ...]] = ("metrics", "released")
    privacy: ClientPrivacy

    def __init__(self, party: Party) -> None:
        super().__init__(**vars(party))
        ProtocolClient.__init__(self)
        if self.cfg.task == "predict":  # nothing is learnt, and no checkpoint touched
            kept = phases_of(self._components["checkpoints"])
            self.phases = {
                name: method
                for name, method in self.phases.items()
                if not method.phase.training and name not in kept  # type: ignore[attr-defined]
            }

    def composition(self) -> Sequence[type[Component]]:
        """Return the method's components, the upload mechanisms and the keeping of checkpoints."""
        mechanisms = [each for each in MECHANISMS if each.wanted(self.cfg)]
        return (*self.components, *mechanisms, CheckpointComponent)

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

    def released(self, kind: Kind, value: Any, declared: Phase) -> Sequence[Array]:  # noqa: ANN401
        """Apply all mechanisms to an upload.

        Figures and control traffic are not changed.
        """
        mechanisms = [
            each for each in self._components.values() if isinstance(each, UploadMechanism)
        ]
        if kind in UPLOADS:
            upload = value if isinstance(value, Upload) else Upload(value)
            return transform(upload, mechanisms, declared)
        if kind == "figure":
            for mechanism in mechanisms:
                mechanism.pass_figure()
        return [to_array(value)]

    def checkpointed(self) -> State:
        """Return a checkpoint's content; uploads are counted on disk from now."""
        self.privacy.begin()
        return self.durable()

    def go_back(self, checkpoint: State) -> None:
        """Return to the state of a checkpoint."""
        self.recall(checkpoint)
        self.renew_components()

    def upload_noise(self) -> Noise | None:
        """Return the noise of its uploads, and their cost so far."""
        return self.privacy.noise()
