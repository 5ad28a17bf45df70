"""Rows, or a whole matrix, clipped in norm."""

import torch
from torch import Tensor

ROUNDING = 1e-4
"""Share of a bound by which float32 arithmetic may exceed it."""


def clip_rows(x: Tensor, bound: float) -> Tensor:
    """Scale each row to a norm of at most `bound`.

    (B, D), either way. A row within the bound keeps every bit, and a row of zeros has a gradient. A
    row whose norm is not finite becomes NaN, which is refused or noised on its way out: as zeros it
    would leave a sum to the other parties.
    """
    return x * _scale(torch.linalg.vector_norm(x, dim=1, keepdim=True), bound)


def clip_whole(x: Tensor, bound: float) -> Tensor:
    """Scale all of `x` to a Frobenius norm of at most `bound`.

    Any shape. Within the bound every bit is kept; a norm that is not finite makes all NaN.
    """
    return x * _scale(torch.linalg.vector_norm(x), bound)


def exceeds(x: Tensor, bound: float) -> bool:
    """Tell whether a row exceeds a bound by more than rounding."""
    norms = torch.linalg.vector_norm(x, dim=1)
    return bool(norms.numel() and norms.amax().item() > bound * (1 + ROUNDING))


def _scale(norm: Tensor, bound: float) -> Tensor:
    """Return factors that bring norms to a bound; NaN where not finite."""
    return bound / norm.masked_fill(norm.isinf(), torch.nan).clamp(min=bound)
