"""Joint draw of a seed by commitments, which no party can choose."""

import secrets
from collections.abc import Sequence
from hashlib import sha256

from vfl_flower.common.errors import BlindingError
from vfl_flower.common.names import party_name
from vfl_flower.common.state import State

SHARE = COMMITMENT = 32  # bytes
DRAWS = 16
"""A party takes part in no more: whoever knows the shares could go on until it likes the seed."""
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
        self._share, self._commitments, self._draws = b"", list[bytes](), 0

    def commit(self) -> bytes:
        """Draw a share; return the commitment to it.

        Raises
        ------
        BlindingError
            If it has taken part in as many draws as it may.
        """
        if self._draws == DRAWS:
            raise BlindingError(f"this party has taken part in {DRAWS} draws since its start")
        self._share, self._commitments, self._draws = (
            secrets.token_bytes(SHARE),
            [],
            self._draws + 1,
        )
        return _committed(self.rank, self._share)

    def reveal(self, commitments: Sequence[bytes]) -> bytes:
        """Take all parties' commitments; return the share.

        Raises
        ------
        BlindingError
            If this party's own commitment is not among them, or it has not made one.
        """
        if not self._share or commitments[self.rank - 1] != _committed(self.rank, self._share):
            raise BlindingError("the relayed commitments do not hold this party's own")
        if self._commitments:
            raise BlindingError("this party's share of the draw was revealed already")
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
        return told | {"draws": self._draws}

    def load_state_dict(self, state: State) -> None:
        """Restore the state of `state_dict`."""
        self._share, self._commitments = state["share"], list(state["commitments"])
        self._draws = state["draws"]


def _committed(rank: int, share: bytes) -> bytes:
    return sha256(_DOMAIN + rank.to_bytes(4, "little") + share).digest()
