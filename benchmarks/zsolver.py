"""VIM's z update: the batched Newton solver beside SciPy's L-BFGS-B.

The paper uses L-BFGS-B.

    python -m benchmarks.zsolver [--rows 1024] [--sample 32]

One run, one torch thread. Predictions are normal with standard deviation 3, duals those that an
earlier update leaves, rho = 1. The reference solves one row after the other: only a sample of the
rows, and its time is scaled to all of them.
"""

import statistics
import time
from collections.abc import Callable

import numpy as np
import torch
from scipy.optimize import minimize
from scipy.special import logsumexp
from torch import Tensor

from benchmarks.harness.benchmark import Arguments, Benchmark, Option
from benchmarks.harness.report import Report
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


def measure(given: Arguments, report: Report) -> None:
    """Measure both solvers for several numbers of classes."""
    torch.set_num_threads(1)
    columns = {"C": "", "ours ms": ".2f", "steps": "", "residual": ".0e"}
    columns |= {"L-BFGS-B ms": ",.0f", "its residual": ".0e", "ratio": ",.0f"}
    table = report.table(
        f"the z update, {given.rows} rows, rho = {RHO:g}; reference x {given.sample}", columns
    )
    for classes in (10, 40, 1000):
        a, dual, y = problem(given.rows, classes)
        sample = slice(given.sample)
        spent, theirs = reference(a[sample], dual[sample], y[sample])
        spent *= given.rows / given.sample
        seconds, residual, steps = ours(a, dual, y)
        table.add(classes, seconds * 1e3, steps, residual, spent * 1e3, theirs, spent / seconds)


BENCHMARK = Benchmark(
    measure,
    {
        "rows": Option(1024, tiny=8, help="rows of the batch"),
        "sample": Option(32, tiny=1, help="rows that the reference solves"),
    },
)

if __name__ == "__main__":
    BENCHMARK.run()
