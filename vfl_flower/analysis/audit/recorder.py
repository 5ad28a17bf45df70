"""Recorder of a passive party's received arrays, by row."""

from dataclasses import dataclass, field

import numpy as np
import torch
from flwr.client import Client
from flwr.common import FitIns, FitRes, GetPropertiesIns, GetPropertiesRes
from numpy.typing import NDArray

from vfl_flower.common.codec import Array, from_parameters
from vfl_flower.learning.networks.base import TopInput
from vfl_flower.parties.passive import PassiveParty
from vfl_flower.transport.endpoint import Endpoint

Table = NDArray[np.float64]


@dataclass
class Sums:
    """Received numbers of one array of a phase, summed by row."""

    total: Table  # (N, width)
    times: NDArray[np.int64]  # (N,)

    def mean(self, rows: Array) -> Table:
        """Return the mean of some rows' received numbers: (B, width)."""
        mean: Table = self.total[rows] / np.maximum(self.times[rows], 1)[:, None]
        return mean


@dataclass
class Recorder(Client):
    """Serves a party and records the row-wise arrays sent to it.

    The party itself could keep them.

    Attributes
    ----------
    party : PassiveParty
        Live.
    classes : int
        C; a label that comes as its number is kept as a one-hot row.
    received : dict of str to Sums
        By phase, and position of the array if there are several.
    """

    party: PassiveParty
    classes: int
    received: dict[str, Sums] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._rows, self._others = np.empty(0, np.int32), set[str]()
        self._sent = np.empty((0, self.classes))
        self._before = self._decision()

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
        arrays = from_parameters(ins.parameters)
        counts = [int(count) for count in str(ins.config["arrays"]).split(",")]
        for phase, count in zip(str(ins.config["phases"]).split(","), counts, strict=True):
            declared = self.party.declared(phase)
            if declared is not None and declared.training:
                self._keep(phase, arrays[:count])
            arrays = arrays[count:]
        res = Endpoint(self.party).fit(ins)
        if declared is not None and declared.training and declared.sends == ("logits",):
            self._keep_sent(declared.masked, from_parameters(res.parameters))
        return res

    def predicts(self) -> bool:
        """Tell whether the party sent logits of its own."""
        return len(self._sent) > 0

    def sent(self, rows: Array) -> Table:
        """Return the last logits of some rows that it sent: (B, C)."""
        table: Table = self._sent[rows]
        return table

    def _keep_sent(self, masked: bool, sent: list[Array]) -> None:
        if masked or len(sent) != 1:
            return
        if not self.predicts():
            self._sent = np.zeros((len(self.party.x), self.classes))
        self._sent[self._rows] = sent[0]

    def _keep(self, phase: str, arrays: list[Array]) -> None:
        if arrays and arrays[0].dtype == np.int32 and arrays[0].ndim == 1:
            self._rows, arrays = arrays[0], arrays[1:]
        read = self.party.readable(phase, arrays, len(self._rows))
        for position, array in enumerate(read):
            name = phase if len(read) == 1 else f"{phase} {position + 1}"
            if array.shape[:1] != self._rows.shape:
                self._others.add(name)  # not about rows, whatever a batch's length may be
                self.received.pop(name, None)
            elif name not in self._others:
                self._add(name, array)

    def _add(self, name: str, array: Array) -> None:
        if array.ndim == 1 and np.issubdtype(array.dtype, np.integer):
            array = np.eye(self.classes)[array]
        table = array.reshape(len(array), -1)
        if name not in self.received:
            shape = len(self.party.x), table.shape[1]
            self.received[name] = Sums(np.zeros(shape), np.zeros(shape[0], np.int64))
        self.received[name].total[self._rows] += table
        self.received[name].times[self._rows] += 1
