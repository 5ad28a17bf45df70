"""Secret of the passive parties that draws subsets of them.

It is the hash of a share of each of them, sent sealed with their presence. A party writes its share
down and sends it again whenever the run is resumed: a step that is repeated from a checkpoint, with
the same weights, has the same subsets, or the difference of two sums would be one party's own.
Without masks there is nothing to hide, and the shares follow from the public seed.
"""

import secrets
from collections.abc import Mapping
from hashlib import sha256

from vfl_flower.common.errors import ProtocolError, RunError
from vfl_flower.common.layout import SUBSETS
from vfl_flower.common.names import party_name
from vfl_flower.common.state import State, read_state, write_state
from vfl_flower.config.run_config import RunConfig
from vfl_flower.data.splitting.presence import Presence
from vfl_flower.privacy.missing_parties.drawn_subsets import SECRET, drawn_sizes, drawn_subsets
from vfl_flower.protocol.components import Owner


class SubsetDrawing:
    """A party's part in the drawing of subsets.

    Parameters
    ----------
    party : Owner
        Its configuration says whether there is one.

    Attributes
    ----------
    share : bytes
        The party's own; empty without a drawing.
    """

    def __init__(self, party: Owner) -> None:
        self.party = party
        self.draws = party.cfg.draws_subsets and party.cfg.task == "train"
        self.share, self._secret = b"", b""

    def begin(self) -> bytes:
        """Return the party's share, the same in every attempt of a run."""
        if self.draws:
            self.share = self.share or self._kept_share()
        return self.share

    def _kept_share(self) -> bytes:
        cfg, rank, folder = self.party.cfg, self.party.rank, self.party.folder
        if not cfg.blinded:
            return _open_share(cfg.seed, rank)
        if folder is None:
            return secrets.token_bytes(SECRET)
        path = folder / SUBSETS
        if not path.is_file():
            write_state(path, {"share": secrets.token_bytes(SECRET)})
        share = read_state(path).get("share")
        if not isinstance(share, bytes) or len(share) != SECRET:
            raise RunError(f"{path} is damaged; put it back, or start a new run")
        return share

    def join(self, shares: Mapping[int, bytes]) -> bytes:
        """Make the secret of all parties' shares, by rank.

        It is empty without a drawing.

        Raises
        ------
        ProtocolError
            Names a party whose share is none.
        """
        size = SECRET if self.draws else 0
        for rank, share in shares.items():
            if len(share) != size:
                raise ProtocolError(f"{party_name(rank)} sent {len(share)} bytes, not {size}")
        joined = b"".join(shares[rank] for rank in sorted(shares))
        self._secret = sha256(joined).digest() if self.draws else b""
        return self._secret

    def drawn(self, step: int, present: Presence) -> Presence:
        """Draw a step's subsets of those present: (B, K) -> (B, K)."""
        cfg = self.party.cfg
        sizes = drawn_sizes(cfg.seed, step, present.sum(1), cfg.least_present)
        return drawn_subsets(self._secret, step, present, sizes)

    def state_dict(self) -> State:
        """Return share and secret; they never leave the party's memory."""
        return {"share": self.share, "secret": self._secret}

    def load_state_dict(self, state: State) -> None:
        """Restore the state of `state_dict`."""
        self.share, self._secret = state["share"], state["secret"]


def open_subsets(cfg: RunConfig, step: int, present: Presence) -> Presence:
    """Draw a step's subsets without masks: (B, K) -> (B, K)."""
    secret = sha256(b"".join(_open_share(cfg.seed, rank) for rank in cfg.present)).digest()
    sizes = drawn_sizes(cfg.seed, step, present.sum(1), cfg.least_present)
    return drawn_subsets(secret, step, present, sizes)


def _open_share(seed: int, rank: int) -> bytes:
    return sha256(f"subsets {seed} {rank}".encode()).digest()
