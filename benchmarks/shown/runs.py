"""Training and averages that all pages share."""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, TypeVar

import vfl_flower as vfl
from benchmarks.harness.benchmark import Arguments
from benchmarks.harness.report import Cell
from vfl_flower.config.registry import spec_of

Each = TypeVar("Each")
COMMON: Mapping[str, Any] = {"models": "mlp", "parties": 4, "baselines": "off", "device": "cpu"}
"""Options of all runs that say nothing else."""


def trained(given: Arguments, seed: int = 0, data: str = "digits", **options: Any) -> vfl.Run:  # noqa: ANN401
    """Train once, at most as many epochs as the command line allows."""
    chosen = {**COMMON, "data_dir": given.data_dir, **options}
    chosen["epochs"] = min(chosen["epochs"], given.epochs)
    for name in spec_of(chosen.get("method", "easter")).unused:
        chosen.pop(name, None)
    return vfl.train(data, seed=seed, progress=False, **chosen)


def accuracies(given: Arguments, **options: Any) -> list[float]:  # noqa: ANN401
    """Return the active party's test accuracy of each seed, in percent."""
    runs = (trained(given, seed, **options) for seed in range(given.seeds))
    return [100 * run.result["test_accuracy"]["active"] for run in runs]


def some(given: Arguments, each: Iterable[Each]) -> list[Each]:
    """Return as many entries as the command line allows."""
    return list(islice(each, given.most))


def column(name: str, form: str) -> dict[str, str]:
    """Return the columns of a mean and its standard deviation."""
    return {name: form, f"{name} ±": form}


def spread(values: Sequence[float]) -> list[Cell]:
    """Return mean and standard deviation; of a single value, the value."""
    mean = statistics.mean(values)
    return [mean, statistics.stdev(values) if len(values) > 1 else None]
