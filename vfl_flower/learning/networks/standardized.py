"""Standardised uploads: columns of equal variance at every party.

    mean_d, var_d  of column d over the batch in training; running means of them in evaluation
    E'[i, d] = (E[i, d] - mean_d) / sqrt(var_d + 1e-5)                    (B, D), either way

A sum of such embeddings has the same part of every party in each column's variance. Without, one
whose embeddings have grown makes up nearly all of the sum, which masks then do not hide. A column
that is constant at a party is 0 there, and the others share it.
"""

import torch.nn.functional as F
from torch import Tensor, nn

from vfl_flower.common.errors import NetworkError


class Standardized(nn.BatchNorm1d):
    """Standardises columns; its statistics are part of the model.

    Parameters
    ----------
    width : int
        D, columns.
    """

    def __init__(self, width: int) -> None:
        super().__init__(width, affine=False)

    def forward(self, x: Tensor) -> Tensor:
        """Standardise (B, D); a batch of one row by running statistics."""
        if len(x) == 1:
            return F.batch_norm(x, self.running_mean, self.running_var, eps=self.eps)
        return super().forward(x)


def standardize(net: nn.Module, half: str, width: int) -> None:
    """Let half of a network end in standardised columns.

    Parameters
    ----------
    net : nn.Module
        With `embed` and `decide`.
    half : {"embed", "decide"}
        Whose output is summed over parties.
    width : int
        Of that output.

    Raises
    ------
    NetworkError
        If the half is a method of the network, in which nothing can be appended.
    """
    inner = getattr(net, half)
    if not isinstance(inner, nn.Module):
        raise NetworkError(
            f"embedding-scale is standardized, and `{half}` of this network is a method; make it "
            "an nn.Module"
        )
    setattr(net, half, nn.Sequential(inner, Standardized(width)))
