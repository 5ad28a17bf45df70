"""Time and memory of boosted trees by rows, gradients in the clear.

    python -m benchmarks.trees_scale [--rows 10000,100000,1000000]

Three parties hold a hundred columns together, and grow trees of six layers. Each
measurement is a process of its own with all parties in it: peak memory, after the first round and
after the last, is that of them together, and so are the made columns in it. Seconds are of the
processor, in the mean of all rounds but the first, in which parties bin their columns: those of the
passive party that takes most, and the active party's with all else.
"""

import multiprocessing
import time
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from flwr.client import Client
from flwr.common import FitIns, FitRes, GetPropertiesIns, GetPropertiesRes

from benchmarks.harness.benchmark import Arguments, Benchmark, Option
from benchmarks.harness.made_table import NAME, made_table
from benchmarks.harness.report import Report
from vfl_flower.config.run_config import RunConfig
from vfl_flower.protocol.observer import Evaluation, Observer
from vfl_flower.runs.memory import peak_memory
from vfl_flower.transport.endpoint import Endpoint
from vfl_flower.transport.local import serve
from vfl_flower.workflows.build_parties import build_active, build_passive

MIB = 1 << 20
COLUMNS = {"rows": ",", "columns": "d", "table MiB": ".0f", "first round s": ".1f"}
COLUMNS |= dict.fromkeys(("a passive party s", "active party s"), ".2f")
COLUMNS |= dict.fromkeys(("peak MiB, round 1", "peak MiB, last round"), ".0f")


@dataclass
class Clocked(Client):
    """Notes the processor time of a party's answers."""

    client: Client
    spent: float = 0.0

    def get_properties(self, ins: GetPropertiesIns) -> GetPropertiesRes:
        """Answer the roll call."""
        return self.client.get_properties(ins)

    def fit(self, ins: FitIns) -> FitRes:
        """Answer one exchange."""
        started = time.thread_time()
        try:
            return self.client.fit(ins)
        finally:
            self.spent += time.thread_time() - started


class Watch(Observer):
    """Notes times and peak memory after each round."""

    def __init__(self, passive: list[Clocked]) -> None:
        self.passive, self.peak = passive, list[float]()
        self.spent: dict[str, list[float]] = defaultdict(list)

    def note(self) -> None:
        """Note the seconds so far."""
        passive = [party.spent for party in self.passive]
        self.spent["passive"].append(max(passive))
        self.spent["active"].append(time.process_time() - sum(passive))

    def on_start(self, step: int, steps: int, records: list[Evaluation]) -> None:
        """Begin before the first round."""
        self.note()

    def on_step(self, step: int, losses: list[float]) -> None:
        """Note the end of a round."""
        self.note()
        self.peak.append((peak_memory() or 0) / MIB)

    def rounds(self, name: str) -> list[float]:
        """Return a party's seconds of each round."""
        return np.diff(self.spent[name]).tolist()


def train(rows: int, columns: int, rounds: int, bins: int) -> list[float]:
    """Train in this process; return the cells of its row."""
    torch.set_num_threads(1)
    with made_table(rows, columns):
        flags: dict[str, Any] = {"dataset": NAME, "parties": 3, "partition": "columns"}
        flags |= {"method": "boosted_trees", "epochs": rounds, "bins": bins, "baselines": "off"}
        cfg = RunConfig(**flags)
        active = build_active(cfg)
        passive = [Clocked(Endpoint(build_passive(cfg, rank))) for rank in (1, 2)]
        watch = active.observer = Watch(passive)
        serve(active, passive)
    (first, *own), (begun, *theirs) = watch.rounds("active"), watch.rounds("passive")
    seconds = first + begun, float(np.mean(theirs)), float(np.mean(own))
    return [rows * columns * 4 / MIB, *seconds, watch.peak[0], watch.peak[-1]]


def apart(*given: int) -> list[float]:
    """Train in a process of its own."""
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=spawn) as pool:
        return pool.submit(train, *given).result()


def measure(given: Arguments, report: Report) -> None:
    """Measure one number of rows after the other."""
    table = report.table("Boosted trees on made tables, gradients in the clear", COLUMNS)
    for rows in map(int, given.rows.split(",")):
        table.add(rows, given.columns, *apart(rows, given.columns, given.rounds, given.bins))


BENCHMARK = Benchmark(
    measure,
    {
        "rows": Option("10000,100000,1000000", tiny="500", help="numbers of rows"),
        "columns": Option(100, tiny=6, help="of all parties together"),
        "rounds": Option(3, tiny=2, help="rounds of trees, at least two"),
        "bins": Option(255, tiny=8, help="bins of a column"),
    },
)

if __name__ == "__main__":
    BENCHMARK.run()
