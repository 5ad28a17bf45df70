"""Processes that make runs, and how they stop."""

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, suppress
from typing import cast

from benchmarks.reproducing.small import use_made_data

BETWEEN_RUNS = signal.SIG_IGN
"""A worker's handler of Ctrl-C while it has no run."""

GRACE = 10
"""Seconds that a run has to stop, when the command was killed."""


@contextmanager
def workers(jobs: int, *, small: bool) -> Iterator[ProcessPoolExecutor]:
    """Hold a pool of processes.

    Whatever ends the block early stops their runs, which can be resumed.
    """
    spawn = multiprocessing.get_context("spawn")
    most = 50 if small else 10  # runs of a process, whose memory grows
    with ProcessPoolExecutor(jobs, spawn, prepare, (small,), max_tasks_per_child=most) as pool:
        try:
            yield pool
        except BaseException:
            for worker in multiprocessing.active_children():
                with suppress(ProcessLookupError):  # it has just ended
                    os.kill(cast("int", worker.pid), signal.SIGINT)
            raise


def prepare(small: bool) -> None:
    """Make a worker's process ready.

    A terminal's Ctrl-C reaches the command alone, which hands it on, so that it comes once.
    """
    os.setpgid(0, 0)
    signal.signal(signal.SIGINT, BETWEEN_RUNS)
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    threading.Thread(target=_end_with_parent, daemon=True).start()
    if small:
        use_made_data()


def _end_with_parent() -> None:
    """Stop this worker's run, resumable, after its command has gone."""
    parent = multiprocessing.parent_process()
    if parent:
        parent.join()
        os.kill(os.getpid(), signal.SIGINT)
        end = time.monotonic() + GRACE  # for the step in hand
        while time.monotonic() < end and signal.getsignal(signal.SIGINT) != BETWEEN_RUNS:
            time.sleep(0.1)
        os._exit(1)
