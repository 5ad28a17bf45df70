"""The command with a run of days, for tests to stop."""

import sys
from dataclasses import replace

from benchmarks import reproduce
from benchmarks.reproducing import plan
from benchmarks.reproducing.paper import Experiment
from tests.benchmarks.reproducing.made import ALONE, BENCHMARK, PAPER
from vfl_flower.common.signals import raise_at_signals

LONG = Experiment(ALONE | {"epochs": "1000000"}, minutes=1000)

if __name__ == "__main__":
    paper = replace(PAPER, experiments=dict(PAPER.experiments) | {"alone": LONG})
    for module in (plan, reproduce):
        vars(module)["papers"] = lambda: {"made": paper}
    raise_at_signals()
    BENCHMARK.run([*sys.argv[1:], "--seeds", "1", "made:table1"])
