"""Memory and disk of AdptVFedConv's upload: VGG-16 on all of CIFAR-10.

    python -m benchmarks.upload --data-dir DIR --out DIR

The parties' extractors are as they were drawn, for their weights change no size. All parties are in
one process, a new one for each size of messages. The maps' file is mapped: what the operating
system keeps of it in memory counts as resident, although it gives that back when others need it.
Anonymous memory is what it cannot.
"""

import multiprocessing
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

from benchmarks.harness.benchmark import DATA_DIR, OUT, Arguments, Benchmark, Option
from benchmarks.harness.report import Report
from strategies.adptvfedconv import AdptVFedConv
from strategies.specs.adptvfedconv import SPEC
from vfl_flower.config.registry import METHODS
from vfl_flower.config.run_config import RunConfig
from vfl_flower.protocol.exchange import Protocol
from vfl_flower.runs.memory import peak_memory
from vfl_flower.training.loop import stage
from vfl_flower.transport.local import run_local
from vfl_flower.workflows.build_parties import build_active, build_passive

KIB, GIB = 1 << 10, 1 << 30
BLOCK = 512  # bytes, in which file systems count
INTERVAL = 0.02  # seconds between two looks at the memory
PROCESSES = multiprocessing.get_context("spawn")


class UploadAlone(AdptVFedConv):
    """Asks for the maps of all rows, and nothing else."""

    def protocol(self) -> Protocol:
        """Algorithm 1, lines 8 and 9."""
        due = list(self.uploads())
        yield from stage(self, "upload", len(due), lambda n: self.upload(due[n], self.maps))


# the name is known to the registry while parties are built
ALONE = replace(SPEC, strategy=f"{__name__}:UploadAlone")


def anonymous() -> int:
    """Return this process's anonymous resident memory, in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * KIB for line in lines if line.startswith("RssAnon"))


@contextmanager
def watched() -> Iterator[list[int]]:
    """Sample the anonymous memory; the yielded list holds the peak in bytes."""
    most, over = [anonymous()], threading.Event()

    def look() -> None:
        while not over.wait(INTERVAL):
            most[0] = max(most[0], anonymous())

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        yield most
    finally:
        over.set()
        watcher.join()


def measure(given: Arguments, report: Report) -> None:
    """Measure uploads in messages of several sizes."""
    names = ("GiB before", "most GiB", "with mapped pages", "of disk")
    title = f"upload of {given.dataset}'s feature maps, width {given.width:g}"
    columns = {"rows a message": "", **dict.fromkeys(names, ".2f"), "s": ".0f"}
    table = report.table(title, columns)
    for rows in map(int, given.rows.split(",")):
        with ProcessPoolExecutor(1, mp_context=PROCESSES) as pool:  # peaks are a process's
            table.add(rows, *pool.submit(uploaded, given, rows).result())


def uploaded(given: Arguments, rows: int) -> tuple[float, ...]:
    """Build the parties, let them upload, and return GiB and seconds."""
    cfg = RunConfig(
        method="adptvfedconv",
        dataset=given.dataset,
        data_dir=given.data_dir,
        partition="grid:2x2",
        width=given.width,
        validation=0.02,
        batch_size=64,
        eval_batch_size=rows,
        baselines="off",
        device="cpu",
    )
    with tempfile.TemporaryDirectory(dir=given.out) as temporary:
        out = Path(temporary)
        with patch.dict(METHODS, {cfg.method: f"{__name__}:ALONE"}):
            passive = [build_passive(cfg, rank, out) for rank in range(1, cfg.parties)]
            active = build_active(cfg, out)
        before, started = anonymous(), time.perf_counter()
        with watched() as most:
            run_local(active, passive)
        spent = time.perf_counter() - started
        resident = peak_memory() or 0
        assert isinstance(active, AdptVFedConv) and active.maps.path  # noqa: S101  it was built so
        disk = active.maps.path.stat().st_blocks * BLOCK
        active.maps.delete()
    return *(size / GIB for size in (before, most[0], resident, disk)), spent


BENCHMARK = Benchmark(
    measure,
    {
        "data_dir": DATA_DIR,
        "out": OUT,
        "dataset": Option("cifar10", tiny="digits"),
        "rows": Option("4096,512", tiny="100", help="rows a message, eval-batch-size"),
        "width": Option(1.0, tiny=0.05, help="width of VGG-16"),
    },
)

if __name__ == "__main__":
    BENCHMARK.run()
