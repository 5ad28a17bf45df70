"""Joint draw of a seed by commitments, which no party can choose."""

import secrets
from collections.abc import Sequence
from hashlib import sha256

from vfl_flower.common.errors import BlindingError
from vfl_flower.common.names import party_name
from vfl_flower.common.state import State

SHARE = COMMITMENT = 32  # bytes
_DOMAIN = b"vfl-flower joint seed 1"


class JointSeed:
    """One party's part in a draw.

    Every party commits to a random share, then, once it has all commitments, reveals the share; the
    seed is the hash of all shares. Whoever relays may change what others have said, but not this
    party's own share, which nobody knew when the commitments were made: so the seed of each honest
    party is uniform, whoever lies. Parties that were told different shares have different seeds.

    Parameters
    ----------
    rank : int
        The party's, 1 to n.
    """

    def __init__(self, rank: int) -> None:
        self.rank = rank
        self._share, self._commitments, self._exchange = b"", list[bytes](), 0

    def commit(self, exchange: int) -> bytes:
        """Draw a share in an exchange; return the commitment to it."""
        self._share, self._commitments = secrets.token_bytes(SHARE), []
        self._exchange = exchange
        return _committed(self.rank, self._share)

    def reveal(self, exchange: int, commitments: Sequence[bytes]) -> bytes:
        """Take all parties' commitments; return the share.

        That is in the next exchange only: of two messages at once the later one can undo what the
        other left in memory, but no number of an exchange is taken twice.

        Raises
        ------
        BlindingError
            If this party's own commitment is not among them, or was not made right before.
        """
        if not self._share or commitments[self.rank - 1] != _committed(self.rank, self._share):
            raise BlindingError("the relayed commitments do not hold this party's own")
        if exchange != self._exchange + 1:
            raise BlindingError("shares are revealed in the exchange after the commitments alone")
        self._commitments = list(commitments)
        return self._share

    def joined(self, shares: Sequence[bytes]) -> bytes:
        """Return the seed of all shares, 32 bytes; end the draw.

        Raises
        ------
        BlindingError
            Names a party whose share is not the one that it committed to.
        """
        expected, self._share, self._commitments = self._commitments, b"", []
        if not expected:
            raise BlindingError("shares of a draw came before this party's own was revealed")
        for rank, (share, commitment) in enumerate(zip(shares, expected, strict=True), 1):
            if _committed(rank, share) != commitment:
                raise BlindingError(
                    f"the share of {party_name(rank)} is not the one that was committed to"
                )
        return sha256(_DOMAIN + b"".join(shares)).digest()

    def state_dict(self) -> State:
        """Return the share and the commitments; they never leave the party's memory."""
        told = {"share": self._share, "commitments": self._commitments}
        return told | {"exchange": self._exchange}

    def load_state_dict(self, state: State) -> None:
        """Restore the state of `state_dict`."""
        self._share, self._commitments = state["share"], list(state["commitments"])
        self._exchange = state["exchange"]


def _committed(rank: int, share: bytes) -> bytes:
    return sha256(_DOMAIN + rank.to_bytes(4, "little") + share).digest()
