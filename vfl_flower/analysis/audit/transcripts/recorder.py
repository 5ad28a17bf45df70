"""Recorder of a passive party's received and sent arrays, by row."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from flwr.client import Client
from flwr.common import FitIns, FitRes, GetPropertiesIns, GetPropertiesRes

from vfl_flower.analysis.audit.transcripts.tables import Sent, Sums, Table, places_of
from vfl_flower.common.codec import Array, from_parameters, to_array
from vfl_flower.learning.compression import compression_of
from vfl_flower.learning.networks.base import TopInput
from vfl_flower.learning.wire_precision import narrowed, widened
from vfl_flower.parties.passive import PassiveParty
from vfl_flower.protocol.components import UPLOADS, Kind, Phase
from vfl_flower.protocol.uploads import Upload
from vfl_flower.transport.endpoint import Endpoint


@dataclass
class Recorder(Client):
    """Serves a party and records its messages by row.

    The party itself could keep the former, and the active party the latter.

    Attributes
    ----------
    party : PassiveParty
        Live.
    classes : int
        C; a label that comes as its number is kept as a one-hot row.
    rows : ndarray of int32, or None
        (n,), those that are recorded; None: all.
    received : dict of str to Sums
        In training, by phase, and position of the array if there are several.
    sent : dict of str to Sent
        Uploads by phase.
    """

    party: PassiveParty
    classes: int
    rows: Array | None = None
    received: dict[str, Sums] = field(default_factory=dict)
    sent: dict[str, Sent] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._places = places_of(self.rows, len(self.party.x))
        self._asked: Array = np.empty(0, np.int32)
        self._others = set[str]()
        self._before = self._decision()
        self._bare: Array | None = None
        _watch(self.party, self)

    def decides(self) -> bool:
        """Tell whether the party's top model was trained; decoders do not count."""
        if self.party.top_input is TopInput.MIRROR:
            return False
        pairs = zip(self._before, self._decision(), strict=True)
        return not all(torch.equal(before, now) for before, now in pairs)

    def _decision(self) -> list[torch.Tensor]:
        weights = self.party.net.state_dict()
        return [each.clone() for name, each in weights.items() if name.startswith("decide.")]

    def get_properties(self, ins: GetPropertiesIns) -> GetPropertiesRes:
        """Answer the roll call."""
        return Endpoint(self.party).get_properties(ins)

    def fit(self, ins: FitIns) -> FitRes:
        """Answer one exchange, and record its arrays."""
        precision = self.party.cfg.wire_precision
        arrays = [widened(each, precision) for each in from_parameters(ins.parameters)]
        counts = [int(count) for count in str(ins.config["arrays"]).split(",")]
        for phase, count in zip(str(ins.config["phases"]).split(","), counts, strict=True):
            declared = self.party.declared(phase)
            if declared is not None and declared.training:
                self._keep(phase, declared, arrays[:count])
            arrays = arrays[count:]
        return Endpoint(self.party).fit(ins)

    def own_logits(self) -> Sent | None:
        """Return its own logits that it sent in training, if any."""
        return next((each for each in self.sent.values() if each.own_logits), None)

    def last_sent(self, sent: Sent, rows: Array) -> Table:
        """Return the last upload of some rows: (B, width)."""
        table: Table = sent.values[self._places[rows]].astype(np.float64)
        return table

    def note_bare(self, upload: Upload) -> None:
        """Keep an upload as it is before masking."""
        self._bare = to_array(upload.weighted())

    def note_released(self, kind: Kind, declared: Phase, arrays: Sequence[Array]) -> None:
        """Keep the arrays of one upload."""
        received = self.party.received
        if declared.names_rows:
            self._asked = received.arrays[0]
        at = self._places[self._asked]
        if not (at >= 0).any():
            return  # of held-out rows
        masked = arrays[0].dtype.kind == "u" and self.party.cfg.blinded and declared.masked
        values = self._bare if masked else self._read(declared, kind, arrays)
        if values is None or values.shape[:1] != at.shape:
            return
        if received.phase not in self.sent:
            count = int(self._places.max()) + 1
            words = arrays[0] if masked else None
            made = self.sent[received.phase] = Sent.empty(kind, count, values, words)
            made.first = self._asked.copy(), values
            made.training = declared.training
            made.own_logits = kind == "logits" and declared.training and not declared.masked
        sent, kept = self.sent[received.phase], at >= 0
        sent.values[at[kept]] = values[kept]
        sent.exchange[at[kept]] = received.exchange
        if masked:
            sent.words[at[kept]] = arrays[0][kept]

    def _read(self, declared: Phase, kind: Kind, arrays: Sequence[Array]) -> Array:
        """Return an unmasked upload as the active party reads it."""
        cfg, compression = self.party.cfg, self.party.cfg.options.upload_compression
        carried = [
            widened(narrowed(each, cfg.wire_precision), cfg.wire_precision) for each in arrays
        ]
        if compression == "none":
            return carried[0]
        shape = declared.gives[declared.sends.index(kind)].layout.shape
        width = self.party.sizes()[str(shape[1])]
        return to_array(compression_of(compression, width).restore(carried, len(self._asked)))

    def _keep(self, phase: str, declared: Phase, arrays: list[Array]) -> None:
        if declared.names_rows:
            self._asked, arrays = arrays[0], arrays[1:]
        read = self.party.readable(phase, arrays, len(self._asked))
        for position, array in enumerate(read):
            name = phase if len(read) == 1 else f"{phase} {position + 1}"
            if array.shape[:1] != self._asked.shape:
                self._others.add(name)  # not about rows, whatever a batch's length may be
                self.received.pop(name, None)
            elif name not in self._others:
                self._add(name, array)

    def _add(self, name: str, array: Array) -> None:
        if array.ndim == 1 and np.issubdtype(array.dtype, np.integer):
            array = np.eye(self.classes)[array]
        table = array.reshape(len(array), -1)
        if name not in self.received:
            self.received[name] = Sums.empty(self._places, table.shape[1])
        self.received[name].add(self._asked, table)


def _watch(party: PassiveParty, recorder: Recorder) -> None:
    """Let a recorder see a party's uploads before and after masking."""
    released, masker = party.released, getattr(party, "masker", None)

    def noted(kind: Kind, value: Any, declared: Phase) -> Sequence[Array]:  # noqa: ANN401
        arrays = released(kind, value, declared)
        if kind in UPLOADS and arrays:
            recorder.note_released(kind, declared, arrays)
        return arrays

    vars(party)["released"] = noted
    if masker is None:
        return
    apply = masker.apply

    def before(upload: Upload, declared: Phase) -> Upload:
        if declared.masked:
            recorder.note_bare(upload)
        masked: Upload = apply(upload, declared)
        return masked

    vars(masker)["apply"] = before
