"""Accuracy under row-level differential privacy."""

from typing import Any

from benchmarks.harness.benchmark import Arguments
from benchmarks.harness.report import Report
from benchmarks.shown.runs import some, trained

TRAINING: dict[str, Any] = {
    "parties": 3,
    "models": "mlp,linear,linear",
    "embedding_dim": 8,
    "optimizers": "adam",
    "batch_size": 512,
    "epochs": 3,
    "blinding": "none",
}
"""Small passive networks, short embeddings and few epochs, which suit the noise."""

METHODS = ("splitnn", "easter")
EPSILONS = (8, 4, 1)


def row_level(given: Arguments, report: Report) -> None:
    """Train under an epsilon of each row, with noised uploads and gradients."""
    columns = {"data": "", "method": "", "no noise, %": ".2f"}
    for epsilon in EPSILONS:
        columns |= {f"epsilon {epsilon}, %": ".2f"}
    columns |= {"active party alone, %": ".2f", "dp-sigma": ""}
    table = report.table(
        "2 passive parties with linear maps, the active one with an MLP, embeddings of "
        f"{TRAINING['embedding_dim']} numbers, {TRAINING['epochs']} epochs of batches of "
        f"{TRAINING['batch_size']} rows, dp-adjacency row, dp-clip and dp-gradient-clip 1, "
        "evaluations noised; test accuracy of the active party, seed 0, and the least dp-sigma "
        "of each epsilon",
        columns,
    )
    for data in given.traded.split(","):
        alone = trained(given, 0, data, **TRAINING, method="local")
        for method in some(given, METHODS):
            limits = [{"target_epsilon": each, "dp_adjacency": "row"} for each in EPSILONS]
            runs = [
                trained(given, 0, data, method=method, **TRAINING, **each) for each in ({}, *limits)
            ]
            sigmas = [run.result["client_privacy"]["sigma"] for run in runs[1:]]
            found = [100 * run.result["test_accuracy"]["active"] for run in (*runs, alone)]
            table.add(data, method, *found, ", ".join(f"{each:.2f}" for each in sigmas))
