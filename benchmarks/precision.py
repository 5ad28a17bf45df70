"""Accuracy and time with layers in bfloat16, beside float32.

    python -m benchmarks.precision --data-dir DIR [NAME ...]

The same runs in both precisions, in turn: SplitNN with the same network at both parties. Each pair
has the same seed, split and initial weights. The difference is that of test accuracies, bfloat16's
minus float32's. The time of a step is that of the whole run by its steps, so that evaluations on
test rows are in it; the ratio is bfloat16's by float32's. All are means over the pairs. Large
networks see a part of CIFAR-10, and their accuracy is that of a beginning.
"""

import statistics
import tempfile
from pathlib import Path

import torch

from benchmarks.harness.benchmark import DATA_DIR, OUT, Arguments, Benchmark, Option
from benchmarks.harness.experiments import Flags, result_of
from benchmarks.harness.report import Report
from vfl_flower.config.catalog import PRECISIONS

LARGE = {"dataset": "cifar10", "train-rows": "2000", "test-rows": "1000"}
"""Data of networks that take long."""
DATA = {"resnet18": LARGE, "vgg16_bn": LARGE}
COLUMNS = {"network": "", "data": "", "training rows": "", "pairs": "", "float32 %": ".2f"}
COLUMNS |= {"bf16 %": ".2f", "difference": ".2f", "std": ".2f", "ms a step": ".0f"}
COLUMNS |= {"ms, bf16": ".0f", "ratio": ".2f"}


def data_of(network: str, given: Arguments) -> dict[str, str]:
    """Return the flags of a network's data."""
    return DATA.get(network, {"dataset": given.dataset, "train-rows": given.rows})


def flags_of(network: str, precision: str, seed: int, given: Arguments) -> Flags:
    """Return the flags of a run."""
    return {
        "method": "splitnn",
        "models": network,
        "parties": "2",
        "seed": str(seed),
        "epochs": str(given.epochs),
        **data_of(network, given),
        "precision": precision,
        "validation": "0",
        "baselines": "off",
        "device": "cpu",
    }


def measure(given: Arguments, report: Report) -> None:
    """Train in both precisions, in turn."""
    title = f"SplitNN with two parties, {given.epochs} epochs"
    table = report.table(title, COLUMNS)
    able = torch.cpu.get_capabilities()
    names = [name for name in ("avx512_bf16", "amx_bf16") if able.get(name)]
    report.fact("instructions for bfloat16", ", ".join(names) or "none")
    with tempfile.TemporaryDirectory(prefix="vfl-flower-") as temporary:
        place = Path(given.out or temporary)
        for network in given.names:
            pairs = [pair_of(place, network, seed, given) for seed in range(given.seeds)]
            single, half = zip(*pairs, strict=True)
            gains = [b - a for (a, _), (b, _) in pairs]
            times = [1e3 * statistics.mean(s for _, s in side) for side in (single, half)]
            data = data_of(network, given)
            table.add(
                network,
                data["dataset"],
                "all" if data["train-rows"] == "0" else data["train-rows"],
                len(pairs),
                *(statistics.mean(share for share, _ in side) for side in (single, half)),
                statistics.mean(gains),
                statistics.stdev(gains) if len(gains) > 1 else None,
                *times,
                statistics.mean(b / a for (_, a), (_, b) in pairs),
            )


def pair_of(place: Path, network: str, seed: int, given: Arguments) -> list[tuple[float, float]]:
    """Return test accuracy, in percent, and seconds a step in each precision."""
    found = []
    for precision in PRECISIONS:
        folder = place / f"{network}-{precision}-{seed}"
        flags = flags_of(network, precision, seed, given)
        result = result_of({**flags, "data-dir": given.data_dir}, folder)
        time = result["seconds"] / result["steps"]
        found.append((100 * result["test_accuracy"]["active"], time))
    return found


BENCHMARK = Benchmark(
    measure,
    {
        "data_dir": DATA_DIR,
        "out": OUT,
        "dataset": Option("mnist", tiny="digits", help="data of small networks"),
        "rows": Option("0", tiny="300", help="training rows of small networks; 0: all"),
        "epochs": Option(2, tiny=1, help="epochs of training"),
        "seeds": Option(3, tiny=1, help="pairs of runs"),
    },
    known=["mlp", "cnn", "lenet", "resnet18", "vgg16_bn"],
    few=["mlp"],
)

if __name__ == "__main__":
    BENCHMARK.run()
