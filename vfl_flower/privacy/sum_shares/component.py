"""Shares of a masked sum's variance, which passive parties check among themselves.

    v_k = geometric mean, over party k's uploads since the last check,
          of the sum over columns of an upload's variance                                  float64
    c_k = round(64 log2 v_k)                                           16 bits, sealed for each j
    s_k = v_k / (v_1 + ... + v_K), of the v that the c stand for       party k refuses above a limit
    told = round(100 max s_k)                                          to the active party

Masks hide single uploads only in a sum that is not nearly one party's. The variances go through the
active party, sealed under the pair keys of the masks (`vfl_flower.crypto.sealed`): it learns that
number of 0 to 100, and not whose share it is, besides who refused. Passive parties learn each
other's v_k, 16 bits a check, and trust each other to tell true ones. Without pinned identities the
active party must relay public keys honestly, as for masks.

Uploads are those that the sum is made of: clipped, weighted, and noised under client-level
differential privacy, of which v_k is post-processing.
"""

from typing import Protocol

import numpy as np
from torch import Tensor

from vfl_flower.common.codec import Array
from vfl_flower.common.errors import BlindingError, PolicyError, ProtocolError
from vfl_flower.common.names import party_log
from vfl_flower.common.state import State
from vfl_flower.config.policy.case import refusal
from vfl_flower.config.run_config import RunConfig
from vfl_flower.crypto.sealed import TAG, seal, unseal
from vfl_flower.privacy.client_dp.holder import Holder
from vfl_flower.privacy.secure_aggregation import Masker
from vfl_flower.privacy.sum_shares.variance import BYTES, TypicalVariance, code_of, shares_of
from vfl_flower.protocol.automaton.arrays import integers, octets
from vfl_flower.protocol.automaton.rules import Rows
from vfl_flower.protocol.components import Phase, phase
from vfl_flower.protocol.uploads import Upload, UploadMechanism

SEALED = BYTES + TAG


class Summed(Holder, Protocol):
    """An owner whose uploads are summed under masks.

    Attributes
    ----------
    masker : Masker
        Its pair keys.
    """

    masker: Masker


class SumShares(UploadMechanism):
    """Variance of a party's summed uploads, compared with the others'.

    Attributes
    ----------
    most : int
        How often it tells its variance between two returns to a checkpoint.
    """

    name = "sum_shares"
    kept = True
    party: Summed

    def __init__(self, party: Summed) -> None:
        super().__init__(party)
        self.most = max(1, party.cfg.epochs)
        self._variance = TypicalVariance()
        self._unchecked = 0  # rows that were summed since shares were last checked
        self._code, self._exchange = 0, 0  # as it was sealed

    @classmethod
    def wanted(cls, cfg: RunConfig) -> bool:
        """Tell whether the run's parties check their shares."""
        return cfg.shares_checked and cfg.task == "train"

    @property
    def _limit(self) -> float:
        limit = self.party.policy.largest_share
        return 1.0 if limit is None else limit

    def admit(self, declared: Phase) -> None:
        """Refuse a second epoch of uploads without a check.

        Raises
        ------
        PolicyError
            If the owner's policy limits the share.
        """
        whole = self._unchecked >= len(self.party.data.rows["train"])
        if self._limit < 1 and whole and _summed(declared):
            raise self._refusal("request", "shares were not checked since an epoch of uploads")

    def apply(self, upload: Upload, declared: Phase) -> Upload:
        """Measure an upload, and return it as it is."""
        if _summed(declared):
            self._variance.add(upload.weighted())
            self._unchecked += len(upload.values)
        return upload

    @phase(
        training=False,
        between_steps=True,
        most="sum_shares.most",
        gives=octets("K", SEALED),
        sends="sealed",
    )
    def seal_variances(self) -> Array:
        """Seal the variance of uploads for each other party.

        Returns
        -------
        ndarray
            (K, 18) uint8, a row for each receiver; the party's own row is zeros.
        """
        if self._exchange == self.party.received.exchange:  # a key is for one message
            raise ProtocolError("variances are asked for twice in one exchange")
        if not self._variance.count:
            raise ProtocolError("variances are asked for, and nothing was summed since the last")
        self._code, self._exchange = code_of(self._variance.value), self.party.received.exchange
        self._variance = TypicalVariance()
        message, rank = self._code.to_bytes(BYTES, "little"), self.party.rank
        sealed = np.zeros((self.party.cfg.parties - 1, SEALED), np.uint8)
        for j, key in self._keys().items():
            each = seal(key, message, self._exchange, rank, j)
            sealed[j - 1] = np.frombuffer(each, np.uint8)
        return sealed

    @phase(
        training=False,
        after="seal_variances",
        takes=octets("K", SEALED),
        gives=integers(dtype="uint8", high=100),
        sends="figure",
        derived=True,
    )
    def check_share(self, sealed: Tensor) -> Array:
        """Compare variances, (K, 18) uint8, a row from each sender.

        Returns
        -------
        ndarray
            () uint8: the largest share of any party, in percent.

        Raises
        ------
        PolicyError
            If this party's share is above the limit of its owner's policy.
        ProtocolError
            If a variance is not as its party sealed it; names the party.
        """
        rank, codes = self.party.rank, [self._code] * len(sealed)
        for j, key in self._keys().items():
            message = bytes(sealed[j - 1].tolist())
            opened = unseal(key, message, self._exchange, j, rank)
            codes[j - 1] = int.from_bytes(opened, "little")
        shares = shares_of(codes)
        own = shares[rank - 1]
        party_log(rank).info("share of the summed uploads' variance: %.1f%%", 100 * own)
        if own > self._limit:
            raise self._refusal("run", "its uploads have a larger share of the sum's variance")
        self._unchecked = 0
        return np.array(round(100 * max(shares)), np.uint8)

    def _keys(self) -> dict[int, bytes]:
        """Return the pair keys of all other passive parties."""
        keys = self.party.masker.keys
        if len(keys) < self.party.cfg.parties - 2:
            raise BlindingError("variances are told under pair keys, and not all were agreed")
        return keys

    def _refusal(self, subject: str, why: str) -> PolicyError:
        policy = self.party.policy
        return refusal(policy, subject, "largest-share", f"it is {self._limit:g}, and {why}")

    def state_dict(self) -> State:
        """Return variance, counts, and the code that was sealed."""
        sealed = {"code": self._code, "exchange": self._exchange}
        return {"variance": self._variance.state_dict(), "unchecked": self._unchecked, **sealed}

    def load_state_dict(self, state: State) -> None:
        """Restore the state of `state_dict`."""
        self._variance.load_state_dict(state["variance"])
        self._unchecked = state["unchecked"]
        self._code, self._exchange = state["code"], state["exchange"]


def _summed(declared: Phase) -> bool:
    """Tell whether a phase adds training rows to a masked sum."""
    held_out = any(isinstance(r, Rows) and r.part == "held-out" for r in declared.takes)
    return declared.masked and declared.of_columns and not held_out
