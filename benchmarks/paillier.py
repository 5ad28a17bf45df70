"""Time of boosted trees on encrypted gradients, and of its parts.

    python -m benchmarks.paillier --data-dir DIR

Three parties hold the columns of a table in their published order, split as in `benchmarks.trees`.
A run in the clear and an encrypted one with keys of 2048 bits are compared, of the same trees.
Times are of the processor, of all parties together: of the active party's encryption and
decryption, and of the passive parties' sums by bin, packing and fresh randomness; the rest is all
else of the run, evaluations included. A hundred trees are extrapolated from those measured. Between
parties that compute at once, the passive parties' times overlap.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import wraps
from typing import Any
from unittest.mock import patch

import torch

from benchmarks.harness.benchmark import DATA_DIR, Arguments, Benchmark, Option
from benchmarks.harness.report import Report
from benchmarks.harness.table_runs import Split, ran
from strategies.boosted_trees import BoostedTrees
from vfl_flower.algorithms.boosting.channels.encrypted_growth import EncryptedGrowth
from vfl_flower.config.run_config import RunConfig
from vfl_flower.crypto.paillier import PrivateKey, PublicKey

PARTS: dict[str, tuple[type, str]] = {
    "encrypt": (PrivateKey, "encrypt"),
    "add": (EncryptedGrowth, "left"),
    "pack": (PublicKey, "packed"),
    "randomise": (PublicKey, "randomised"),
    "decrypt": (PrivateKey, "decrypt"),
}
"""Where each part of the time is spent; none of them calls another."""

COLUMNS = {"run": "", "trees": "d", "s": ",.1f", **dict.fromkeys((*PARTS, "rest"), ",.1f")}
COLUMNS |= {"s in the clear": ".2f", "MB": ",.1f", "MB in the clear": ",.1f"}
CALLS = {"operation": "", "times": ",d", "ms": ".3f"}
EXTRAPOLATED = 100


@contextmanager
def clocked() -> Iterator[tuple[dict[str, float], Counter[str]]]:
    """Count processor seconds and calls of each part."""
    seconds, calls = dict.fromkeys(PARTS, 0.0), Counter[str]()

    def clock(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(method)
        def timed(*given: Any) -> Any:  # noqa: ANN401
            started = time.thread_time()
            try:
                return method(*given)
            finally:
                seconds[name] += time.thread_time() - started
                calls[name] += 1

        return timed

    with ExitStack() as stack:
        for name, (owner, method) in PARTS.items():
            stack.enter_context(patch.object(owner, method, clock(name, vars(owner)[method])))
        yield seconds, calls


def configuration(given: Arguments, trees: int, depth: int, encryption: str) -> RunConfig:
    """Return the configuration of a run."""
    flags: dict[str, Any] = {
        "method": "boosted_trees",
        "dataset": given.dataset,
        "data-dir": given.data_dir,
        "parties": 3,
        "partition": "columns",
        "train-rows": given.rows,
        "epochs": trees,
        "tree-depth": depth,
        "bins": given.bins,
        "gradient-encryption": encryption,
        "baselines": "off",
    }
    return RunConfig.from_mapping(flags)


def trained(cfg: RunConfig, split: Split) -> tuple[float, float, BoostedTrees]:
    """Train; return processor seconds, megabytes and the active party."""
    started = time.process_time()
    scores, [active, *_] = ran(cfg, split)
    seconds = time.process_time() - started
    assert isinstance(active, BoostedTrees)  # noqa: S101  see `configuration`
    return seconds, float(scores["bytes"] or 0) / 1e6, active


def measure(given: Arguments, report: Report) -> None:
    """Train with and without encryption."""
    torch.set_num_threads(1)
    table, split = report.table("Trees on encrypted gradients", COLUMNS), None
    runs = (("one split", 1, 1), ("trees", given.trees, given.depth))
    for name, trees, depth in runs:
        cfg = configuration(given, trees, depth, "none")
        split = split or Split(cfg)
        plain, plain_mb, clear = trained(cfg, split)
        with clocked() as (seconds, calls):
            total, mb, sealed = trained(cfg.changed(gradient_encryption="paillier"), split)
        if not torch.equal(clear.net.value, sealed.net.value):
            raise RuntimeError("encryption changed a tree")
        parts = [seconds[part] for part in PARTS]
        numbers = [total, *parts, total - sum(parts), plain, mb, plain_mb]
        table.add(name, trees, *numbers)
        report.fact("rows", len(clear.rows["train"]))
    table.add("extrapolated", EXTRAPOLATED, *(each * EXTRAPOLATED / trees for each in numbers))
    operations = report.table("Operations", CALLS)
    for part in PARTS:
        operations.add(part, calls[part], seconds[part] / max(calls[part], 1) * 1e3)


BENCHMARK = Benchmark(
    measure,
    {
        "data_dir": DATA_DIR,
        "dataset": Option("credit-default", tiny="breast-cancer"),
        "rows": Option(0, tiny=30, help="training rows; 0: all"),
        "trees": Option(5, tiny=1, help="trees, one a round"),
        "depth": Option(6, tiny=1, help="layers of a tree"),
        "bins": Option(64, tiny=4, help="bins of a column"),
    },
)

if __name__ == "__main__":
    BENCHMARK.run()
