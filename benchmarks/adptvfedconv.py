"""AdptVFedConv's experiments on CIFAR-10, by name.

    python -m benchmarks.adptvfedconv --data-dir DIR --out DIR [NAME ...]

Without names all are run, one after the other, but for those whose results are there; one that was
cut off goes on from its last checkpoint. All have a quarter of VGG-16's width, 5,000 training rows
and 8 epochs: what two cores can do in minutes. The table says how many test rows are right, how
well the passive parties' decoders make tiles of their maps, and how much they send.
"""

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness.benchmark import DATA_DIR, OUT, Arguments, Benchmark
from benchmarks.harness.experiments import Flags, fill
from benchmarks.harness.report import Cell, Report
from vfl_flower.config.run_config import RunConfig
from vfl_flower.runs.run_folder import RunFolder

MIB = 1 << 20

SMALL = {
    "dataset": "cifar10",
    "parties": "4",
    "partition": "grid:2x2",
    "width": "0.25",
    "train-rows": "5000",
    "validation": "0.02",
    "batch-size": "64",
    "optimizers": "adam",
    "learning-rates": "0.001",
    "schedule": "cosine",
    "epochs": "8",
    "baselines": "off",
    "device": "cpu",
    "threads": "1",
}
"""Four parties with a quarter of each image, as in the paper, but less of everything else."""

OURS = SMALL | {"method": "adptvfedconv", "pretrain-epochs": "8", "local-epochs": "2"}
CENTRAL = SMALL | {"method": "central", "cut": "2C+1M", "padding": "zeros"}
CUTS = ("1C", "2C", "3C+1M", "4C+1M", "4C+2M", "5C+2M", "6C+2M", "7C+2M", "7C+3M")

EXPERIMENTS: dict[str, Flags] = {
    "ours": OURS,
    "central": CENTRAL,
    "own tile": SMALL | {"method": "local", "cut": "2C+1M"},
    "no transfer": OURS | {"no-model-transfer": None},
    "zero padding": OURS | {"padding": "zeros"},
    **{cut: OURS | {"cut": cut} for cut in CUTS},
    "float16": OURS | {"compression": "float16"},
    "quantize:8": OURS | {"compression": "quantize:8"},
    "two views": OURS | {"views": "2"},
    "central, augmented": CENTRAL | {"views": "2"},
}


TINY = {"dataset": "digits", "width": "0.05", "train-rows": "256", "epochs": "1"}
TINY_STAGES = {"pretrain-epochs": "1", "local-epochs": "1"}


def tiny(flags: Flags) -> Flags:
    """Shorten an experiment."""
    return {**flags, **TINY, **{key: one for key, one in TINY_STAGES.items() if key in flags}}


def row(folder: Path) -> list[Cell]:
    """Return the cells of a run."""
    result: dict[str, Any] = RunFolder(folder, RunConfig(), fresh=False).result() or {}
    errors = list(result["figures"].values())
    return [
        100 * result["test_accuracy"]["active"],
        float(np.mean(errors)) if errors else None,
        result["bytes_up"] / MIB,
        result["evaluation"]["bytes_up"] / MIB,
        result["bytes_down"] / MIB,
        result["seconds"],
    ]


def measure(given: Arguments, report: Report) -> None:
    """Run the experiments."""
    columns = {"experiment": "", "test %": ".2f", "error": ".4f", "MiB up": ".1f"}
    columns |= {"of held-out": ".1f", "MiB down": ".1f", "s": ".0f"}
    table = report.table("AdptVFedConv", columns)
    shorten = tiny if given.tiny else lambda flags: flags
    fill(table, given, lambda name: shorten(EXPERIMENTS[name]), row)


BENCHMARK = Benchmark(
    measure,
    {"data_dir": DATA_DIR, "out": OUT},
    known=list(EXPERIMENTS),
    few=["ours", "central"],
)

if __name__ == "__main__":
    BENCHMARK.run()
