"""Weight of evidence of the bins of columns.

Each column x is cut at quantiles of the training rows, into bins (e_{b-1}, e_b], and every value
stands for its bin's weight of evidence (Good 1950, as credit scorecards use it; Siddiqi 2006):

    w_b = ln((positive_b + 1/2) / (negative_b + 1/2)) - ln((positive + 1/2) / (negative + 1/2))

from the counts of the bin's rows and of all; 0 of a bin without rows. Columns with fewer values
have fewer bins. A party needs no message for it: the first residual of `strategies.logistic` is
negative for the positive class alone, and 0 for rows without weight, which are not counted. Other
weights do not matter.
"""

import torch
from torch import Tensor, nn

from vfl_flower.common.errors import ConfigError, DataError
from vfl_flower.data.party_data import PartyData

_HALF = 0.5


def check_bins(bins: int, data: PartyData) -> None:
    """Refuse bins without two classes, and more bins than rows.

    Raises
    ------
    ConfigError
        Of other labels.
    DataError
        Of more bins than training rows.
    """
    if bins and (data.classes != 2 or data.several):
        raise ConfigError(
            f"evidence-bins is {bins}, and weight of evidence is of two classes; use "
            "evidence-bins = 0"
        )
    rows = len(data.rows["train"])
    if bins > rows > 0:  # none where new rows are predicted
        raise DataError(
            f"evidence-bins is {bins}, more than the {rows} training rows; use far fewer, such as "
            "10, so that a bin has rows of both classes"
        )


class Evidence(nn.Module):
    """Bins and weights of columns: (B, F) -> (B, F).

    Parameters
    ----------
    columns, bins : int
        F, and how many bins a column has at most.

    Attributes
    ----------
    edges : Tensor
        (F, bins - 1), in order; infinite where a column has fewer.
    weights : Tensor
        w, (F, bins).
    fitted : Tensor
        () bool.
    """

    edges: Tensor
    weights: Tensor
    fitted: Tensor

    def __init__(self, columns: int, bins: int) -> None:
        super().__init__()
        edges = torch.full((columns, bins - 1), torch.inf, dtype=torch.float64)
        self.register_buffer("edges", edges)
        self.register_buffer("weights", torch.zeros(columns, bins, dtype=torch.float64))
        self.register_buffer("fitted", torch.tensor(False))

    def forward(self, x: Tensor) -> Tensor:
        """Return the weight of evidence of every value."""
        return self.weights.gather(1, self._places(x)).T

    def fit(self, x: Tensor, positive: Tensor) -> None:
        """Cut columns into bins, and weigh these.

        Parameters
        ----------
        x : Tensor
            The training rows, (N, F).
        positive : Tensor
            Whether each is of the positive class, (N,) bool.
        """
        bins = self.weights.shape[1]
        at = torch.arange(1, bins, device=x.device) * (len(x) - 1) // bins
        for column, values in enumerate(x.double().T):
            found = values.sort().values[at].unique()
            self.edges[column] = torch.inf
            self.edges[column, : len(found)] = found
        places, ones = self._places(x), positive.to(x.device).double().expand(x.shape[1], -1)
        of_bins = torch.zeros_like(self.weights).scatter_add_(1, places, ones)
        rows = torch.zeros_like(self.weights).scatter_add_(1, places, torch.ones_like(ones))
        odds = (of_bins + _HALF) / (rows - of_bins + _HALF)
        total, among = ones[:1].sum(), x.shape[0]
        weights = odds.log() - ((total + _HALF) / (among - total + _HALF)).log()
        self.weights.copy_(torch.where(rows > 0, weights, 0.0))
        self.fitted.fill_(True)

    def _places(self, x: Tensor) -> Tensor:
        """Return the bin of every value, (F, B)."""
        return torch.searchsorted(self.edges, x.double().T.contiguous())
