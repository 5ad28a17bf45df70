"""Accuracy and bytes of all methods on the same images.

    python -m benchmarks.methods --data-dir DIR [NAME ...]

Every method has its defaults but for what is common to all: the data, the network of each party,
the number of epochs. AdptVFedConv cuts a convolutional network, here a narrow one. VIM's methods
with networks have the published optimizer, batch size and local steps. Accuracies are means over
seeds, with the standard deviation; bytes are those of training, up and down, of all parties
together. The second table has the validation accuracy on the way. Nothing is chosen on test rows.
"""

import statistics
from pathlib import Path
from typing import Any

from benchmarks.harness.benchmark import DATA_DIR, OUT, Arguments, Benchmark, Option
from benchmarks.harness.experiments import Flags, fill
from benchmarks.harness.report import Cell, Report, Table
from vfl_flower.config.registry import METHODS, spec_of
from vfl_flower.config.run_config import RunConfig
from vfl_flower.runs.metrics_file import read_metrics
from vfl_flower.runs.run_folder import RunFolder

MIB = 1 << 20
NARROW = {"width": "0.05", "pretrain-epochs": "1", "local-epochs": "1", "learning-rates": "0.001"}
PUBLISHED = {
    "optimizers": "momentum",
    "learning-rates": "0.1",
    "batch-size": "1024",
    "local-steps": "20",
    "keep": "best",
    "eval-every": "10",
}
"""Published settings of VIM: few rounds with large batches and many local steps each."""

CHANGED: dict[str, Flags] = {
    "adptvfedconv": NARROW | {"models": "mixed"},
    "vimadmm": PUBLISHED,
    "vimadmm_j": PUBLISHED,
}
"""Flags of methods that cannot have the common settings."""

COMMON = ("dataset", "parties", "epochs", "seeds", "eval_every")


def flags_of(name: str, given: Arguments) -> Flags:
    """Return the flags of a method's runs."""
    common = {key.replace("_", "-"): str(getattr(given, key)) for key in COMMON}
    models = spec_of(name).network or given.models
    shared = {"method": name, "models": models, "baselines": "off", "device": "cpu"} | common
    return {**shared, **CHANGED.get(name, {})}


def results_of(folder: Path) -> dict[Path, dict[str, Any]]:
    """Return the results of all seeds, by their folders."""
    seeds = sorted(folder.glob("seed-*"))
    return {seed: RunFolder(seed, RunConfig(), fresh=False).result() or {} for seed in seeds}


def row(folder: Path) -> list[Cell]:
    """Return the cells of a method: means over the seeds."""
    found = list(results_of(folder).values())
    accuracies = [100 * result["test_accuracy"]["active"] for result in found]
    return [
        statistics.mean(accuracies),
        statistics.stdev(accuracies),
        statistics.mean(result["bytes_up"] + result["bytes_down"] for result in found) / MIB,
        found[0]["exchanges"],
        statistics.mean(result["seconds"] for result in found),
    ]


def add_course(table: Table, folder: Path) -> None:
    """Add the mean validation accuracy and the bytes of every evaluation."""
    courses = [read_metrics(seed) for seed in results_of(folder)]
    for same in zip(*courses, strict=True):
        accuracy = statistics.mean(each.validation_accuracy["active"] for each in same)
        sent = statistics.mean(each.bytes_up + each.bytes_down for each in same)
        table.add(folder.name, same[0].step, sent / MIB, 100 * accuracy)


def measure(given: Arguments, report: Report) -> None:
    """Train with every method."""
    columns = {"method": "", "test %": ".2f", "std": ".2f", "MiB": ".1f", "exchanges": ",d"}
    columns |= {"s": ".0f"}
    title = f"{given.dataset}: {given.epochs} epochs, {given.parties} parties, {given.seeds} seeds"
    ends = report.table(title, columns)
    on_the_way = {"method": "", "step": "d", "MiB": ".1f", "validation %": ".2f"}
    course = report.table("validation accuracy on the way", on_the_way)

    def row_of(folder: Path) -> list[Cell]:
        add_course(course, folder)
        return row(folder)

    fill(ends, given, lambda name: flags_of(name, given), row_of)


BENCHMARK = Benchmark(
    measure,
    {
        "data_dir": DATA_DIR,
        "out": OUT,
        "dataset": Option("mnist", tiny="digits"),
        "models": Option("mlp", help="network of every party, where a method leaves the choice"),
        "parties": Option(4, tiny=3, help="number of parties"),
        "epochs": Option(3, tiny=1, help="epochs of training"),
        "seeds": Option(3, tiny=2, help="number of seeds"),
        "eval_every": Option(50, tiny=5, help="steps between evaluations"),
    },
    known=list(METHODS),
    few=["splitnn", "local"],
)

if __name__ == "__main__":
    BENCHMARK.run()
