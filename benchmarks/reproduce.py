"""The papers' tables and figures, their claims beside ours.

Every cell has a verdict.

    python -m benchmarks.reproduce [PAPER:TABLE ...] --seeds 3 --data-dir DIR --out DIR

It runs what is missing, the cheapest runs first, and can be stopped and started again at any
point: results are kept in ``--results``, a JSON file for each experiment, and unfinished runs in
``--out``. ``--minutes`` ends it after a time, in the middle of a run if need be; with ``--minutes
0.001`` it shows what is there. ``--scale small`` makes every run tiny, with made data.
"""

import multiprocessing
import os
import signal
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import replace
from pathlib import Path

from benchmarks.harness.benchmark import DATA_DIR, Arguments, Benchmark, Option
from benchmarks.harness.report import Report
from benchmarks.reproducing.paper import Paper, Table
from benchmarks.reproducing.plan import Plan, Settings, asked_for, papers, table_names
from benchmarks.reproducing.runs import Record, Run, completed
from benchmarks.reproducing.small import use_made_data
from benchmarks.reproducing.store import RESULTS, Store
from benchmarks.reproducing.verdicts import judged
from vfl_flower.config.catalog import DEVICES, PRECISIONS

SMALL = "small"
SCALES = "full, or small: tiny runs with made data"
NAMED = [each for each in DEVICES if each != "auto"]
"""Devices that results can tell."""
PRECISION = "of networks; results tell it"
CIRCUMSTANCES = ("data-dir", "device", "precision")
"""Options that are those of all runs."""
COLUMNS = {"row": "", "column": "", "claim": ".2f", "+-": ".2f", "ours": ".2f", "std": ".2f"}
COLUMNS |= {"n": "d", "verdict": "", "why": ""}
GRACE = 10
"""Seconds that a run has to stop, when the command was killed."""
Key = tuple[str, str, Run]


class Progress:
    """Progress, and an estimate of the rest.

    Parameters
    ----------
    minutes : float
        Estimated minutes of all runs.
    jobs : int
        Runs side by side.
    """

    def __init__(self, minutes: float, jobs: int) -> None:
        self.left, self.jobs, self.done, self.spent = minutes, jobs, 0.0, 0.0
        print(f"about {_time(minutes / jobs)}, as estimated for two cores", flush=True)

    def tell(self, run: Run, record: Record | None, seconds: float) -> None:
        """Print a line about a run that has ended."""
        self.left -= run.minutes
        self.done, self.spent = self.done + run.minutes, self.spent + seconds / 60
        outcome = _outcome(record)
        rest = max(self.left, 0) * self.spent / max(self.done, 1e-9) / self.jobs
        print(f"{run.name}: {outcome} ({seconds:.0f} s); about {_time(rest)} left", flush=True)


def _outcome(record: Record | None) -> str:
    if record is None:
        return "not finished; it goes on next time"
    told: str = record.get("absent") or record["failed"]
    return told or f"{100 * record['test_accuracy']['active']:.2f} %"


def _time(minutes: float) -> str:
    return f"{minutes / 60:.1f} hours" if minutes >= 120 else f"{minutes:.0f} minutes"


def prepare(small: bool) -> None:
    """Make a worker's process ready."""
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
        time.sleep(GRACE)  # for the step in hand
        os._exit(1)


def make(plan: Plan, given: Arguments) -> None:
    """Make missing runs, the cheapest first, until the time is over."""
    end = time.monotonic() + 60 * given.minutes if given.minutes else float("inf")
    spawn = multiprocessing.get_context("spawn")
    small = given.scale == SMALL
    absent = set[str]()
    while runs := [each for each in plan.missing() if each[2].name not in absent]:
        progress = Progress(sum(run.minutes for *_, run in runs), given.jobs)
        most = 50 if small else 10  # runs of a process, whose memory grows
        with ProcessPoolExecutor(
            given.jobs, spawn, prepare, (small,), max_tasks_per_child=most
        ) as pool:
            for (paper, name, run), record, seconds in _made(pool, runs, given.jobs, end):
                if record and "absent" in record:
                    absent.add(run.name)
                elif record:
                    plan.add(paper, name, run, record)
                progress.tell(run, record, seconds)
        if time.monotonic() >= end:
            return


def _made(
    pool: ProcessPoolExecutor, runs: list[Key], jobs: int, end: float
) -> Iterator[tuple[Key, Record | None, float]]:
    """Make runs; yield each with its record and its seconds."""
    waiting, going = iter(runs), dict[Future[Record | None], tuple[Key, float]]()
    while True:
        while len(going) < jobs and time.monotonic() < end and (key := next(waiting, None)):
            now = time.monotonic()
            seconds = 0 if end == float("inf") else end - now
            going[pool.submit(completed, key[2], seconds)] = key, now
        if not going:
            return
        for future in wait(going, return_when=FIRST_COMPLETED).done:
            key, started = going.pop(future)
            yield key, future.result(), time.monotonic() - started


def show(wanted: dict[str, list[Table]], plan: Plan, report: Report) -> None:
    """Add a table to the report for each of a paper."""
    known = papers()
    for name, tables in wanted.items():
        paper = known[name]
        for table in tables:
            shown = report.table(f"{paper.title}, {table.place}: {table.title}", COLUMNS)
            for cell in (*table.cells, *table.ends):
                record = kept(plan, name, paper, cell.experiment)
                found = judged(paper, cell, record)
                numbers = (cell.claim, cell.spread, found.mean, found.std, len(found.values))
                shown.add(cell.row, cell.column, *numbers, found.verdict, found.why)


def kept(plan: Plan, name: str, paper: Paper, experiment: str | None) -> Record | None:
    """Return the results of an experiment with its present settings."""
    if experiment is None:
        return None
    return plan.record(*paper.experiments[experiment].place(name, experiment))


def measure(given: Arguments, report: Report) -> None:
    """Make missing runs, and show the tables asked for."""
    wanted, small = asked_for(given.names), given.scale == SMALL
    with tempfile.TemporaryDirectory(prefix="vfl-flower-") as temporary:
        out = Path(given.out or temporary)
        place = Path(given.results) if given.results else out / "results" if small else RESULTS
        flags = {name: getattr(given, name.replace("-", "_")) for name in CIRCUMSTANCES}
        settings, store = Settings(given.seeds, small, flags, out, given.only), Store(place)
        plan = Plan(wanted, settings, store)
        make(plan, given)
        show(wanted, Plan(wanted, replace(settings, only=""), store), report)
        failed = plan.failures() if small else []
    if failed:
        report.show()
        raise SystemExit("\n".join(["tiny runs do not fail, but these did:", *failed]))


BENCHMARK = Benchmark(
    measure,
    {
        "data_dir": DATA_DIR,
        "out": Option("runs/reproduced", tiny=None, help="folder of runs, which are resumed in it"),
        "results": Option(None, help="folder of the results; None: the repository's own"),
        "seeds": Option(3, tiny=1, help="seeds of every experiment"),
        "scale": Option("full", tiny=SMALL, help=SCALES, choices=("full", SMALL)),
        "only": Option("", help="a part of the names of the experiments to run, as in mixed"),
        "jobs": Option(1, help="runs side by side"),
        "minutes": Option(0.0, help="time after which it stops; 0: none"),
        "device": Option("cpu", help="where networks compute: cpu or cuda", choices=NAMED),
        "precision": Option("float32", help=PRECISION, choices=PRECISIONS),
    },
    known=table_names(),
    few=["vim:fig5"],
    timed=False,  # it is begun again and again, and no time is among its results
)

if __name__ == "__main__":
    BENCHMARK.run()
