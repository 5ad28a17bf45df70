"""The papers' tables and figures, their claims beside ours.

Every cell has a verdict.

    python -m benchmarks.reproduce [PAPER:TABLE ...] --seeds 3 --data-dir DATA --out RUNS

It runs what is missing, the cheapest runs first, and can be stopped and started again at any
point: results are kept in ``--results``, a JSON file for each experiment, and unfinished runs in
``--out``. ``--minutes`` ends it after a time, in the middle of a run if need be. ``--show`` makes
no run, and shows what is there. ``--scale small`` makes every run tiny, with made data.
"""

import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    Future,
    ProcessPoolExecutor,
    wait,
)
from dataclasses import replace
from pathlib import Path

from benchmarks.harness.benchmark import DATA_DIR, Arguments, Benchmark, Option
from benchmarks.harness.report import Report
from benchmarks.reproducing.paper import Paper, Table
from benchmarks.reproducing.plan import Plan, Settings, asked_for, papers, table_names
from benchmarks.reproducing.runs import Record, Run, completed
from benchmarks.reproducing.store import RESULTS, Store
from benchmarks.reproducing.verdicts import judged
from benchmarks.reproducing.workers import workers
from vfl_flower.common.errors import ConfigError, DataError, RunError
from vfl_flower.common.files import refused
from vfl_flower.common.signals import raise_at_signals
from vfl_flower.config.catalog import DEVICES, PRECISIONS
from vfl_flower.config.schema import near
from vfl_flower.learning.device import device_of

SMALL = "small"
SCALES = "full, or small: tiny runs with made data"
NAMED = [each for each in DEVICES if each != "auto"]
"""Devices that results can tell."""
PRECISION = "of networks; results tell it"
CIRCUMSTANCES = ("data-dir", "device", "precision")
"""Options that are those of all runs."""
COLUMNS = {"row": "", "column": "", "claim": ".2f", "+-": ".2f", "ours": ".2f", "std": ".2f"}
COLUMNS |= {"n": "d", "verdict": "", "why": ""}
MADE = "made data, so none"
"""Verdict on tiny runs."""
Key = tuple[str, str, Run]


class Progress:
    """Progress, and an estimate of the rest.

    Parameters
    ----------
    runs : sequence of Run
        All that are to be made.
    jobs : int
        Runs side by side.
    """

    def __init__(self, runs: Sequence[Run], jobs: int) -> None:
        self.runs, self.jobs, self.done, self.spent = [*runs], jobs, 0.0, 0.0
        print(f"{estimate(runs, jobs)}, as estimated for two cores", flush=True)

    def tell(self, run: Run, record: Record | None, seconds: float, absent: set[str]) -> None:
        """Print a line about a run that has ended.

        Runs of absent data sets are not among the rest.
        """
        if record and "absent" not in record:
            self.done, self.spent = self.done + run.minutes, self.spent + seconds / 60
        if record:
            self.runs = [each for each in self.runs if each != run and each.dataset not in absent]
        rest = _minutes(self.runs) * (self.spent / self.done if self.done else 1) / self.jobs
        told = f"{run.name}: {_outcome(record)} ({seconds:.0f} s)"
        print(f"{told}; about {_time(rest)} left", flush=True)


def _outcome(record: Record | None) -> str:
    if record is None:
        return "not finished; it goes on next time"
    told: str = record.get("absent") or record["failed"]
    return told or f"{100 * record['test_accuracy']['active']:.2f} %"


def _minutes(runs: Sequence[Run]) -> float:
    """Return the estimated minutes of some runs."""
    return sum(run.minutes for run in runs)


def estimate(runs: Sequence[Run], jobs: int) -> str:
    """Return the number of some runs and their time, as text."""
    return f"{len(runs)} run{'s' * (len(runs) != 1)}, about {_time(_minutes(runs) / jobs)}"


def _time(minutes: float) -> str:
    return f"{minutes / 60:.1f} hours" if minutes >= 120 else f"{minutes:.0f} minutes"


def make(plan: Plan, given: Arguments) -> set[str]:
    """Make missing runs, the cheapest first, until the time is over.

    Returns
    -------
    set of str
        Data sets that could not be had, whose runs are passed over.
    """
    end = time.monotonic() + 60 * given.minutes if given.minutes else float("inf")
    absent = set[str]()
    while runs := [each for each in plan.missing() if each[2].dataset not in absent]:
        make_folders(plan)
        progress = Progress([run for *_, run in runs], given.jobs)
        with workers(given.jobs, small=given.scale == SMALL) as pool:
            for (paper, name, run), record, seconds in _made(pool, runs, given.jobs, end, absent):
                if record and "absent" in record:
                    absent.add(run.dataset)
                elif record:
                    plan.add(paper, name, run, record)
                progress.tell(run, record, seconds, absent)
        if time.monotonic() >= end:
            break
    return absent


