"""Trees as a party keeps them: tensors of fixed shapes."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from vfl_flower.common.codec import Array
from vfl_flower.common.names import party_name
from vfl_flower.common.state import State
from vfl_flower.data.party_data import PartyData


class Splits(nn.Module):
    """A party's own splits by round, tree and node.

    Parameters
    ----------
    rounds, trees, depth : int
        R, T, and layers of splits.

    Attributes
    ----------
    column : Tensor
        (R, T, 2^depth - 1) int32, -1 where a node is no split of this party's.
    threshold : Tensor
        Likewise, float32: the largest value that goes left.
    missing_left : Tensor
        Likewise, bool: whether rows without a value go left.
    gain : Tensor
        Likewise, float64, of splits; the active party knows that of all parties'.
    """

    own_randomness = True
    column: Tensor
    threshold: Tensor
    missing_left: Tensor
    gain: Tensor

    def __init__(self, rounds: int, trees: int, depth: int) -> None:
        super().__init__()
        shape = rounds, trees, 2**depth - 1
        self.depth = depth
        self.register_buffer("column", torch.full(shape, -1, dtype=torch.int32))
        self.register_buffer("threshold", torch.zeros(shape))
        self.register_buffer("missing_left", torch.zeros(shape, dtype=torch.bool))
        self.register_buffer("gain", torch.zeros(shape, dtype=torch.float64))

    def _load_from_state_dict(self, state: State, prefix: str, *rest: Any) -> None:  # noqa: ANN401
        """Take as many rounds as a state has; a prediction has none."""
        for name, own in self.named_buffers():
            given = state.get(prefix + name)
            if given is not None and own.dim() > 1 and given.shape[1:] == own.shape[1:]:
                setattr(self, name, torch.zeros_like(given))
        super()._load_from_state_dict(state, prefix, *rest)

    def put(self, place: tuple[int, int, int], column: int, threshold: float, left: bool) -> None:
        """Keep a split at its round, tree and node."""
        self.column[place], self.threshold[place] = column, threshold
        self.missing_left[place] = left

    def directions(self, x: Array, since: int = 0) -> NDArray[np.bool_]:
        """Tell who goes left at each of its splits.

        (B, F) -> (B, S). Splits come in the order of rounds, trees and nodes, from a round on.
        """
        column = self.column[since:].cpu().numpy()
        at = column >= 0
        values = x[:, column[at]]
        left = values <= self.threshold[since:].cpu().numpy()[at]
        missing = self.missing_left[since:].cpu().numpy()[at]
        return np.where(np.isnan(values), missing, left)


class Forest(Splits):
    """The active party's trees: whose each split is, and the leaves.

    Attributes
    ----------
    owner : Tensor
        (R, T, 2^depth - 1) int32, the rank of a split's party; -1 where a node is a leaf, or none.
    value : Tensor
        (R, T, 2^(depth + 1) - 1) float32, of leaves; 0 elsewhere.
    base : Tensor
        (T,) float64, the score before the first round.
    grown : Tensor
        () int64, the rounds that there are.
    """

    owner: Tensor
    value: Tensor
    base: Tensor
    grown: Tensor

    def __init__(self, rounds: int, trees: int, depth: int) -> None:
        super().__init__(rounds, trees, depth)
        self.register_buffer("owner", torch.full_like(self.column, -1))
        self.register_buffer("value", torch.zeros(rounds, trees, 2 ** (depth + 1) - 1))
        self.register_buffer("base", torch.zeros(trees, dtype=torch.float64))
        self.register_buffer("grown", torch.zeros((), dtype=torch.int64))

    def splits_of(self, rank: int, since: int = 0) -> int:
        """Count a party's splits, from a round on."""
        return int((self.owner[since:] == rank).sum())

    def importance(self, parties: int) -> dict[str, float]:
        """Return each party's number of splits, and its share of their gain."""
        owner, gain, found = self.owner, self.gain, dict[str, float]()
        total = float(gain.sum()) or 1.0
        for rank in range(parties):
            own = owner == rank
            found[f"splits_{party_name(rank)}"] = float(own.sum())
            found[f"gain_share_{party_name(rank)}"] = float(gain[own].sum()) / total
        return found

    def scores(self, left: list[NDArray[np.bool_]], since: int = 0) -> Tensor:
        """Add up leaves, from a round on.

        (B, S_k) of every party -> (B, T) float64; `base` is not in it.
        """
        owner, value = self.owner[since:].flatten(0, 1), self.value[since:].flatten(0, 1)
        split = _numbered(owner.cpu().numpy(), [each.shape[1] for each in left])
        every, rows = np.concatenate(left, axis=1), np.arange(len(left[0]))[:, None]
        tree, leaves = np.arange(len(split)), value.cpu().numpy()
        node = np.zeros((len(rows), len(split)), np.int64)
        for _ in range(self.depth):
            asked = split[tree, node]
            right = ~every[rows, asked] if every.shape[1] else False
            node = np.where(asked >= 0, 2 * node + 1 + right, node)
        said = leaves[tree, node].astype(np.float64).reshape(len(rows), -1, len(self.base))
        return torch.from_numpy(said.sum(1))


def _numbered(owner: Array, counts: list[int]) -> Array:
    """Give numbers to the splits of all parties; leaves are -1.

    Each party's are in a row. (R T, nodes) -> (R T, nodes and last leaves).
    """
    made = np.full((len(owner), 2 * owner.shape[1] + 1), -1)
    for rank, start in enumerate(np.cumsum([0, *counts[:-1]])):
        tree, node = np.nonzero(owner == rank)
        made[tree, node] = start + np.arange(len(tree))
    return made


def trees_a_round(data: PartyData) -> int:
    """Return T: 1 for numbers and two classes, else C."""
    return 1 if data.classes == 2 and not data.several else data.classes
