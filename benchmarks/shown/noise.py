"""Accuracy under distributed noise, and of standardised uploads."""

from typing import Any

import torch
from torch import Tensor, nn

import vfl_flower as vfl
from benchmarks.harness.benchmark import Arguments
from benchmarks.harness.report import Report
from benchmarks.shown.runs import some, trained
from vfl_flower.analysis.audit.attacks.columns.dominance import parts_of_variance
from vfl_flower.analysis.audit.transcripts.tables import table_of
from vfl_flower.config.run_config import RunConfig
from vfl_flower.runs.seeds import first_run
from vfl_flower.workflows.trained_parties import parties_of

NETWORKS: dict[str, dict[str, Any]] = {
    "mnist": {"models": "vim-mlp", "embedding_dim": 60, "partition": "strips:rows"},
}
"""Networks by data set."""
SMALL: dict[str, Any] = {"models": "mlp", "embedding_dim": 16}
"""Those of all other data sets."""

TRAINING: dict[str, Any] = {
    "method": "vimadmm_j",
    "active_columns": "none",
    "batch_size": 1024,
    "optimizers": "momentum",
    "learning_rates": "0.1",
    "local_steps": 20,
    "head_rate": 0.1,
    "beta": 0.0005,
    "epochs": 3,
    "keep": "last",
    "stop_drop": 0,
}
"""VIM's settings, of which nothing is chosen for the noise."""

PASSIVE = (3, 7, 13)
EPSILONS = (8, 1)
COLLUDING = 0.5
NOISE: dict[str, Any] = {"dp_clip": 0.01, "dp_eval": "clear"}
WAYS: dict[str, dict[str, Any]] = {
    "own": {},
    "distributed": {"dp_noise": "distributed", "colluding_share": COLLUDING},
}


def distributed_noise(given: Arguments, report: Report) -> None:
    """Train under own and distributed noise with few and many parties."""
    columns = {"data": "", "passive parties": "d", "no noise, %": ".2f"}
    for epsilon in EPSILONS:
        columns |= {f"{way}, epsilon {epsilon}, %": ".2f" for way in WAYS}
    table = report.table(
        "VIMADMM-J, 3 epochs of batches of 1,024 rows, dp-clip 0.01, no columns at the active "
        f"party; distributed noise holds against a share of {COLLUDING:g} of the passive parties; "
        "epsilon is that of training, test rows are predicted without noise; test accuracy of "
        "seed 0",
        columns,
    )
    for data in given.traded.split(","):
        for passive in some(given, PASSIVE):
            common = {**TRAINING, **NETWORKS.get(data, SMALL), "parties": passive + 1}
            limits = [
                {"target_epsilon": epsilon, **NOISE, **way}
                for epsilon in EPSILONS
                for way in WAYS.values()
            ]
            runs = [trained(given, 0, data, **common, **each) for each in ({}, *limits)]
            table.add(data, passive, *(100 * run.result["test_accuracy"]["active"] for run in runs))


SCALED: dict[str, dict[str, Any]] = {
    **{name: {"method": name} for name in ("easter", "vfedmh", "pravfed", "agg_vfl", "fdml")},
    "easter, two slow parties": {
        "method": "easter",
        "optimizers": "adam,adam,sgd,sgd",
        "learning_rates": "0.003,0.003,0.01,0.01",
    },
}
"""Runs with raw and with standardised uploads."""


def embedding_scale(given: Arguments, report: Report) -> None:
    """Train with raw and standardised uploads; look at parts of the sum."""
    columns = {"method": ""}
    for scale in ("raw", "standardized"):
        columns |= {f"{scale}, %": ".2f", f"largest part, {scale}, %": ".1f"}
        columns |= {f"told, {scale}, %": ".0f"}
    table = report.table(
        f"{given.scaled}, 4 parties, MLPs, 5 epochs; test accuracy, and the largest part that one "
        "of three passive parties has in the variance of their sum on test rows; told is that on "
        "training rows, as share-check has it for the last epoch; seed 0",
        columns,
    )
    for name, options in some(given, SCALED.items()):
        cells: list[float] = []
        for scale in ("raw", "standardized"):
            common = {"epochs": 5, "label_privacy": "none", "embedding_scale": scale}
            run = trained(given, 0, given.scaled, share_check="on", **common, **options)
            accuracy, told = run.result["test_accuracy"]["active"], run.result["figures"]
            parts = accuracy, largest_part(run), told["largest_share_at_the_end"]
            cells += [100 * each for each in parts]
        table.add(name, *cells)


def largest_part(run: vfl.Run) -> float:
    """Return one party's largest part in a sum's variance."""
    active, passive = parties_of(first_run(run.path))
    rows = torch.from_numpy(active.data.rows["test"])
    with torch.no_grad():
        uploads = [summed(party.net.eval(), party.x[rows], run.config) for party in passive]
    return float(parts_of_variance([table_of(each) for each in uploads]).max())


def summed(net: nn.Module, x: Tensor, cfg: RunConfig) -> Tensor:
    """Compute a party's summand: (B, ...) -> (B, D) or (B, C)."""
    E: Tensor = net.embed(x)  # type: ignore[operator]
    return E if cfg.spec.standardizes == "embed" else net.decide(E)  # type: ignore[operator]
