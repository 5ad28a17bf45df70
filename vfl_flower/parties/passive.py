"""The passive party of a training: columns, network, and phases."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import torch
from flwr.common import Scalar
from torch import Tensor

from vfl_flower.common.codec import Array, to_array
from vfl_flower.common.state import State
from vfl_flower.learning.row_norms import clip_rows, clip_whole
from vfl_flower.parties.party import Party
from vfl_flower.parties.persistence.checkpoint_component import CheckpointComponent
from vfl_flower.parties.residuals import Residuals
from vfl_flower.parties.uploads.drift import DriftCounter
from vfl_flower.parties.uploads.registry import COUNTERS, MECHANISMS
from vfl_flower.privacy.client_dp.budget import Noise
from vfl_flower.privacy.client_dp.component import ClientPrivacy
from vfl_flower.privacy.client_dp.row_level.apart import check_apart, each_row
from vfl_flower.privacy.client_dp.row_level.gradients import RowGradients
from vfl_flower.privacy.label_dp.training_labels import label_format
from vfl_flower.privacy.missing_parties.component import RowPresence
from vfl_flower.protocol.automaton.plan import Plan
from vfl_flower.protocol.automaton.scope import LabelFormat
from vfl_flower.protocol.client import ProtocolClient
from vfl_flower.protocol.components import UPLOADS, Component, Kind, Phase, phases_of, report
from vfl_flower.protocol.uploads import (
    Upload,
    UploadCounter,
    UploadGate,
    UploadMechanism,
    transform,
)


class PassiveParty(Party, ProtocolClient):
    """A party without labels; a method gives it phases.

    Attributes
    ----------
    x, net, optimizer, randomness
        Its belongings; see `Party`.
    privacy : ClientPrivacy
        Counts its uploads, and noises them where the run says so.
    drift : DriftCounter
        Counts scored rows unlike those of training, in a service.
    """

    remembers = (*Party.remembers, "privacy", "automaton")
    sealed: ClassVar[tuple[str, ...]] = ("metrics", "failure", "released")
    privacy: ClientPrivacy
    drift: DriftCounter
    default_loss: ClassVar[str] = "cross-entropy"
    """The method's loss, as the active party's class says it."""

    def __init__(self, party: Party) -> None:
        super().__init__(**vars(party))
        ProtocolClient.__init__(self)
        if self.cfg.row_level:
            check_apart(self.net, self.rank, self.columns(torch.arange(1)))
        self.plan = Plan(self.cfg, self.rank, self.data.rows, len(self.x))
        if self.cfg.predicts:
            self.only_predict()

    def only_predict(self) -> None:
        """Learn nothing from now on, touch no checkpoint, and predict any row."""
        assert self.plan is not None  # noqa: S101  the constructor has made it
        self.plan.any_row = self.privacy.predicts = True
        kept = phases_of(self._components["checkpoints"])
        self.phases = {
            name: method
            for name, method in self.phases.items()
            if not method.phase.training and name not in kept  # type: ignore[attr-defined]
        }

    def sizes(self) -> Mapping[str, int]:
        """Return the lengths that the run sets, by symbol.

        Who keeps a long tail of the training rows does not say how many are left.
        """
        rows, cfg = self.data.rows, self.cfg
        train = {"N": len(rows["train"])} if cfg.long_tail == 1 else {}
        return {
            **super().sizes(),
            **train,
            "V": len(rows["validation"]),
            "D": cfg.embedding_dim,
            "C": self.data.classes,
        }

    @cached_property
    def residuals(self) -> Residuals:
        """Bounds and targets of the run's residuals."""
        data, rows = self.data, len(self.data.rows["train"])
        return Residuals(self.cfg, data.classes, self.default_loss, rows, several=data.several)

    def label_format(self) -> LabelFormat:
        """Return the wire format of training labels."""
        return label_format(self.cfg, self.data.classes)

    @cached_property
    def row_gradients(self) -> RowGradients:
        """Noised gradients of its network, where noise protects single rows."""
        assert self.privacy.budget is not None  # noqa: S101  or nothing is noised
        return RowGradients(self.net, self.privacy.budget.of_gradients)

    def composition(self) -> Sequence[type[Component]]:
        """Return the method's components, the upload mechanisms and the keeping of checkpoints."""
        mechanisms = [each for each in MECHANISMS if each.wanted(self.cfg)]
        presence = [RowPresence] if RowPresence.wanted(self.cfg) else []
        return (*self.components, *presence, *mechanisms, *COUNTERS, CheckpointComponent)

    @cached_property
    def gates(self) -> list[UploadGate]:
        """Its upload mechanisms in the order of application, then counters."""
        return [each for each in self._components.values() if isinstance(each, UploadGate)]

    def bounded(self, values: Tensor) -> Tensor:
        """Clip an upload as its way out does: (B, D), either way.

        Each row to the run's `embedding-bound`; in training, all of it, or each row, to `dp-clip`
        where it is noised. A method whose parties learn from what comes back calls it in its
        forward pass, so that gradients know.
        """
        cfg, rows = self.cfg, self.within_bound(values)
        if cfg.row_level:
            return clip_rows(rows, cfg.dp_clip) if self.net.training else rows
        clipped = cfg.noised and torch.is_grad_enabled()  # what is evaluated may be sent as it is
        return clip_whole(rows, cfg.dp_clip) if clipped else rows

    def within_bound(self, values: Tensor) -> Tensor:
        """Clip each row to the run's `embedding-bound`: (B, D), either way."""
        bound = self.cfg.row_bound
        return values if bound is None else clip_rows(values, bound)

    def embedding(self, columns: Tensor) -> Tensor:
        """Run the bottom model, row by row where noise protects rows."""
        alone = super().embedding
        return each_row(alone, columns) if self.cfg.row_level else alone(columns)

    def decide(self, embedding: Tensor) -> Tensor:
        """Run the top model, row by row where noise protects rows."""
        alone = super().decide
        return each_row(alone, embedding) if self.cfg.row_level else alone(embedding)

    def share(self, rows: Tensor) -> Tensor:
        """Embed rows, clipped as they are sent: (B,) -> (B, D)."""
        return self.bounded(self.embed_rows(rows))

    @property
    def presence(self) -> RowPresence | None:
        """Which rows the party has; None where all parties have all."""
        found = self._components.get(RowPresence.name)
        return found if isinstance(found, RowPresence) else None

    def taken(self, declared: Phase, arrays: Sequence[Array]) -> Sequence[Array]:
        """Leave out rows that the party lacks; see `RowPresence`."""
        return self.presence.taken(declared, arrays) if self.presence else arrays

    def answered(self, declared: Phase, result: Any) -> Any:  # noqa: ANN401
        """Put zeros where the party lacks a row."""
        return self.presence.answered(declared, result) if self.presence else result

    @property
    def contributors(self) -> int | Tensor:
        """Number of contributing passive parties by row of the step, (B, 1)."""
        return self.presence.contributors() if self.presence else self.parties - 1

    def step_rows(self, own: Tensor) -> Tensor:
        """Return all rows of the step, (B,), given the own ones."""
        return self.presence.step_rows() if self.presence else own

    def of_own_rows(self, values: Tensor) -> Tensor:
        """Return values of a step's rows for those that the party has."""
        return self.presence.of_own_rows(values) if self.presence else values

    def readable(self, phase: str, arrays: Sequence[Array], rows: int) -> Sequence[Array]:
        """Return a request's arrays as its phase reads them.

        A method that is sent compressed arrays decompresses them.

        Parameters
        ----------
        phase : str
            The request's.
        arrays : sequence of ndarray
            As they came, without row numbers.
        rows : int
            B, of the step.
        """
        return arrays

    def check_in(self) -> None:
        """Refuse a run for which a budget or limit is too small."""
        for gate in self.gates:
            gate.check_in()

    def metrics(self) -> Mapping[str, Scalar]:
        """Return how many uploads were counted, if they are noised."""
        return self.privacy.counts()

    @contextmanager
    def mode(self, declared: Phase) -> Iterator[None]:
        """Set the network to training or evaluation; without training, keep no gradients.

        Budgets and limits are asked before the phase looks at columns.
        """
        for gate in self.gates:
            gate.admit(declared)
        self.set_mode(declared.training)
        with torch.set_grad_enabled(declared.training):
            yield

    def failure(self, error: Exception) -> dict[str, Scalar]:
        """Describe an error; see `ClientPrivacy.failure`."""
        return report(self.privacy.failure(error), self.rank)

    def released(self, kind: Kind, value: Any, declared: Phase) -> Sequence[Array]:  # noqa: ANN401
        """Apply all mechanisms to an upload, and count it.

        Figures and control traffic are not changed.
        """
        if kind in UPLOADS:
            upload = value if isinstance(value, Upload) else Upload(value)
            mechanisms = [each for each in self.gates if isinstance(each, UploadMechanism)]
            arrays = transform(upload, mechanisms, declared)
            for counter in self.gates:
                if isinstance(counter, UploadCounter):
                    counter.count(upload, declared)
            return arrays
        if kind == "figure" and not declared.derived:
            for gate in self.gates:
                gate.pass_figure()
        return [to_array(value)]

    def checkpointed(self) -> State:
        """Return a checkpoint's content; uploads are counted on disk from now."""
        self.privacy.begin()
        parts = self._components.items()
        return self.durable() | {name: part.state_dict() for name, part in parts if part.kept}

    def go_back(self, checkpoint: State) -> None:
        """Return to the state of a checkpoint."""
        self.recall(checkpoint)
        self.automaton.stand()
        self.renew_components()

    def uploads_counted(self) -> Mapping[str, int]:
        """Return how many uploads its own file counts."""
        return self.privacy.counts()

    def expect_uploads(self, counts: Mapping[str, int]) -> None:
        """Refuse to go on with a file that counts fewer."""
        self.privacy.expect(counts)

    def count_on(self, folder: Path, counts: Mapping[str, int]) -> None:
        """Count uploads on top of those of a model folder."""
        self.privacy.carry_over(folder, counts)

    def upload_noise(self) -> Noise | None:
        """Return the noise of its uploads, and their cost so far."""
        return self.privacy.noise()