def _made(
    pool: ProcessPoolExecutor, runs: list[Key], jobs: int, end: float, absent: set[str]
) -> Iterator[tuple[Key, Record | None, float]]:
    """Make runs; yield each with its record and its seconds.

    Those of data sets that are absent, also of late, are passed over.
    """
    waiting = (each for each in runs if each[2].dataset not in absent)
    going = dict[Future[Record | None], tuple[Key, float]]()
    while True:
        while len(going) < jobs and time.monotonic() < end and (key := next(waiting, None)):
            now = time.monotonic()
            seconds = 0 if end == float("inf") else end - now
            going[pool.submit(completed, key[2], seconds)] = key, now
        if not going:
            return
        for future in wait(going, return_when=FIRST_COMPLETED).done:
            key, started = going.pop(future)
            yield key, _result(key[2], future), time.monotonic() - started


def _result(run: Run, future: Future[Record | None]) -> Record | None:
    """Return the record of a run; its errors name it."""
    try:
        return future.result()
    except (ConfigError, DataError) as error:
        raise type(error)(f"{run.name}: {error}") from error
    except BrokenExecutor as error:
        raise RunError(
            f"{run.name}, or a run beside it: its process was killed, maybe for want of memory; "
            "try fewer --jobs"
        ) from error


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
                told = (MADE, "") if plan.settings.small else (found.verdict, found.why)
                shown.add(cell.row, cell.column, *numbers, *told)


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
        check(plan, wanted)
        absent = set[str]()
        if given.show:
            missing = [run for *_, run in plan.missing()]
            print(f"missing: {estimate(missing, given.jobs)}")
        else:
            absent = make(plan, given)
        show(wanted, Plan(wanted, replace(settings, only=""), store), report)
        failed = plan.failures() if small else []
    if failed or absent:
        report.show()
        told = [f"no data set {name}: see above" for name in sorted(absent)]
        told += ["tiny runs do not fail, but these did:", *failed] if failed else []
        raise SystemExit("\n".join(told))


def check(plan: Plan, wanted: dict[str, list[Table]]) -> None:
    """Refuse settings that no run could use.

    Raises
    ------
    ConfigError
        If `only` names no experiment, there is no such device, or results would be lost.
    """
    settings, known = plan.settings, papers()
    device_of(settings.flags["device"])
    if settings.only and not plan.experiments:
        names = [each for name, tables in wanted.items() for each in known[name].needed(tables)]
        raise ConfigError(f"no experiment is called {settings.only}{near(settings.only, names)}")
    if settings.small and (there := plan.of_other_settings()):
        raise ConfigError(
            f"results of {there[0]} in {plan.store.folder} are of other settings, and tiny ones "
            "would take their place; name another folder"
        )


def make_folders(plan: Plan) -> None:
    """Make the folders of runs and of results.

    Raises
    ------
    RunError
        If one cannot be written to.
    """
    for folder in (plan.settings.out, plan.store.folder):
        with refused(folder):
            folder.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=folder).close()


BENCHMARK = Benchmark(
    measure,
    {
        "data_dir": DATA_DIR,
        "out": Option("runs/reproduced", tiny=None, help="folder of runs, which are resumed in it"),
        "results": Option(None, help="folder of the results; None: the repository's own"),
        "seeds": Option(3, tiny=1, least=1, help="seeds; some experiments have fewer, or more"),
        "scale": Option("full", tiny=SMALL, help=SCALES, choices=("full", SMALL)),
        "only": Option("", help="a part of the names of the experiments to run, as in mixed"),
        "show": Option(False, help="make no run: show the results that are there"),
        "jobs": Option(1, least=1, help="runs side by side"),
        "minutes": Option(0.0, least=0, help="time after which it stops; 0: none"),
        "device": Option("cpu", help="where networks compute: cpu or cuda", choices=NAMED),
        "precision": Option("float32", help=PRECISION, choices=PRECISIONS),
    },
    known=table_names(),
    few=["vim:fig5"],
    timed=False,  # it is begun again and again, and no time is among its results
)

if __name__ == "__main__":
    raise_at_signals()
    BENCHMARK.run()
