"""Standard errors of one party's coefficients.

With X (N, F) all parties' columns, an intercept among them, and I = X^T diag(w) X the information
at the optimum, party k sends X_k V_k, where V_k (F_k, D) is Gaussian, drawn from the operating
system's randomness, and told to nobody. Where V, all V_k one above the other, has full row rank,

    M  = (X V)^T diag(w) X V = V^T I V             known to whoever has w and the sum of X_k V_k
    M+ = V+ I^-1 V+^T                              its pseudo-inverse, sent as Z Z^T
    V_k Z Z^T V_k^T = (I^-1)_kk                    at party k alone, its variances in the diagonal

Columns that depend on a constant and on columns before them, of the same party, are zeros from the
first step on: they have a coefficient of 0, and nothing is predicted otherwise. So the last value
of a category is its reference.
"""

import math
import os
from collections.abc import Callable

import torch
from torch import Tensor

from vfl_flower.common.errors import ConfigError, DataError
from vfl_flower.common.names import party_name
from vfl_flower.common.state import State, restore
from vfl_flower.data.party_data import PartyData

CHUNK = 8
"""Columns of X_k V_k in one exchange."""

COUNTED = 1024
"""Unit of a number of columns, which is small in a masked sum."""

_DEPENDENT = 1e-6
"""Share of a column that others and the intercept leave, below which it depends on them."""

_BITS = 53

Entropy = Callable[[int], bytes]


def check_errors(wanted: bool, data: PartyData) -> None:
    """Refuse errors of labels or rows that have none.

    Raises
    ------
    ConfigError
        Of more than two classes, of several labels, or of rows with weights.
    DataError
        Of no more rows than columns.
    """
    rows, columns = len(data.rows["train"]), data.x[0].numel()
    if not (wanted and rows):  # none where new rows are predicted
        return
    why = ""
    if data.classes > 2 or data.several:
        why = "there are more than two classes, or several labels"
    elif data.weights is not None:
        why = "rows have weights, which may be counts, shares of a sample or precisions"
    if why:
        raise ConfigError(f"standard-errors is true, and {why}; remove standard-errors")
    if rows <= columns + 1:
        raise DataError(
            f"{party_name(data.rank)}: {columns} columns need more than {columns + 1} training "
            f"rows for standard errors, and there are {rows}; use fewer columns"
        )


def independent(X: Tensor) -> Tensor:
    """Find linearly independent columns, (N, F), beside a constant.

    A column counts unless the constant and columns before it determine it.

    Returns
    -------
    Tensor
        Their places, (R,), in order.
    """
    made = torch.linalg.qr(torch.cat([X.new_ones(len(X), 1), X], 1), mode="r").R
    basis, kept = made.new_zeros(len(made), 0), list[int]()
    for place, column in enumerate(made.T):
        rest = column
        for _ in range(2):
            rest = rest - basis @ (basis.T @ rest)
        if float(rest.norm()) > _DEPENDENT * float(column.norm()):
            basis = torch.cat([basis, (rest / rest.norm())[:, None]], 1)
            kept.append(place)
    return torch.tensor(kept[1:], dtype=torch.int64) - 1


def gaussian(rows: int, columns: int, entropy: Entropy = os.urandom) -> Tensor:
    """Draw standard normal numbers from the operating system's randomness, float64."""
    drawn = torch.frombuffer(bytearray(entropy(8 * rows * columns)), dtype=torch.int64)
    uniform = ((drawn >> (64 - _BITS)).double() + 2 ** (_BITS - 1) + 0.5) / 2**_BITS
    made: Tensor = torch.special.ndtri(uniform)
    return made.reshape(rows, columns)


class OwnErrors:
    """Standard errors of one party's coefficients, and their way there.

    Parameters
    ----------
    wanted : bool
        Whether the run has some.

    Attributes
    ----------
    mask : Tensor
        1 of columns that no others determine, else 0, (F_k,) float64; empty before.
    V : Tensor
        As it was drawn so far, (R, D).
    found : Tensor
        Standard errors, (F_k,), NaN where a coefficient has none; empty before.
    intercept : float
        Standard error of the active party's intercept; NaN where there is none.
    freedom : float
        Degrees of freedom of the residual; 0 of classes.
    others : int
        Columns of the passive parties that no others of their own determine; active party.
    """

    _REMEMBERED = ("mask", "V", "found", "intercept", "freedom", "others")

    def __init__(self, *, wanted: bool) -> None:
        self.wanted = wanted
        self.mask = self.found = torch.zeros(0, dtype=torch.float64)
        self.V = torch.zeros(0, 0, dtype=torch.float64)
        self.intercept, self.freedom, self.others = math.nan, 0.0, 0

    @property
    def kept(self) -> Tensor:
        """Places of columns that no others determine, (R,)."""
        return self.mask.nonzero()[:, 0]

    @property
    def there(self) -> bool:
        """Whether some coefficient has an error."""
        return bool(self.found.isfinite().any()) or math.isfinite(self.intercept)

    def count(self, others: int, rows: int) -> None:
        """Note how many columns passive parties have; refuse more than rows.

        Raises
        ------
        DataError
            If they and the own ones leave no rows.
        """
        self.others = others
        columns = others + len(self.kept)
        if rows <= columns + 1:
            raise DataError(
                f"all parties' {columns} columns need more than {columns + 1} training rows for "
                f"standard errors, and there are {rows}; use fewer columns"
            )

    def independent(self, X: Tensor) -> Tensor:
        """Return columns with zeros in those that others determine, (N, F_k)."""
        if not self.wanted:
            return X
        if not len(self.mask):
            self.mask = X.new_zeros(X.shape[1])
            self.mask[independent(X)] = 1
            self.V = X.new_zeros(len(self.kept), 0)
        return X * self.mask

    def span(self, X: Tensor, limit: float) -> Tensor:
        """Draw more of V; return it times the columns, (N, CHUNK).

        The longest row has the length of the limit.
        """
        X = self.independent(X)[:, self.kept]
        V = gaussian(len(self.kept), CHUNK)
        sent = X @ V
        scale = limit / max(float(sent.norm(dim=1).amax()), torch.finfo(sent.dtype).tiny)
        self.V = torch.cat([self.V, scale * V], 1)
        return scale * sent

    def take(self, Z: Tensor, freedom: float, columns: int) -> None:
        """Take the errors of all columns from Z, (D, F).

        There are none where Z has no column.
        """
        none = torch.zeros(0, dtype=torch.float64)
        errors = (self.V @ Z.double()).norm(dim=1) if Z.shape[1] else none
        self.hold(errors, freedom, columns)

    def hold(self, errors: Tensor, freedom: float, columns: int) -> None:
        """Keep errors of independent columns, (R,), or none, and forget V."""
        self.found = torch.full((columns,), torch.nan, dtype=torch.float64)
        if len(errors):
            self.found[self.kept] = errors.double()
        self.freedom, self.V = freedom, self.V[:, :0]

    def state_dict(self) -> State:
        """Return all that messages change."""
        return {name: getattr(self, name) for name in self._REMEMBERED}

    def load_state_dict(self, state: State) -> None:
        """Restore the state of `state_dict`."""
        restore(self, state)
