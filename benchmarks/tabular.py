"""All methods on published tables, beside logistic regression and boosted trees.

    python -m benchmarks.tabular --data-dir DIR --out FOLDER [NAME ...]

Three parties hold the columns of a table in their published order, the active party the first
third. 20 splits by seed: 20 % test rows, 8 % validation rows, 72 % training rows. All methods have
the same networks (MLPs), the same epochs and batches, and otherwise their defaults, but for those
without networks, whose steps are of all rows; the weights of the best validation accuracy count.
Tables under 1,000 rows have batches of 64 and 20 epochs, larger ones batches of 1,024 and 5 epochs.
The references are scikit-learn's, with its defaults, on the same training rows and the same encoded
columns. The positive class is the rarer one. Scores are scikit-learn's, of the active party's
predictions. Nothing is chosen on test rows.

Differences are paired, of the ROC-AUC to that of logistic regression on the pooled columns. Behind
them is half of a 95 % interval: Student's t, with the corrected variance of Nadeau and Bengio
(2003), for splits overlap. Every run is a line in ``FOLDER/runs.jsonl``, and is not repeated. A
split counts if all its runs are there.
"""

import json
import math
import statistics
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import torch
from scipy.stats import t as student

from benchmarks.harness.benchmark import DATA_DIR, OUT, Arguments, Benchmark, Option
from benchmarks.harness.report import Cell, Report
from benchmarks.harness.table_runs import REFERENCES, Scores, Split, reference, trained
from vfl_flower.config.dataset_specs import DATASETS
from vfl_flower.config.registry import METHODS, spec_of
from vfl_flower.config.run_config import RunConfig
from vfl_flower.config.schema import kebab

BASELINE = REFERENCES[0]
SMALL = {"epochs": 20, "batch-size": 64}
LARGE = {"epochs": 5, "batch-size": 1024}
LABELS = {"label-privacy": "randomized-response", "label-epsilon": 1.0}
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "splitnn, labels epsilon 1": ("splitnn", LABELS),
    "easter, labels epsilon 1": ("easter", LABELS),
    "pravfed, true labels": ("pravfed", {"label-privacy": "none"}),
}
"""Methods with another protection of labels than their defaults."""

STEPS_ON_ALL_ROWS: dict[str, dict[str, Any]] = {
    "logistic": {"epochs": 300},
    "boosted_trees": {"epochs": 100, "metric": "log-loss"},
}
"""Methods without batches or networks: at most so many steps; as many rounds as scikit-learn's.

Rounds by their log-loss had a higher ROC-AUC on validation rows than those by accuracy.
"""

IMAGES_ONLY = ("adptvfedconv",)
NETS = [name for name in METHODS if name not in IMAGES_ONLY]
SHOWN = {
    "auc": "ROC-AUC",
    "average_precision": "PR-AUC",
    "f1": "F1",
    "accuracy": "accuracy",
    "log_loss": "log-loss",
    "brier": "Brier",
}
"""Scores of test rows by their names in a table."""

COSTS = {"bytes": "bytes", "exchanges": "exchanges", "seconds": "s"}
"""Costs of training by their names in a table."""

FORMS = {"model": "", "difference": "+.4f", "+-": ".4f", "failed": "d", "bytes": ",.0f"}
FORMS |= {"exchanges": ",.0f", "s": ".1f"}
"""Forms of numbers that do not have four places."""


class Key(NamedTuple):
    """Data set, split and model of a run."""

    dataset: str
    split: int
    name: str


class Runs:
    """Complete runs, in a file that grows run by run."""

    def __init__(self, path: Path) -> None:
        self.path, self.scores = path, dict[Key, Scores]()
        for line in path.read_text().splitlines() if path.exists() else ():
            found = json.loads(line)
            key = Key(*(found.pop(name) for name in Key._fields))
            self.scores[key] = found

    def add(self, key: Key, scores: Scores) -> None:
        """Add a run."""
        self.scores[key] = scores
        with self.path.open("a") as file:
            file.write(json.dumps(key._asdict() | scores) + "\n")

    def complete(self, dataset: str, names: list[str], splits: int) -> list[int]:
        """Return the splits of a data set that have all runs."""
        return [
            split
            for split in range(splits)
            if all(Key(dataset, split, name) in self.scores for name in names)
        ]


def configuration(key: Key, given: Arguments) -> RunConfig:
    """Return the configuration of a method's run."""
    method, changed = VARIANTS.get(key.name, (key.name, {}))
    small = DATASETS[key.dataset].small
    flags: dict[str, Any] = {
        "method": method,
        "dataset": key.dataset,
        "data-dir": given.data_dir,
        "parties": 3,
        "partition": "columns",
        "models": spec_of(method).network or "mlp",
        "seed": key.split,
        "keep": "best",
        "baselines": "off",
        "device": "cpu",
        **(SMALL if small else LARGE),
        **STEPS_ON_ALL_ROWS.get(method, {}),
    }
    if given.epochs:
        flags["epochs"] = given.epochs
    unused = {kebab(name) for name in spec_of(method).unused}
    return RunConfig.from_mapping({k: v for k, v in flags.items() if k not in unused} | changed)


