"""Speedup of programs side by side over the same in turn.

Two virtual cores may be one real one, on which parties that work at once gain little. The programs
have one thread each, and work as a layer does, within a core's cache.
"""

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from functools import cache

import numpy as np

COMMAND = (sys.executable, "-P", __file__)  # a process of multiprocessing imports all of its parent
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
WIDTH = 128  # two float32 matrices of it are 128 KiB
PROBE = 100  # layers

Program = subprocess.Popen[str]


@cache
def gain(programs: int, *, tiny: bool) -> float:
    """Measure the speedup of programs side by side, once a process.

    Parameters
    ----------
    programs : int
        Number of programs.
    tiny : bool
        Whether to measure for milliseconds only.
    """
    return measured(programs, 0.02, 1) if tiny else measured(programs, 0.1, 5)


def measured(programs: int, seconds: float, repeats: int) -> float:
    """Measure the speedup of programs side by side.

    Parameters
    ----------
    programs : int
        Number of programs.
    seconds : float
        Time that one program works, about.
    repeats : int
        Number of measurements, whose median counts.

    Raises
    ------
    RuntimeError
        If a program has ended.
    """
    with ExitStack() as stack:
        started = [stack.enter_context(program()) for _ in range(programs)]
        spread(started)
        spent(started, PROBE)  # they are there, and warm
        layers = max(round(PROBE * seconds / spent(started[:1], PROBE)), 1)
        ratios = []
        for _ in range(repeats):
            in_turn = sum(spent([each], layers) for each in started)
            ratios.append(in_turn / spent(started, layers))
    return statistics.median(ratios)


def program() -> Program:
    """Start a program that waits for work."""
    pipe, env = subprocess.PIPE, os.environ | ONE_THREAD
    return subprocess.Popen(COMMAND, stdin=pipe, stdout=pipe, env=env, text=True)  # noqa: S603


def spread(programs: Sequence[Program]) -> None:
    """Pin each program to one core if there are as many.

    A system with other work can leave two programs on the core that woke them. Of more cores than
    programs, the system chooses those that are not halves of one.
    """
    if not hasattr(os, "sched_setaffinity"):
        return
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) == len(programs):
        for each, core in zip(programs, cores, strict=True):
            os.sched_setaffinity(each.pid, {core})


def spent(programs: Sequence[Program], layers: int) -> float:
    """Let programs work at once; return seconds until all are done."""
    started = time.perf_counter()
    for each in programs:
        assert each.stdin  # noqa: S101  it is a pipe
        print(layers, file=each.stdin, flush=True)
    for each in programs:
        assert each.stdout  # noqa: S101  it is a pipe
        if not each.stdout.readline():
            raise RuntimeError("a program that measures the machine has ended")
    return time.perf_counter() - started


def work() -> None:
    """Compute as many layers as each line of the input says."""
    x = np.random.default_rng(0).standard_normal((WIDTH, WIDTH), np.float32)
    y = np.empty_like(x)
    for line in sys.stdin:
        for _ in range(int(line)):
            np.maximum(np.matmul(x, x, out=y), 0, out=y)
        print("done", flush=True)


if __name__ == "__main__":
    work()
