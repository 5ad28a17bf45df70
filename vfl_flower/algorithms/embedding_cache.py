"""Cache of the passive parties' latest embeddings of each row.

For steps in which not all parties are asked.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from vfl_flower.common.codec import Array
from vfl_flower.common.errors import ProtocolError
from vfl_flower.common.names import party_name
from vfl_flower.common.state import State
from vfl_flower.config.run_config import RunConfig
from vfl_flower.protocol.exchange import Replies


class EmbeddingCache:
    """The active party's cache of received values, zero at first.

    An active party that names it in `remembers` has it in its checkpoints.

    Parameters
    ----------
    parties : int
        K passive ones.
    rows : int
        N, all rows of the data set.
    width : int
        Numbers that a party sends of a row.

    Attributes
    ----------
    values : Tensor
        (K, N, width), float32.
    """

    def __init__(self, parties: int, rows: int, width: int) -> None:
        self.values = torch.zeros(parties, rows, width)

    @classmethod
    def of_run(cls, cfg: RunConfig, rows: int, width: int) -> "EmbeddingCache":
        """Return the cache that a run needs, or None.

        A run in which every step asks all parties needs none.
        """
        return cls(cfg.parties - 1, 0 if cfg.asks_all else rows, width)

    def put(self, rank: int, rows: Array, values: Tensor) -> None:
        """Store one party's values of some rows: (B,), (B, width).

        Raises
        ------
        ProtocolError
            If it sent another shape.
        """
        expected = len(rows), self.values.shape[2]
        if values.shape != expected:
            raise ProtocolError(
                f"{party_name(rank)} sent an array of shape {tuple(values.shape)}, not {expected}"
            )
        self.values[rank - 1, torch.from_numpy(rows)] = values.detach()

    def of(self, rows: Array) -> Tensor:
        """Return the cached values of some rows: (B,) -> (K, B, width)."""
        return self.values[:, torch.from_numpy(rows)]

    def latest(self, replies: Replies, asked: Sequence[int], rows: Array) -> list[Tensor]:
        """Store received values, and return every party's, (B, width) each."""
        if replies.whole:
            return replies.tensors
        for rank, values in zip(asked, replies.tensors, strict=True):
            self.put(rank, rows, values)
        return list(self.of(rows))

    def state_dict(self) -> State:
        """Return the values."""
        return {"values": self.values}

    def load_state_dict(self, state: State) -> None:
        """Restore the state of `state_dict`."""
        self.values.copy_(state["values"])
