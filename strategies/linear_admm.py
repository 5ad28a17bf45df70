"""Linear-ADMM, active party.

Hu et al. 2019, "Learning Privately over Distributed Features: An ADMM Sharing Approach",
arXiv:1907.07735, as VIM compares with it (Xie et al. 2022, arXiv:2207.10226): ADMM for
logistic regression, whose columns several parties hold.

It is `VIMADMMJ` with linear models:

    o_k = x_k U_k W_k + b_k W_k   (B, C)   U_k (F_k, D), b_k (D,), W_k (D, C), of party k alone
    M_k = U_k W_k, with b_k W_k as its last row, goes a share of the way to
          argmin (v . o_k + rho/2 |o_k - o_k^0|^2) / B + beta |M_k|^2

The minimum is a ridge regression's, solved exactly; `algorithms.linear_share`. ``head-rate`` is the
share, by default 1 / (parties with columns). With ``solver = steps`` a party takes the tau steps of
VIMADMM-J instead.

Learns
    As in `strategies.vimadmm_j`. From a and the rows that it knows, the active party can fit what
    all U_k W_k together do.
Assumes
    As VIMADMM-J.
Deviates
    The paper has full batches (a ``batch-size`` of all rows) and goes the whole way
    (``head-rate = 1``), which needs a strong regulariser or columns that overlap little: all
    parties go at once. Here a party goes a share of the way on each batch. U_k and W_k are the
    halves of M_k's singular value decomposition, which restricts nothing as long as D is at least
    C. Optimizers, learning rates and ``local-steps`` have no effect on the exact solution. The
    paper's differential privacy perturbs each party's weights, to protect one sample; it is not
    offered, for all o_k of an exchange come from the same noised M_k, so whoever knows the other
    rows, more than F_k of them, solves for it and tells a row from any other. Client-level
    differential privacy of the uploads is, as VIM compares. ``embedding-bound`` acts as in
    VIMADMM-J.
Costs
    As VIMADMM-J. A party solves F_k + 1 linear equations an exchange.
"""

from torch import Tensor

from vfl_flower.algorithms.linear_share import solve_share

from .specs.linear_admm import LinearADMMOptions
from .vimadmm_j import VIMADMMJ


class LinearADMM(VIMADMMJ):
    """The linear case."""

    options: LinearADMMOptions

    def update(self, rows: Tensor, H_0: Tensor, o_0: Tensor, v: Tensor) -> None:
        """Update U_0: its sub-problem is solved, or tau steps taken."""
        if self.options.solver == "exact":
            solve_share(self, rows, o_0, v, self.options)
        else:
            super().update(rows, H_0, o_0, v)
