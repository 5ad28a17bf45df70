"""Cost of private set intersection beside its bare curve operations.

    python -m benchmarks.psi [--sizes 1000,100000] [--repeats 3]

Both tables have as many ids, half of them in common. Each repetition takes, one after the other,
Python's sets, the curve operations alone (four for each id, X25519 by PyNaCl in as many threads as
there are cores; half of them before ours and half after), the maps of both tables' ids to the curve
alone (libsodium's, likewise), the whole alignment over the local transport, from text to rows, and
the peer, openmined-psi, where it is installed. It finds the intersection for one of two parties, on
one core. *Limit* is the curve's share of curve and maps: the alignment needs both. Ratios are of
one repetition; their medians are shown.
"""

import math
import os
import secrets
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
from nacl.bindings import (
    crypto_core_ed25519_from_uniform,
    crypto_scalarmult,
    crypto_scalarmult_base,
)

from benchmarks.harness.benchmark import Arguments, Benchmark, Option
from benchmarks.harness.report import Report
from tests.helpers.own_data.alignment import run
from vfl_flower.crypto.hashed_ids import normalised

CORES = os.cpu_count() or 1


def seconds(work: Callable[[], object]) -> float:
    """Return how long some work takes, by the clock."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def on_all_cores(work: Callable[[], object], times: int) -> None:
    """Do some work so many times, on all cores."""

    def share(count: int) -> None:
        for _ in range(count):
            work()

    with ThreadPoolExecutor(CORES) as pool:
        list(pool.map(share, [times // CORES] * CORES))


def multiplied(count: int) -> None:
    """Multiply a point so many times."""
    secret = secrets.token_bytes(32)
    on_all_cores(partial(crypto_scalarmult, secret, crypto_scalarmult_base(secret)), count)


def mapped(count: int) -> None:
    """Map a number to the curve so many times."""
    number = secrets.token_bytes(31) + bytes(1)
    on_all_cores(partial(crypto_core_ed25519_from_uniform, number), count)


def ours(first: list[str], second: list[str]) -> tuple[list[int], float]:
    """Align two tables; return the first's rows, and bytes per id."""
    _, rows, taps = run([normalised(first), normalised(second)])
    sent = sum(
        len(t) for ins, res in taps[0].sent for p in (ins, res) for t in p.parameters.tensors
    )
    return [int(row) for row in rows[0]], sent / len(first)


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
    """Measure sets, curve, maps, ours and the peer; check their agreement.

    Returns seconds, and the bytes sent for an id.
    """
    first = [f"customer {i:09d}" for i in range(size)]
    second = [f"customer {i:09d}" for i in range(size // 2, size // 2 + size)]
    found: list[tuple[list[int], float]] = []
    others: list[list[int]] = []
    sets = seconds(lambda: set(first) & set(second))
    before = seconds(lambda: multiplied(2 * size))
    mine = seconds(lambda: found.append(ours(first, second)))
    after = seconds(lambda: multiplied(2 * size))
    maps = seconds(lambda: mapped(2 * size))
    other = seconds(lambda: others.append(theirs(library, first, second))) if library else math.nan
    for rows in (found[0][0], *others):
        if sorted(rows) != list(range(size // 2, size)):
            raise ValueError(f"an intersection of {size} ids is wrong")
    return [sets, before + after, maps, mine, other, found[0][1]]


def measure(given: Arguments, report: Report) -> None:
    """Measure every size."""
    library = peer()
    columns = {"n": ",", **dict.fromkeys(("sets", "curve", "maps", "ours", "peer"), ".3g")}
    columns |= {"curve/ours": ".2f", "limit": ".2f", "peer/ours": ".2f", "bytes an id": ".1f"}
    table = report.table(f"seconds to intersect n ids with n, {CORES} cores", columns)
    for size in map(int, given.sizes.split(",")):
        runs = np.array([measured(size, library) for _ in range(given.repeats)])  # (R, 6)
        ratios = np.median(runs / runs[:, 3:4], axis=0)
        limit = np.median(runs[:, 1] / (runs[:, 1] + runs[:, 2]))
        *spent, sent = np.median(runs, axis=0)
        table.add(size, *spent, ratios[1], limit, ratios[4], sent)


BENCHMARK = Benchmark(
    measure,
    {
        "sizes": Option("1000,100000", tiny="100", help="numbers of ids"),
        "repeats": Option(3, tiny=1, help="repetitions of each size"),
    },
)

if __name__ == "__main__":
    BENCHMARK.run()
