"""VIM's z update: the batched Newton solver beside SciPy's L-BFGS-B.

The paper uses L-BFGS-B.

    python -m benchmarks.zsolver [--rows 1024] [--sample 32]

One run, one torch thread. Predictions are normal with standard deviation 3, duals those that an
earlier update leaves, rho = 1. The reference solves one row after the other: only a sample of the
rows, and its time is scaled to all of them.
"""

import argparse
import statistics
import time
from collections.abc import Callable

import numpy as np
import torch
from rich.console import Console
from rich.table import Table
from scipy.optimize import minimize
from scipy.special import logsumexp
from torch import Tensor

from vfl_flower.algorithms.admm import z_update
from vfl_flower.common.codec import Array
from vfl_flower.learning.losses import onehot

RHO = 1.0
REPEATS = 15


def problem(rows: int, classes: int) -> tuple[Tensor, Tensor, Tensor]:
    """Draw predictions, duals and labels."""
    g = torch.Generator().manual_seed(0)
    a, before = (3 * torch.randn(2, rows, classes, generator=g)).unbind()
    y = torch.randint(classes, (rows,), generator=g)
    return a, z_update(before, torch.zeros_like(a), y, RHO).dual.float(), y


def objective(a: Array, dual: Array, t: Array) -> Callable[[Array], tuple[float, Array]]:
    """Return Eq. 5 of one row, with its gradient."""

    def of(z: Array) -> tuple[float, Array]:
        total = logsumexp(z)
        value = total - (t + dual) @ z + RHO / 2 * ((a - z) ** 2).sum()
        return value, np.exp(z - total) - t - dual + RHO * (z - a)

    return of


def reference(a: Tensor, dual: Tensor, y: Tensor) -> tuple[float, float]:
    """Solve row by row; return seconds and the largest gradient entry."""
    columns = (a.double(), dual.double(), onehot(y, a.shape[1], torch.float64))
    rows = list(zip(*(each.numpy() for each in columns), strict=True))
    started = time.perf_counter()
    found = [minimize(objective(*row), row[0], jac=True, method="L-BFGS-B") for row in rows]
    spent = time.perf_counter() - started
    return spent, max(np.abs(each.jac).max() for each in found)


def ours(a: Tensor, dual: Tensor, y: Tensor) -> tuple[float, float, int]:
    """Solve all rows; return median seconds, residual and Newton steps."""
    times = []
    for _ in range(REPEATS):
        started = time.perf_counter()
        solved = z_update(a, dual, y, RHO)
        times.append(time.perf_counter() - started)
    return statistics.median(times), solved.residual, solved.steps


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rows", type=int, default=1024)
    options.add_argument("--sample", type=int, default=32)
    given = options.parse_args()
    torch.set_num_threads(1)
    table = Table(
        title=f"the z update, {given.rows} rows, rho = {RHO:g}; reference x {given.sample}"
    )
    for column in ("C", "ours ms", "steps", "residual", "L-BFGS-B ms", "residual", "ratio"):
        table.add_column(column, justify="right")
    for classes in (10, 40, 1000):
        a, dual, y = problem(given.rows, classes)
        sample = slice(given.sample)
        spent, theirs = reference(a[sample], dual[sample], y[sample])
        spent *= given.rows / given.sample
        seconds, residual, steps = ours(a, dual, y)
        table.add_row(
            str(classes),
            f"{seconds * 1e3:.2f}",
            str(steps),
            f"{residual:.0e}",
            f"{spent * 1e3:,.0f}",
            f"{theirs:.0e}",
            f"{spent / seconds:,.0f}",
        )
    Console().print(table)


if __name__ == "__main__":
    main()
