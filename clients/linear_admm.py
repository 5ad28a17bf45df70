"""Linear-ADMM, passive party; notation and header in `strategies.linear_admm`."""

from typing import TYPE_CHECKING

from torch import Tensor

from vfl_flower.algorithms.linear_share import solve_share

from .vimadmm_j import VIMADMMJClient

if TYPE_CHECKING:
    from strategies.specs.linear_admm import LinearADMMOptions


class LinearADMMClient(VIMADMMJClient):
    """The linear case."""

    options: "LinearADMMOptions"

    def descend(self, rows: Tensor, H_k: Tensor, o_0: Tensor, v: Tensor) -> None:
        """Update U_k: its sub-problem is solved, or tau steps taken."""
        if self.options.solver == "exact":
            solve_share(self, rows, o_0, v, self.options)
        else:
            super().descend(rows, H_k, o_0, v)
