"""Cost of private set intersection beside its bare curve operations.

    python -m benchmarks.psi [--sizes 1000,100000] [--repeats 3]

Both tables have as many ids, half of them in common. Each repetition takes, one after the other,
Python's sets, the curve operations alone (four for each id, X25519 by PyNaCl in as many threads as
there are cores; half of them before ours and half after), the whole alignment over the local
carrier, from text to rows, and the peer, openmined-psi, where it is installed. It finds the
intersection for one of two parties, on one core. Ratios are of one repetition; their medians are
shown.
"""

import argparse
import math
import os
import secrets
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from typing import Any

import numpy as np
from nacl.bindings import crypto_scalarmult, crypto_scalarmult_base
from rich.console import Console
from rich.table import Table

from tests.helpers.alignment import run
from vfl_flower.crypto.hashed_ids import normalised

CORES = os.cpu_count() or 1


def seconds(work: Callable[[], object]) -> float:
    """Return how long some work takes, by the clock."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def bare(count: int) -> None:
    """Multiply a point so many times, on all cores."""
    secret = secrets.token_bytes(32)
    point = crypto_scalarmult_base(secret)

    def share(times: int) -> None:
        for _ in range(times):
            crypto_scalarmult(secret, point)

    with ThreadPoolExecutor(CORES) as pool:
        list(pool.map(share, [count // CORES] * CORES))


def ours(first: list[str], second: list[str]) -> list[int]:
    """Align two tables; return the rows of the first."""
    _, rows, taps = run([normalised(first), normalised(second)])
    sent = sum(
        len(t) for ins, res in taps[0].sent for p in (ins, res) for t in p.parameters.tensors
    )
    Console().print(f"{len(first)} ids: {sent / len(first):.1f} bytes an id of one table")
    return [int(row) for row in rows[0]]


def peer() -> Any:  # noqa: ANN401
    """Return openmined-psi, or None."""
    try:
        return import_module("private_set_intersection.python")
    except ImportError:
        return None


def theirs(library: Any, first: list[str], second: list[str]) -> list[int]:  # noqa: ANN401
    """Intersect by openmined-psi; return the rows of the first."""
    client = library.client.CreateWithNewKey(True)
    server = library.server.CreateWithNewKey(True)
    setup = server.CreateSetupMessage(0.0, len(first), second, library.DataStructure.RAW)
    rows: list[int] = client.GetIntersection(
        setup, server.ProcessRequest(client.CreateRequest(first))
    )
    return rows


def measured(size: int, library: Any) -> list[float]:  # noqa: ANN401
    """Measure sets, the curve, ours and the peer; check their agreement.

    Returns seconds.
    """
    first = [f"customer {i:09d}" for i in range(size)]
    second = [f"customer {i:09d}" for i in range(size // 2, size // 2 + size)]
    found: list[list[int]] = []
    sets = seconds(lambda: set(first) & set(second))
    before = seconds(lambda: bare(2 * size))
    mine = seconds(lambda: found.append(ours(first, second)))
    after = seconds(lambda: bare(2 * size))
    other = seconds(lambda: found.append(theirs(library, first, second))) if library else math.nan
    assert all(sorted(rows) == list(range(size // 2, size)) for rows in found)  # noqa: S101
    return [sets, before + after, mine, other]


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--sizes", default="1000,100000")
    options.add_argument("--repeats", type=int, default=3)
    given = options.parse_args()
    library = peer()
    table = Table(title=f"seconds to intersect n ids with n, {CORES} cores")
    for column in ("n", "sets", "curve", "ours", "peer", "curve/ours", "peer/ours"):
        table.add_column(column, justify="right")
    for size in map(int, given.sizes.split(",")):
        runs = np.array([measured(size, library) for _ in range(given.repeats)])  # (R, 4)
        ratios = np.median(runs / runs[:, 2:3], axis=0)
        cells = [f"{each:.3g}" for each in np.median(runs, axis=0)]
        table.add_row(str(size), *cells, f"{ratios[1]:.2f}", f"{ratios[3]:.2f}")
    Console().print(table)


if __name__ == "__main__":
    main()
