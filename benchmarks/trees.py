"""Boosted trees on published tables, beside those of pooled columns.

    python -m benchmarks.trees --data-dir DIR --out FOLDER

Three parties hold the columns of a table in their published order, the active party the first
third, split as in `benchmarks.tabular`. Ours and scikit-learn's HistGradientBoosting on the pooled
columns have as many bins and rounds, and the same depth, learning rate and regularisation; the same
of the active party's columns alone, and with scikit-learn's own defaults. Nothing stops early. The
same rules on pooled columns in reverse order tell how much of a difference is chance: of splits
that gain the same, scikit-learn takes the first. Differences are paired, of the ROC-AUC to that of
the same rules on pooled columns: their mean, and the largest. What is measured in FOLDER is not
repeated. A number behind a data set's name, as in ``adult:5``, is that of its splits.
"""

import json
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from sklearn.ensemble import HistGradientBoostingClassifier

from benchmarks.harness.benchmark import DATA_DIR, OUT, Arguments, Benchmark, Option
from benchmarks.harness.report import Report
from benchmarks.harness.table_runs import PARTS, Scores, Split, judged, trained
from vfl_flower.config.run_config import RunConfig

OURS, POOLED, REVERSED, ALONE, DEFAULTS = MODELS = (
    "boosted_trees",
    "pooled, same rules",
    "the same, columns in reverse",
    "active party alone, same rules",
    "pooled, scikit-learn's defaults",
)
RULES = {"tree-depth": 6, "leaf-l2": 1.0, "least-child": 0.001, "bins": 255}
"""Of our trees; scikit-learn's least sum of hessians in a child is this one."""

TITLE = "Boosted trees and pooled columns"
COLUMNS = {"data": "", "splits": ".0f", "model": ""} | dict.fromkeys(("ROC-AUC", "+-"), ".4f")
COLUMNS |= {"difference": "+.4f", "largest": ".4f", "s": ".1f", "MB": ",.1f", "exchanges": ",.0f"}


def configuration(dataset: str, split: int, given: Arguments) -> RunConfig:
    """Return the configuration of our run."""
    flags: dict[str, Any] = {
        "method": OURS,
        "dataset": dataset,
        "data-dir": given.data_dir,
        "parties": 3,
        "partition": "columns",
        "seed": split,
        "epochs": given.rounds,
        "baselines": "off",
    }
    return RunConfig.from_mapping(flags | RULES)


def pooled(name: str, split: Split, seed: int, rounds: int) -> Scores:
    """Fit scikit-learn's trees, and judge them."""
    same: dict[str, Any] = {
        "max_depth": RULES["tree-depth"],
        "max_leaf_nodes": None,
        "l2_regularization": RULES["leaf-l2"],
        "min_samples_leaf": 1,
    }
    model = HistGradientBoostingClassifier(
        max_iter=rounds,
        early_stopping=False,
        random_state=seed,
        **({} if name == DEFAULTS else same),
    )
    started, labels = time.perf_counter(), split.labels
    x = split.columns("alone" if name == ALONE else "pooled")
    x = x[:, ::-1] if name == REVERSED else x
    model.fit(x[labels.rows["train"]], labels.y[labels.rows["train"]])
    outputs = {part: model.predict_proba(x[labels.rows[part]]) for part in PARTS}
    return judged(outputs, labels) | {"seconds": time.perf_counter() - started}


def scores(dataset: str, number: int, given: Arguments, models: Sequence[str]) -> dict[str, Scores]:
    """Train some models on one split."""
    cfg = configuration(dataset, number, given)
    split = Split(cfg)
    rest = [name for name in models if name != OURS]
    found = {name: pooled(name, split, number, given.rounds) for name in rest}
    return found | ({OURS: trained(cfg, split)} if OURS in models else {})


def rows_of(dataset: str, found: list[dict[str, Scores]]) -> list[list[Any]]:
    """Return a table's rows of a data set: means over splits."""
    made = []
    for name in MODELS:
        auc = [float(each[name]["auc"] or 0) for each in found]
        same = [float(each[POOLED]["auc"] or 0) for each in found]
        difference = [a - b for a, b in zip(auc, same, strict=True)]
        costs = [found[0][name].get(key) for key in ("bytes", "exchanges")]
        made.append(
            [
                *(dataset, len(found), name, statistics.mean(auc), statistics.stdev(auc)),
                *(statistics.mean(difference), max(map(abs, difference))),
                statistics.mean(float(each[name]["seconds"] or 0) for each in found),
                *((float(costs[0]) / 1e6, costs[1]) if costs[0] else (None, None)),
            ]
        )
    return made


def measure(given: Arguments, report: Report) -> None:
    """Train on each split of each data set."""
    torch.set_num_threads(1)
    table = report.table(TITLE, COLUMNS)
    with tempfile.TemporaryDirectory(prefix="vfl-flower-") as temporary:
        folder = Path(given.out or temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for each in given.datasets.split(","):
            dataset, _, count = each.partition(":")
            splits = range(int(count or given.splits))
            found = [kept(folder, dataset, number, given) for number in splits]
            for row in rows_of(dataset, found):
                table.add(*row)
    report.fact("splits", given.splits)
    report.fact("rounds", given.rounds)


def kept(folder: Path, dataset: str, number: int, given: Arguments) -> dict[str, Scores]:
    """Return the scores of a split, each measured once."""
    path = folder / f"{dataset}-{number}-{given.rounds}.json"
    found: dict[str, Scores] = json.loads(path.read_text()) if path.exists() else {}
    if missing := [name for name in MODELS if name not in found]:
        found |= scores(dataset, number, given, missing)
        path.write_text(json.dumps(found))
    return found


BENCHMARK = Benchmark(
    measure,
    {
        "data_dir": DATA_DIR,
        "out": OUT,
        "datasets": Option("breast-cancer,pima,credit-default,adult", tiny="breast-cancer"),
        "splits": Option(20, tiny=2, help="splits of each data set, at least two"),
        "rounds": Option(100, tiny=2, help="rounds of trees"),
    },
)

if __name__ == "__main__":
    BENCHMARK.run()