def scores_of(key: Key, split: Split, given: Arguments) -> Scores:
    """Train a method or fit a reference."""
    if key.name in REFERENCES:
        return reference(key.name, split, key.split)
    return trained(configuration(key, given), split)


def fill(runs: Runs, names: list[str], given: Arguments) -> None:
    """Do the missing runs, split after split.

    Small data sets come first, so that they are complete early. No run begins after the time.
    """
    end = time.monotonic() + 60 * given.minutes if given.minutes else math.inf
    chosen = given.datasets.split(",")
    for group in (True, False):
        tables = [name for name in chosen if DATASETS[name].small is group]
        for number, dataset in ((n, d) for n in range(given.splits) for d in tables):
            keys = [Key(dataset, number, name) for name in names]
            missing = [key for key in keys if key not in runs.scores]
            if not missing or time.monotonic() > end:
                continue
            split = Split(configuration(Key(dataset, number, "splitnn"), given))
            for key in missing:
                if time.monotonic() < end:
                    runs.add(key, scores_of(key, split, given))


def add_tables(report: Report, runs: Runs, dataset: str, names: list[str], splits: int) -> None:
    """Add a data set's scores and costs, means over its complete splits."""
    numbers = runs.complete(dataset, names, splits)
    if len(numbers) < 2:
        return
    titles = (f"{dataset}: {len(numbers)} splits", f"{dataset}: further scores, costs of training")
    rows = dict[str, tuple[dict[str, Cell], dict[str, Cell]]]()
    base = [runs.scores[Key(dataset, number, BASELINE)] for number in numbers]
    for name in names:
        found = [runs.scores[Key(dataset, number, name)] for number in numbers]
        rows[name] = ranking(found, base), further(found)
    for half, title in enumerate(titles):
        columns = ["model", *rows[BASELINE][half]]
        table = report.table(title, {name: FORMS.get(name, ".4f") for name in columns})
        for name, cells in rows.items():
            table.add(name, *(cells[half].get(column) for column in columns[1:]))


def ranking(found: list[Scores], base: list[Scores]) -> dict[str, Cell]:
    """Return ROC-AUC, its difference to the baseline's, PR-AUC and F1."""
    failed = sum("failed" in each for each in found)
    if failed:
        return {"failed": failed}
    pairs = zip(values_of(found, "auc"), values_of(base, "auc"), strict=True)
    mean, half = difference([mine - other for mine, other in pairs])
    compared: dict[str, Cell] = {"difference": mean, "+-": half}
    first, *others = (
        mean_and_deviation(found, name) for name in ("auc", "average_precision", "f1")
    )
    return {**first, **compared, **others[0], **others[1], "failed": 0}


def further(found: list[Scores]) -> dict[str, Cell]:
    """Return accuracy, log-loss, Brier score and costs."""
    if any("failed" in each for each in found):
        return {}
    cells = dict[str, Cell]()
    for name in ("accuracy", "log_loss", "brier"):
        cells |= mean_and_deviation(found, name)
    return cells | {told: statistics.mean(values_of(found, name)) for name, told in COSTS.items()}


def mean_and_deviation(found: list[Scores], name: str) -> dict[str, Cell]:
    """Return the mean and standard deviation of a score, by their columns."""
    values = values_of(found, name)
    return {SHOWN[name]: statistics.mean(values), f"{SHOWN[name]} std": statistics.stdev(values)}


def difference(paired: list[float], tested: float = 0.2 / 0.72) -> tuple[float, float]:
    """Return the mean of paired differences, and half its interval.

    The interval is that of 95 %.

    Parameters
    ----------
    paired : list of float
        One a split, at least two.
    tested : float
        Test rows by training rows, by which the variance is corrected.
    """
    n = len(paired)
    error = math.sqrt((1 / n + tested) * statistics.variance(paired))
    return statistics.mean(paired), float(student.ppf(0.975, n - 1)) * error


def values_of(found: Iterable[Scores], name: str) -> list[float]:
    """Return one score of all runs."""
    return [float(each.get(name) or 0) for each in found]


def measure(given: Arguments, report: Report) -> None:
    """Train and fit everything, and report the complete splits."""
    names = [*REFERENCES, *given.names]
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with tempfile.TemporaryDirectory(prefix="vfl-flower-") as temporary:
            folder = Path(given.out or temporary)
            folder.mkdir(parents=True, exist_ok=True)
            runs = Runs(folder / "runs.jsonl")
            fill(runs, names, given)
    finally:
        torch.set_num_threads(before)
    for dataset in given.datasets.split(","):
        add_tables(report, runs, dataset, names, given.splits)
    report.fact("hours of all runs", sum(values_of(runs.scores.values(), "seconds")) / 3600)


BENCHMARK = Benchmark(
    measure,
    {
        "data_dir": DATA_DIR,
        "out": OUT,
        "datasets": Option("pima,breast-cancer,adult,credit-default", tiny="breast-cancer"),
        "splits": Option(20, tiny=2, help="splits of each data set, at least two"),
        "epochs": Option(0, tiny=1, help="epochs of training; 0: as above"),
        "minutes": Option(0.0, help="time after which no run begins; 0: none"),
    },
    known=[*NETS, *VARIANTS],
    few=["splitnn", "local"],
)

if __name__ == "__main__":
    BENCHMARK.run()
