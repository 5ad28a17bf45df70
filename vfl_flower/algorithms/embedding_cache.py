"""What passive parties last sent of each row, for steps in which not all of them are asked."""

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
    """The active party's memory of the passive parties' values, zero before the first.

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
        """Return the memory that a run needs: none, where all are asked and nothing is old."""
        return cls(cfg.parties - 1, 0 if cfg.asks_all else rows, width)

    def put(self, party: int, rows: Array, values: Tensor) -> None:
        """Note what the party with this roster index sent of some rows: (B,), (B, width).

        Raises
        ------
        ProtocolError
            If it sent another shape.
        """
        expected = len(rows), self.values.shape[2]
        if values.shape != expected:
            raise ProtocolError(
                f"{party_name(party + 1)} sent an array of shape {tuple(values.shape)}, "
                f"not {expected}"
            )
        self.values[party, torch.from_numpy(rows)] = values.detach()

    def of(self, rows: Array) -> Tensor:
        """Return what is known of some rows, as it is now: (B,) -> (K, B, width)."""
        return self.values[:, torch.from_numpy(rows)]

    def latest(self, replies: Replies, asked: Sequence[int], rows: Array) -> list[Tensor]:
        """Note what came of some rows, and return every party's values, (B, width) each."""
        if replies.whole:
            return replies.tensors
        for k, values in zip(asked, replies.tensors, strict=True):
            self.put(k, rows, values)
        return list(self.of(rows))

    def state_dict(self) -> State:
        """Return the values."""
        return {"values": self.values}

    def load_state_dict(self, state: State) -> None:
        """Take back what `state_dict` gave."""
        self.values.copy_(state["values"])
