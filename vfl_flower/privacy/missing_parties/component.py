"""Missing rows on the way in and out of a passive party.

    tell_presence   which rows party k has, N bits, sealed for each j
    take_presence   P (N, K), the same at all parties; its digest becomes part of every mask key

A phase is given the rows of a request that the party has, and its answer gets zeros for the others:
masked zeros where uploads are masked, so that no message tells who lacks a row. The sum is over
those present. What the phases of a step are given afterwards is cut to the same rows, unless a
phase is declared `every_row`.

The active party knows P from the alignment. It cannot change what passive parties tell each other:
under masks that is sealed under their pair keys. A party refuses rows that fewer than two have
(three where the active party has no columns), and rows that were in sums of other parties with this
model; see `row_sets`. With ``subset-training`` the rows of a training step are cut further, to a
subset that passive parties draw by a secret of theirs; see `subset_drawing`. Passive parties learn
from P which rows of the run the others have. Without masks there is no such protection: the active
party sees every upload by itself.
"""

from collections.abc import Sequence
from hashlib import sha256
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from vfl_flower.common.codec import Array, to_tensor
from vfl_flower.common.errors import BlindingError, PrivacyError, ProtocolError
from vfl_flower.common.names import party_name
from vfl_flower.common.state import State
from vfl_flower.config.run_config import RunConfig
from vfl_flower.crypto.sealed import TAG, seal, unseal
from vfl_flower.data.splitting.presence import Presence
from vfl_flower.privacy.client_dp.holder import Holder
from vfl_flower.privacy.missing_parties.row_sets import RowSets
from vfl_flower.privacy.missing_parties.subset_drawing import SubsetDrawing
from vfl_flower.protocol.automaton.arrays import octets
from vfl_flower.protocol.automaton.machine import Automaton
from vfl_flower.protocol.components import Component, Phase, phase
from vfl_flower.protocol.uploads import Upload


class PairKeys(Protocol):
    """Pair keys of masks."""

    @property
    def keys(self) -> dict[int, bytes]:
        """By the other party's rank."""

    def bind(self, agreed: bytes) -> None:
        """Make mask keys depend on an agreement of passive parties."""


class Attendant(Holder, Protocol):
    """An owner whose rows others may lack.

    Attributes
    ----------
    masker : PairKeys
        Where uploads are masked.
    automaton : Automaton
        Counts the steps.
    """

    masker: PairKeys
    automaton: Automaton


