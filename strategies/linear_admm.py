"""Linear-ADMM, active party.

Hu et al. 2019, "Learning Privately over Distributed Features: An ADMM Sharing Approach",
arXiv:1907.07735, as VIM compares with it (Xie et al. 2022, arXiv:2207.10226): ADMM for
logistic regression, whose columns several parties hold.

It is `VIMADMMJ` with linear models:

    o_k = x_k U_k W_k + b_k W_k   (B, C)   U_k (F_k, D), b_k (D,), W_k (D, C), of party k alone

Learns
    As in `strategies.vimadmm_j`. From a and the rows that it knows, the active party can fit what
    all U_k W_k together do.
Assumes
    As VIMADMM-J.
Deviates
    The paper solves each party's share of the problem to the end, and has full batches; here a
    party takes tau steps on a batch, and its matrix is a product of two, which restricts nothing
    as long as D is at least C or F_k. ``embedding-bound`` acts as in VIMADMM-J.
Costs
    As VIMADMM-J.
"""

from .vimadmm_j import VIMADMMJ


class LinearADMM(VIMADMMJ):
    """The linear case."""
