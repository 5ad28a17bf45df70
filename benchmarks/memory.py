"""Peak memory of local runs beside that of the libraries alone.

    python -m benchmarks.memory --data-dir DIR [--runs mnist:4,cifar10:2]

Each line is a process of its own, in which all parties run: one epoch of EASTER with its default
networks. The libraries are what every such process imports, wherever it is: torch, Flower, and
scikit-learn for the metrics.
"""

import multiprocessing
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any

from benchmarks.harness.benchmark import DATA_DIR, Arguments, Benchmark, Option
from benchmarks.harness.report import Report
from vfl_flower.runs.memory import peak_memory

MIB = 1 << 20
PROCESSES = multiprocessing.get_context("spawn")


def libraries() -> float:
    """Import the packages of a run; return the peak in MiB."""
    import sklearn.metrics  # noqa: F401  the import is what is measured

    import vfl_flower.workflows.run  # noqa: F401

    return (peak_memory() or 0) / MIB


def run(dataset: str, parties: int, data_dir: str) -> float:
    """Train for one epoch; return the peak in MiB."""
    import vfl_flower as vfl  # nothing of a run is imported before it

    own: dict[str, Any] = {"epochs": 1, "baselines": "off", "device": "cpu", "download": False}
    if parties == 2:
        own["blinding"] = "none"  # one embedding has no sum to hide in
    trained = vfl.train(dataset, parties=parties, data_dir=data_dir, progress=False, **own)
    return int(trained.result["peak_memory"] or 0) / MIB


def apart(work: Callable[..., float], *arguments: Any) -> float:  # noqa: ANN401
    """Measure in a process of its own."""
    with ProcessPoolExecutor(1, mp_context=PROCESSES) as pool:
        return pool.submit(work, *arguments).result()


def measure(given: Arguments, report: Report) -> None:
    """Measure the libraries, then each run."""
    columns = {"data": "", "parties": "", "libraries MiB": ".0f", "peak MiB": ".0f"}
    table = report.table("peak memory of local runs", columns | {"run alone MiB": ".0f"})
    floor = apart(libraries)
    for text in given.runs.split(","):
        dataset, parties = text.split(":")
        peak = apart(run, dataset, int(parties), given.data_dir)
        table.add(dataset, int(parties), floor, peak, peak - floor)


BENCHMARK = Benchmark(
    measure,
    {
        "data_dir": DATA_DIR,
        "runs": Option("mnist:4,cifar10:2", tiny="digits:3", help="data sets, with parties"),
    },
    timed=False,
)

if __name__ == "__main__":
    BENCHMARK.run()
