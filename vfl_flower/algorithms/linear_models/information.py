"""Inverse of the information matrix, at the party that has the labels.

From A = diag(w)^(1/2) [1, X_0, U], with U the sum of the others' X_k V_k, (N, D): of rank F, the
number of all parties' independent columns and the intercept. With A = Q S B^T, Z = B S^-1 of the F
largest singular values, Z Z^T is the pseudo-inverse of A^T A. The first 1 + F_0 rows of Z are of
the own coefficients, and the others are sent. D is larger than it need be, so that further singular
values show how much rounding there is: where the smallest of the F is not far above, columns of
different parties determine each other, and there are no errors.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from vfl_flower.algorithms.linear_models.errors import CHUNK
from vfl_flower.algorithms.linear_models.likelihood import Likelihood, Squared

NOT_CONVERGED = "they are those of the optimum, and the coefficients have not converged to it"

COLLINEAR = (
    "columns of different parties determine each other, or nearly, so that their coefficients are "
    "not determined; leave one of them out"
)

_SPARE, _SHARE = 8, 4
"""Columns of U beyond the needed number: so many, and one for so many."""

_CLEAR = 30.0
"""How far above rounding a singular value is that counts."""

_FINEST = 1e-9
"""Of the largest singular value: rounding at the least."""


def exchanges_for(columns: int) -> int:
    """Return the exchanges that U of so many independent columns takes."""
    return -(-(columns + columns // _SHARE + _SPARE) // CHUNK)


@dataclass(frozen=True)
class Inverse:
    """Square root of the inverse information.

    Attributes
    ----------
    own : Tensor
        Standard errors of the intercept and the own coefficients, (1 + F_0,); empty where there
        are none.
    others : Tensor
        Rows of Z for the passive parties, (D, F); (D, 0) where there are no errors.
    freedom : float
        Degrees of freedom of the residual; 0 of classes.
    """

    own: Tensor
    others: Tensor
    freedom: float


def inverse(X: Tensor, U: Tensor, loss: Likelihood, eta: Tensor, others: int) -> Inverse:
    """Invert the information at the optimum.

    Parameters
    ----------
    X : Tensor
        The own independent columns, (N, F_0), float64.
    U : Tensor
        The passive parties' sum, (N, D).
    loss : Likelihood
        Of the training rows.
    eta : Tensor
        Linear predictors at the optimum, (N, 1).
    others : int
        Independent columns of the passive parties.
    """
    columns = 1 + X.shape[1]
    rank = columns + others
    w = loss.curved(eta, torch.ones_like(eta)[None])[0]
    A = w.sqrt() * torch.cat([torch.ones_like(w), X, U.double()], 1)
    sizes = A.norm(dim=0).clamp(min=torch.finfo(A.dtype).tiny)
    S, Bt = torch.linalg.svd(torch.linalg.qr(A / sizes, mode="r").R)[1:]
    of_numbers = isinstance(loss, Squared)
    freedom = float(len(X) - rank) if of_numbers else 0.0
    rounding = torch.cat([S[rank : rank + 1], _FINEST * S[:1]]).amax()
    if len(S) < rank or not S[rank - 1] > _CLEAR * rounding:
        return Inverse(w.new_zeros(0), w.new_zeros(U.shape[1], 0), freedom)
    Z = Bt[:rank].T / S[:rank] / sizes[:, None]
    if of_numbers:
        Z = Z * math.sqrt(2 * loss.value(eta) / freedom)
    return Inverse(Z[:columns].norm(dim=1), Z[columns:], freedom)
