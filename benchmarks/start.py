"""Time from importing torch to the end of the first step.

    python -m benchmarks.start --data-dir DIR [--repeats 5]

Each repetition starts new interpreters in turn: a plain PyTorch program, which takes one step of
Adam on one linear layer, and a run of four parties on each data set. What counts are seconds after
``import torch``, of the processor and by the clock. The plain program's are torch's own: its
optimizers import torch's compiler, which runs here do without.
"""

import json
import statistics
import subprocess
import sys
from pathlib import Path

from benchmarks.harness.benchmark import DATA_DIR, Arguments, Benchmark, Option
from benchmarks.harness.parallel import ONE_THREAD
from benchmarks.harness.report import Report

HEAD = """
import json, os, sys, time
import torch
cpu, clock = time.process_time(), time.perf_counter()
def told():
    print(json.dumps([time.process_time() - cpu, time.perf_counter() - clock]), flush=True)
    os._exit(0)
"""
PLAIN = """
layer = torch.nn.Linear(3, 3)
optimizer = torch.optim.Adam(layer.parameters())
layer(torch.zeros(2, 3)).sum().backward()
optimizer.step()
told()
"""
RUN = """
import vfl_flower as vfl
class First(vfl.Callback):
    def on_step(self, step, losses):
        told()
vfl.train(sys.argv[1], data_dir=sys.argv[2], download=False, callbacks=[First()], progress=False)
"""
PLAIN_NAME = "a plain step of PyTorch"


def spent(program: str, *words: str) -> tuple[float, float]:
    """Run a program; return its seconds, of processor and clock."""
    command = (sys.executable, "-c", HEAD + program, *words)
    done = subprocess.run(  # noqa: S603  our own interpreter and words
        command, check=True, capture_output=True, text=True, env=environment()
    )
    cpu, clock = json.loads(done.stdout.splitlines()[-1])
    return cpu, clock


def environment() -> dict[str, str]:
    """Return the environment of the programs, one thread each."""
    return ONE_THREAD | {"PATH": "", "PYTHONPATH": str(Path(__file__).parent.parent)}


def measure(given: Arguments, report: Report) -> None:
    """Measure each program, in turn."""
    programs: dict[str, tuple[str, ...]] = {PLAIN_NAME: (PLAIN,)}
    for name in given.datasets.split(","):
        programs[f"a run on {name}"] = RUN, name, str(given.data_dir)
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in programs}
    for _ in range(given.repeats):
        for name, program in programs.items():
            found[name].append(spent(*program))
    columns = {"program": "", "processor, s": ".2f", "clock, s": ".2f", "beyond plain, s": ".2f"}
    table = report.table("from import torch to the end of the first step, medians", columns)
    plain = statistics.median(cpu for cpu, _ in found[PLAIN_NAME])
    for name, times in found.items():
        cpu, clock = (statistics.median(each) for each in zip(*times, strict=True))
        table.add(name, cpu, clock, None if name == PLAIN_NAME else cpu - plain)


BENCHMARK = Benchmark(
    measure,
    {
        "data_dir": DATA_DIR,
        "datasets": Option("digits,mnist", tiny="digits", help="data sets of the runs"),
        "repeats": Option(5, tiny=1, help="of every program"),
    },
)

if __name__ == "__main__":
    BENCHMARK.run()