class RowPresence(Component):
    """Which passive parties have which rows of the run."""

    name = "row_presence"
    party: Attendant

    def __init__(self, party: Attendant) -> None:
        super().__init__(party)
        self._agreed: Presence = np.empty((0, party.cfg.parties - 1), np.bool_)
        self._exchange = 0
        self._rows = {"training": _NONE, "other": _NONE}
        self._sets = RowSets(party.folder)
        self._drawing = SubsetDrawing(party)

    @classmethod
    def wanted(cls, cfg: RunConfig) -> bool:
        """Tell whether a run uses rows that some party lacks."""
        return cfg.uses_missing and not cfg.spec.alone

    # Agreement -------------------------------------------------------------------------------

    @phase(training=False, gives=octets("K", "L"), sends="sealed")
    def tell_presence(self) -> Array:
        """Tell each other party which rows this one has, (K, L) uint8.

        A row for each receiver; the party's own is zeros. Without masks it is not sealed.
        """
        rank, parties = self.party.rank, self.party.cfg.parties - 1
        self._exchange = self.party.received.exchange
        message = np.packbits(self._own()).tobytes() + self._drawing.begin()
        size = len(message) + (TAG if self.party.cfg.blinded else 0)
        told = np.zeros((parties, size), np.uint8)
        keys = self._keys()
        for j in self.party.cfg.present:
            if j != rank:
                each = seal(keys[j], message, self._exchange, rank, j) if keys else message
                told[j - 1] = np.frombuffer(each, np.uint8)
        return told

    @phase(training=False, after="tell_presence", takes=octets("K", "L"))
    def take_presence(self, told: Tensor) -> None:
        """Take the rows of each other party.

        (K, L) uint8, a row from each sender ->
        """
        rank, own = self.party.rank, self._own()
        agreed = np.zeros((len(own), self.party.cfg.parties - 1), np.bool_)
        agreed[:, rank - 1] = own
        keys, shares, size = self._keys(), {rank: self._drawing.share}, (len(own) + 7) // 8
        for j in self.party.cfg.present:
            if j != rank:
                sent = told.numpy()[j - 1].tobytes()
                opened = unseal(keys[j], sent, self._exchange, j, rank) if keys else sent
                agreed[:, j - 1] = _unpacked(opened[:size], len(own), j)
                shares[j] = opened[size:]
        self._agreed = agreed
        secret = self._drawing.join(shares)
        if self.party.cfg.blinded:
            self.party.masker.bind(sha256(np.packbits(agreed).tobytes() + secret).digest())

    def _own(self) -> NDArray[np.bool_]:
        """Return which rows this party has, (N,)."""
        present = self.party.data.presence
        return np.ones(len(self.party.data.x), np.bool_) if present is None else present

    def _keys(self) -> dict[int, bytes]:
        """Return the pair keys of all other parties; none without masks."""
        if not self.party.cfg.blinded:
            return {}
        keys = self.party.masker.keys
        if len(keys) < len(self.party.cfg.present) - 1:
            raise BlindingError("presence is told under pair keys, and not all were agreed")
        return keys

    # Requests --------------------------------------------------------------------------------

    def taken(self, declared: Phase, arrays: Sequence[Array]) -> Sequence[Array]:
        """Leave out the rows of a request that this party lacks.

        Raises
        ------
        PrivacyError
            If a row's sum would be of too few parties, or of others than before.
        """
        if declared.every_row:
            return arrays
        if declared.names_rows:
            self._begin(declared, arrays[0])
        here = self._here(_chain(declared))
        firsts = [layout.shape[:1] for rule in declared.takes for layout in self._layouts(rule)]
        pairs = zip(firsts, arrays, strict=True)
        return [array[here] if first == ("B",) else array for first, array in pairs]

    def answered(self, declared: Phase, result: Any) -> Any:  # noqa: ANN401
        """Put zeros into an answer where this party lacks a row."""
        if declared.every_row or result is None:
            return result
        here = self._here(_chain(declared))
        values = result if isinstance(result, tuple) else (result,)
        pairs = zip(declared.gives, values, strict=False)
        made = [
            _spread(each, here) if gives.layout.shape[:1] == ("B",) else each
            for gives, each in pairs
        ]
        return tuple(made) if isinstance(result, tuple) else made[0]

    def contributors(self) -> Tensor:
        """Return the number of contributing parties by row, (B, 1)."""
        counts = self._contributing("training").sum(1)
        return torch.from_numpy(counts).float()[:, None]

    def step_rows(self) -> Tensor:
        """Return all rows of the step in hand, (B,)."""
        return to_tensor(self._rows["training"])

    def of_own_rows(self, values: Tensor) -> Tensor:
        """Return values of the step's present rows: (B, ...) -> (b, ...)."""
        return values[torch.from_numpy(self._here("training"))]

    def _here(self, chain: str) -> NDArray[np.bool_]:
        """Mark the rows of the last request that this party has, (B,)."""
        here: NDArray[np.bool_] = self._contributing(chain)[:, self.party.rank - 1]
        return here

    def _contributing(self, chain: str) -> Presence:
        """Mark who adds to the rows of the last request, (B, K)."""
        present: Presence = self._agreed[self._rows[chain]]
        if chain == "other" or not self._drawing.draws:
            return present
        return self._drawing.drawn(self.party.automaton.step - 1, present)

    def _layouts(self, rule: Any) -> Any:  # noqa: ANN401
        return rule.layouts(self.party, {"B": 0})

    def _begin(self, declared: Phase, rows: Array) -> None:
        """Admit the rows of a request, and note them."""
        if not len(self._agreed):
            raise ProtocolError("rows are asked for before the parties agreed on who has them")
        sets, least = self._agreed[rows], self.party.cfg.least_present
        if (sets.sum(1) < least).any():
            raise PrivacyError(
                f"{party_name(self.party.rank)} was asked for rows that fewer than {least} passive "
                "parties have; leave them out"
            )
        if self.party.cfg.blinded and not declared.training:
            self._settle(rows, sets)
        self._rows[_chain(declared)] = rows

    def _settle(self, rows: Array, sets: Presence) -> None:
        """Write down whose sums the rows that are here are in."""
        here = sets[:, self.party.rank - 1]
        keys = self.party.data.keys
        own = rows[here]
        self._sets.settle(own.astype(np.uint64) if keys is None else keys[own], _texts(sets[here]))

    def state_dict(self) -> State:
        """Return the agreement and the rows in hand."""
        shape = list(self._agreed.shape)
        packed = {"agreed": np.packbits(self._agreed), "shape": shape}
        hand = {"exchange": self._exchange, "rows": dict(self._rows)}
        return {**packed, **hand, "drawing": self._drawing.state_dict()}

    def load_state_dict(self, state: State) -> None:
        """Restore the state of `state_dict`."""
        rows, parties = state["shape"]
        bits = np.unpackbits(np.asarray(state["agreed"]), count=rows * parties)
        self._agreed = bits.reshape(rows, parties).astype(np.bool_)
        self._exchange = state["exchange"]
        self._drawing.load_state_dict(state["drawing"])
        self._rows = {chain: np.asarray(each) for chain, each in state["rows"].items()}


_NONE = np.empty(0, np.int32)


def _chain(declared: Phase) -> str:
    """Return the chain of phases that one belongs to."""
    return "training" if declared.training else "other"


def _unpacked(bits: bytes, rows: int, rank: int) -> NDArray[np.bool_]:
    """Read a party's rows, if they are as many as the run's."""
    if len(bits) != (rows + 7) // 8:
        raise ProtocolError(f"{party_name(rank)} tells of other rows than the run's {rows}")
    read = np.unpackbits(np.frombuffer(bits, np.uint8), count=rows)
    return read.astype(np.bool_)


def _texts(sets: Presence) -> list[str]:
    """Write the set of each row, (n, K), by ranks."""
    kinds, kind = np.unique(sets, axis=0, return_inverse=True)
    texts = [" ".join(str(rank + 1) for rank in np.flatnonzero(each)) for each in kinds]
    return [texts[each] for each in kind.ravel().tolist()]


def _spread(value: Any, here: NDArray[np.bool_]) -> Any:  # noqa: ANN401
    """Put zeros between values of present rows: (b, ...) -> (B, ...)."""
    if isinstance(value, Upload):
        raise ProtocolError("an upload with a weight cannot be of some rows only")
    spread = value.new_zeros(len(here), *value.shape[1:])
    spread[torch.from_numpy(here)] = value.detach()
    return spread
