"""Passive party's component for private set intersection; see `psi`."""

import secrets
from hashlib import sha256
from typing import Protocol

import numpy as np
from torch import Tensor

from vfl_flower.alignment.blinded_ids import CHUNK, Blinded, announced, announcement, due
from vfl_flower.common.codec import Array, to_array
from vfl_flower.common.errors import DataError, ProtocolError
from vfl_flower.common.names import party_log
from vfl_flower.common.state import State
from vfl_flower.crypto.curve25519 import POINT, TAG, multiply, tags
from vfl_flower.crypto.hashed_ids import Ids
from vfl_flower.protocol.automaton.arrays import integers, number, octets
from vfl_flower.protocol.components import Answerer, Component, phase


class _IdHolder(Answerer, Protocol):
    """An owner whose rows have ids.

    Attributes
    ----------
    ids : Ids or None
        One for each row; None where nobody said which column holds them.
    """

    ids: Ids | None

    def check_begun(self) -> None:
        """Refuse to announce ids before the alignment has begun."""


class Aligner(Component):
    """Passive party's side of private set intersection on its `ids`.

    Attributes
    ----------
    rows : ndarray of int64
        (n,), the rows of its table that all parties have; empty before the alignment's end. -1
        stands for a row that the party lacks, where such are used.
    names : ndarray of int64
        (n,), the first bytes of each row's hashed id; 0 where the party lacks it.
    """

    name = "aligner"
    party: _IdHolder

    def __init__(self, party: _IdHolder) -> None:
        super().__init__(party)
        self._secret, self._source, self._asker, self._next = b"", b"", 0, 0
        self._chosen = self.rows = self.names = np.empty(0, np.int64)
        self._blinded: Blinded | None = None

    @phase(training=False, takes=integers(2), gives=integers(2), sends="control")
    def announce_ids(self, others: Tensor) -> Array:
        """Draw a fresh secret and announce the ids.

        (2,) int64 -> (2,) int64.
        """
        self.party.check_begun()
        _, self._asker = announced([to_array(others)], "the active party")
        self._secret, self._blinded, self._next = secrets.token_bytes(POINT), None, 0
        self._source = _digest(self._ids)
        self._chosen = self.rows = self.names = np.empty(0, np.int64)
        return announcement(self._ids)

    @phase(
        training=False,
        takes=(number(), octets("c", POINT)),
        gives=(octets("c", TAG), octets("d", POINT)),
        sends=("control", "control"),
    )
    def blind_ids(self, start: Tensor, points: Tensor) -> tuple[Array, Array]:
        """Blind a chunk of the active party's ids and of the own.

        () int64, (c, 32) uint8 -> (c, 16) uint8, (d, 32) uint8.
        """
        own, owed = self._own(), due(self._next, self._asker)
        if len(points) != owed or int(start) != self._next:
            raise ProtocolError(
                f"the active party announced {self._asker} ids and owed {owed} points from "
                f"position {self._next} on; it sent an array of shape {tuple(points.shape)}"
            )
        self._next += CHUNK
        again = multiply(own.secret, to_array(points), "the active party")
        total = max(len(own.order), self._asker)
        log = party_log(self.party.rank)
        log.info("alignment: %d of %d ids", min(self._next, total), total)
        return again[:, :TAG], own.points(int(start))

    @phase(training=False, takes=integers("s", dtype="int32"))
    def common_ids(self, positions: Tensor) -> None:
        """Take note of which ids all parties have: (s,) int32 ->."""
        own = self._own()
        chosen = to_array(positions)
        least = -1 if self.party.cfg.uses_missing else 0  # -1: an id that is not here
        if ((chosen < least) | (chosen >= len(own.order))).any():
            raise ProtocolError("the active party named a common id that this party does not have")
        here = np.where(chosen < 0, -1, own.order[chosen])
        self._chosen = np.concatenate([self._chosen, here])

    @phase(training=False, takes=number())
    def aligned(self, count: Tensor) -> None:
        """Turn the common ids into rows, and forget the secret.

        () int64 ->
        """
        here = self._chosen[self._chosen >= 0]
        hashes = tags(self._own().ids.hashed[here])
        ordered = hashes if not self.party.cfg.uses_missing else np.sort(hashes)
        if int(count) != len(self._chosen) or (ordered[1:] <= ordered[:-1]).any():
            raise ProtocolError(
                "the common ids are not as many as were told, or not in their order"
            )
        self.rows = np.full(len(self._chosen), -1)
        self.rows[self._chosen >= 0] = self._ids.rows[here]
        self.names = np.zeros(len(self._chosen), np.int64)
        self.names[self._chosen >= 0] = _names(self._ids.hashed[here])
        self._secret, self._blinded = b"", None

    @property
    def _ids(self) -> Ids:
        if self.party.ids is None:
            raise DataError("this party was not told which column holds its ids")
        return self.party.ids

    def _own(self) -> Blinded:
        if not self._secret:
            raise ProtocolError("this party has no secret in use: its ids must be announced first")
        if self._blinded is None:
            self._blinded = Blinded(self._ids, self._secret)
        return self._blinded

    def state_dict(self) -> State:
        """Return secret and progress; they never leave the party's memory."""
        return {
            "secret": self._secret,
            "source": self._source,
            "asker": self._asker,
            "next": self._next,
            "chosen": self._chosen,
            "rows": self.rows,
            "names": self.names,
        }

    def load_state_dict(self, state: State) -> None:
        """Restore the state of `state_dict`."""
        self._secret, self._asker, self._next = state["secret"], state["asker"], state["next"]
        self._source = state["source"]
        if self._source and _digest(self._ids) != self._source:
            raise DataError("this party's table was changed during the alignment; align again")
        self._chosen, self.rows = to_array(state["chosen"]), to_array(state["rows"])
        self.names = to_array(state["names"])
        self._blinded = None


def _names(hashed: Array) -> Array:
    """Return the first 8 bytes of hashes, (n, 32), as whole numbers."""
    return np.ascontiguousarray(hashed[:, :8]).view("<i8").ravel()


def _digest(ids: Ids) -> bytes:
    """Digest the ids, to notice other ids or another order.

    A party is built anew for every message on Flower's runtime.
    """
    return sha256(ids.hashed.tobytes() + ids.rows.tobytes()).digest()
