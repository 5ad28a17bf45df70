"""AdptVFedConv's experiments on CIFAR-10, by name.

    python -m benchmarks.adptvfedconv --data-dir DIR --out DIR [NAME ...]

Without names all are run, one after the other, but for those whose results are there; one that was
cut off goes on from its last checkpoint. All have a quarter of VGG-16's width, 5,000 training rows
and 8 epochs: what two cores can do in minutes. The table says how many test rows are right, how
well the passive parties' decoders make tiles of their maps, and how much they send.
"""

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.experiments import Flags, complete, given
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
    "bounds": "off",
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


def row(name: str, folder: Path) -> list[str]:
    """Return an experiment's row of the table."""
    result: dict[str, Any] = RunFolder(folder, RunConfig(), fresh=False).result() or {}
    errors = list(result["figures"].values())
    return [
        name,
        f"{100 * result['test_accuracy']['active']:.2f}",
        f"{np.mean(errors):.4f}" if errors else "",
        f"{result['bytes_up'] / MIB:.1f}",
        f"{result['evaluation']['bytes_up'] / MIB:.1f}",
        f"{result['bytes_down'] / MIB:.1f}",
        f"{result['seconds']:.0f}",
    ]


def main() -> None:
    """Run the named experiments and print the table."""
    args = given(argparse.ArgumentParser(description=__doc__.splitlines()[0]), EXPERIMENTS)
    table = Table("experiment", "test %", "error", "MiB up", "of held-out", "MiB down", "s")
    for name, folder in complete(args, EXPERIMENTS):
        table.add_row(*row(name, folder))
    Console().print(table)


if __name__ == "__main__":
    main()
