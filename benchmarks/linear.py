"""Logistic regression over parties beside scikit-learn's on pooled columns.

    python -m benchmarks.linear --data-dir DIR [--splits 20]

Three parties hold the columns of a table in their published order. Splits by seed: 20 % test rows,
8 % validation rows, 72 % training rows. Both models have a ridge of 1, scikit-learn's default;
scikit-learn's is solved to a tolerance of 1e-12. The largest difference is of any coefficient in
any split; beside it that of scikit-learn's default, lbfgs with a tolerance of 1e-4. Bytes and
exchanges are those of training with the evaluations in between.
"""

import statistics
import time
import warnings
from typing import Any

import numpy as np
import torch
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from benchmarks.harness.benchmark import DATA_DIR, Arguments, Benchmark, Option
from benchmarks.harness.report import Report
from benchmarks.harness.table_runs import PARTS, Floats, Scores, Split, judged, ran
from strategies.logistic import Logistic
from vfl_flower.config.run_config import RunConfig

FORMS = {
    "data set": "",
    "splits": "d",
    "converged": "d",
    "largest difference": ".1e",
    "of the default": ".1e",
    "ROC-AUC": ".4f",
    "pooled": ".4f",
    "apart": ".1e",
    "accuracy": ".4f",
    "pooled accuracy": ".4f",
    "exchanges": ".0f",
    "bytes": ",.0f",
    "s": ".1f",
    "pooled s": ".2f",
}
"""Columns of the table, and forms of their numbers; apart is the largest difference of an AUC."""


def configuration(dataset: str, seed: int, given: Arguments) -> RunConfig:
    """Return the configuration of one split."""
    values: dict[str, Any] = {
        "method": "logistic",
        "dataset": dataset,
        "data-dir": given.data_dir,
        "parties": 3,
        "partition": "columns",
        "seed": seed,
        "epochs": given.epochs,
        "baselines": "off",
        "device": "cpu",
    }
    return RunConfig.from_mapping(values)


def pooled(split: Split, columns: Floats) -> tuple[Scores, Floats]:
    """Fit scikit-learn's model to all columns, (N, F); return scores and coefficients."""
    labels, started = split.labels, time.perf_counter()
    train = labels.rows["train"]
    model = LogisticRegression(solver="newton-cholesky", tol=1e-12, max_iter=1000)
    model.fit(columns[train], labels.y[train])
    seconds = time.perf_counter() - started
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # its 100 steps may be too few
        usual = LogisticRegression().fit(columns[train], labels.y[train])
    off = float(np.abs(usual.coef_ - model.coef_).max())
    outputs = {part: model.predict_proba(columns[labels.rows[part]]) for part in PARTS}
    return judged(outputs, labels) | {"seconds": seconds, "off": off}, model.coef_[0]


def compared(cfg: RunConfig) -> tuple[Scores, Scores, float, bool]:
    """Return both scores of a split, the coefficients' difference, and convergence."""
    split = Split(cfg)
    scores, parties = ran(cfg, split)
    every = np.arange(len(parties[0].x), dtype=np.int32)
    columns = np.hstack([party.columns(every).double().numpy() for party in parties])
    theirs, coefficients = pooled(split, columns)
    weights = [party.net.state_dict()["embed.weight"].numpy() for party in parties]
    apart = np.abs(np.vstack(weights)[:, 0] - coefficients).max()
    active = parties[0]
    assert isinstance(active, Logistic)  # noqa: S101  as configured
    return scores, theirs, float(apart), active.own_end == "converged"


def measure(given: Arguments, report: Report) -> None:
    """Compare every data set, split after split."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    table = report.table("logistic, and logistic regression on pooled columns", FORMS)
    try:
        for dataset in given.datasets.split(","):
            numbers = range(given.splits)
            runs = [compared(configuration(dataset, seed, given)) for seed in numbers]
            ours, theirs, apart, converged = zip(*runs, strict=True)
            aucs = [(one["auc"], other["auc"]) for one, other in zip(ours, theirs, strict=True)]
            table.add(
                dataset,
                len(runs),
                sum(converged),
                max(apart),
                max(float(each["off"] or 0) for each in theirs),
                mean(ours, "auc"),
                mean(theirs, "auc"),
                max(abs(float(one or 0) - float(other or 0)) for one, other in aucs),
                mean(ours, "accuracy"),
                mean(theirs, "accuracy"),
                *(mean(ours, name) for name in ("exchanges", "bytes", "seconds")),
                mean(theirs, "seconds"),
            )
    finally:
        torch.set_num_threads(before)


def mean(found: tuple[Scores, ...], name: str) -> float:
    """Return the mean of a score over splits."""
    return statistics.mean(float(each[name] or 0) for each in found)


BENCHMARK = Benchmark(
    measure,
    {
        "data_dir": DATA_DIR,
        "datasets": Option("pima,breast-cancer,credit-default,adult", tiny="breast-cancer"),
        "splits": Option(20, tiny=2, help="splits of each data set"),
        "epochs": Option(300, tiny=40, help="exchanges at most"),
    },
)

if __name__ == "__main__":
    BENCHMARK.run()
