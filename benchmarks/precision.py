"""Accuracy and time with layers in bfloat16, beside float32.

    python -m benchmarks.precision --data-dir DIR [NAME ...]

The same runs in both precisions, in turn: SplitNN with the same network at every party. Each pair
has the same seed, split and initial weights. The difference is that of test accuracies, bfloat16's
minus float32's; the ratio is that of the runs' seconds, with their evaluations. Both are means over
the pairs. A residual network sees a part of the rows, and its accuracy is that of a beginning.
"""

import statistics
import tempfile
from pathlib import Path

from benchmarks.harness.benchmark import DATA_DIR, OUT, Arguments, Benchmark, Option
from benchmarks.harness.experiments import Flags, result_of
from benchmarks.harness.report import Report

PRECISIONS = ("float32", "bf16")
ROWS = {"resnet18": "4000"}
"""Training rows of networks that take long."""
COLUMNS = {"network": "", "training rows": ",", "pairs": "", "float32 %": ".2f", "bf16 %": ".2f"}
COLUMNS |= {"difference": ".2f", "std": ".2f", "s": ".1f", "s, bf16": ".1f", "ratio": ".2f"}


def flags_of(network: str, precision: str, seed: int, given: Arguments) -> Flags:
    """Return the flags of a run."""
    return {
        "method": "splitnn",
        "models": network,
        "parties": "2",
        "seed": str(seed),
        "epochs": str(given.epochs),
        "dataset": given.dataset,
        "train-rows": given.rows or ROWS.get(network, "0"),
        "precision": precision,
        "validation": "0",
        "baselines": "off",
        "device": "cpu",
    }


def measure(given: Arguments, report: Report) -> None:
    """Train in both precisions, in turn."""
    title = f"SplitNN on {given.dataset}, two parties, {given.epochs} epochs"
    table = report.table(title, COLUMNS)
    with tempfile.TemporaryDirectory(prefix="vfl-flower-") as temporary:
        place = Path(given.out or temporary)
        for network in given.names:
            pairs = [pair_of(place, network, seed, given) for seed in range(given.seeds)]
            single, half = zip(*pairs, strict=True)
            gains = [b - a for (a, _), (b, _) in pairs]
            seconds = [statistics.mean(s for _, s in side) for side in (single, half)]
            table.add(
                network,
                int(given.rows or ROWS.get(network, "0")) or None,
                len(pairs),
                *(statistics.mean(share for share, _ in side) for side in (single, half)),
                statistics.mean(gains),
                statistics.stdev(gains) if len(gains) > 1 else None,
                *seconds,
                statistics.mean(b / a for (_, a), (_, b) in pairs),
            )


def pair_of(place: Path, network: str, seed: int, given: Arguments) -> list[tuple[float, float]]:
    """Return test accuracy, in percent, and seconds in each precision."""
    found = []
    for precision in PRECISIONS:
        folder = place / f"{network}-{precision}-{seed}"
        flags = flags_of(network, precision, seed, given)
        result = result_of({**flags, "data-dir": given.data_dir}, folder)
        found.append((100 * result["test_accuracy"]["active"], result["seconds"]))
    return found


BENCHMARK = Benchmark(
    measure,
    {
        "data_dir": DATA_DIR,
        "out": OUT,
        "dataset": Option("mnist", tiny="digits"),
        "rows": Option("", tiny="300", help="training rows; empty: all, but few for resnet18"),
        "epochs": Option(2, tiny=1, help="epochs of training"),
        "seeds": Option(3, tiny=1, help="pairs of runs"),
    },
    known=["mlp", "cnn", "lenet", "resnet18"],
    few=["mlp"],
)

if __name__ == "__main__":
    BENCHMARK.run()
