"""Accuracy and bytes with messages of 16 and 8 bits, beside 32.

    python -m benchmarks.wire --data-dir DIR [METHOD ...]

The same runs in every precision of the wire: four parties with an MLP each. Where a method sums
embeddings under masks, all have ``embedding-bound`` 16, so that only the precision differs.
The difference is that of test accuracies, the precision's minus float32's, over pairs of the same
seed. MiB is what all parties together send and get in training.
"""

import statistics
import tempfile
from pathlib import Path
from typing import NamedTuple

from benchmarks.harness.benchmark import DATA_DIR, OUT, Arguments, Benchmark, Option
from benchmarks.harness.experiments import Flags, result_of
from benchmarks.harness.report import Report
from vfl_flower.config.catalog import FLOAT32, WIRE_PRECISIONS
from vfl_flower.config.registry import spec_of

MIB = 1 << 20
COLUMNS = {"method": "", "wire-precision": "", "pairs": "", "test accuracy, %": ".2f"}
COLUMNS |= {"difference": ".2f", "std": ".2f", "MiB": ".1f"}


class Outcome(NamedTuple):
    """Test accuracy of the active party, in percent, and MiB of training."""

    accuracy: float
    size: float


def flags_of(method: str, precision: str, seed: int, given: Arguments) -> Flags:
    """Return the flags of a run."""
    bound = {"embedding-bound": "16"} if spec_of(method).blinds else {}
    return bound | {
        "method": method,
        "models": "mlp",
        "seed": str(seed),
        "epochs": str(given.epochs),
        "dataset": given.dataset,
        "wire-precision": precision,
        "baselines": "off",
        "device": "cpu",
    }


def measure(given: Arguments, report: Report) -> None:
    """Train in every precision, in turn."""
    table = report.table(f"four parties on {given.dataset}, {given.epochs} epochs", COLUMNS)
    with tempfile.TemporaryDirectory(prefix="vfl-flower-") as temporary:
        place = Path(given.out or temporary)
        for method in given.names:
            runs = {
                precision: [run(place, method, precision, s, given) for s in range(given.seeds)]
                for precision in WIRE_PRECISIONS
            }
            for precision, found in runs.items():
                pairs = zip(found, runs[FLOAT32], strict=True)
                gains = [narrow.accuracy - whole.accuracy for narrow, whole in pairs]
                table.add(
                    method,
                    precision,
                    len(found),
                    statistics.mean(each.accuracy for each in found),
                    statistics.mean(gains),
                    statistics.stdev(gains) if len(gains) > 1 else None,
                    statistics.mean(each.size for each in found),
                )


def run(place: Path, method: str, precision: str, seed: int, given: Arguments) -> Outcome:
    """Train once."""
    folder = place / f"{method}-{precision}-{seed}"
    flags = flags_of(method, precision, seed, given)
    result = result_of({**flags, "data-dir": given.data_dir}, folder)
    size = (result["bytes_up"] + result["bytes_down"]) / MIB
    return Outcome(100 * result["test_accuracy"]["active"], size)


BENCHMARK = Benchmark(
    measure,
    {
        "data_dir": DATA_DIR,
        "out": OUT,
        "dataset": Option("mnist", tiny="digits"),
        "epochs": Option(3, tiny=1, help="epochs of training"),
        "seeds": Option(3, tiny=1, help="pairs of runs"),
    },
    known=["easter", "pravfed", "vfedmh", "splitnn", "vimadmm", "vimadmm_j", "agg_vfl", "fdml"],
    few=["splitnn"],
)

if __name__ == "__main__":
    BENCHMARK.run()
