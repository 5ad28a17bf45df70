"""VIM's experiments on MNIST, by name.

    python -m benchmarks.vim --data-dir DIR --out DIR [NAME ...]

Without names all are run, one after the other, but for those whose results are there. The table
says what counts: accuracies, the standard deviation over classes of the accuracy, the price in
privacy, and what had travelled for training when the validation accuracy reached the target.
"""

import argparse
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.experiments import Flags, complete, given
from vfl_flower.config.run_config import RunConfig
from vfl_flower.runs.metrics_file import read_metrics
from vfl_flower.runs.run_folder import RunFolder

MIB = 1 << 20

PAPER = {
    "dataset": "mnist",
    "parties": "15",
    "active-columns": "none",
    "partition": "strips:rows",
    "models": "vim-mlp",
    "embedding-dim": "60",
    "batch-size": "1024",
    "optimizers": "momentum",
    "learning-rates": "0.1",
    "local-steps": "20",
    "eval-every": "10",
    "stop-drop": "2",
    "keep": "best",
    "bounds": "off",
}
"""14 passive parties with two rows of pixels each, as in the paper."""

ADMM = PAPER | {"method": "vimadmm", "heads": "ridge"}
LOGITS = PAPER | {"method": "vimadmm_j"}
SHORT = {"epochs": "2"}
NOISED = {"dp-eval": "clear", "dp-clip": "0.001", "epochs": "3"}


def baseline(method: str, rate: str, epochs: str, steps: str = "1") -> dict[str, str]:
    """Return a baseline's flags."""
    return PAPER | {
        "method": method,
        "learning-rates": rate,
        "epochs": epochs,
        "local-steps": steps,
        "eval-every": "0",
    }


EXPERIMENTS: dict[str, Flags] = {
    "vimadmm": ADMM | {"epochs": "5"},
    "vimadmm_j": LOGITS | {"epochs": "6"},
    "vimadmm sgd heads": ADMM | SHORT | {"heads": "sgd"},
    "vimadmm deep heads": ADMM
    | SHORT
    | {"heads": "sgd", "top-layers": "2", "local-steps": "2", "learning-rates": "0.05"},
    "splitnn": baseline("splitnn", "0.1", "20"),
    "vafl": baseline("vafl", "0.3", "30"),
    "fedbcd": baseline("fedbcd", "0.01", "15", "5"),
    "fdml": baseline("fdml", "0.3", "30"),
    "linear_admm": LOGITS | SHORT | {"method": "linear_admm", "models": "linear"},
    **{f"tau {tau}": ADMM | SHORT | {"local-steps": f"{tau}"} for tau in (1, 5, 10, 30)},
    **{f"rho {rho}": ADMM | SHORT | {"rho": f"{rho}"} for rho in (0.5, 2)},
    "one noisy party": ADMM | SHORT | {"column-noise": "7:1"},
    "half the parties a round": ADMM | SHORT | {"participation": "0.5"},
    "all noised": LOGITS | NOISED | {"target-epsilon": "8", "dp-eval": "noised"},
    "long tail": ADMM | {"epochs": "4", "long-tail": "10"},
    "100 parties": ADMM | SHORT | {"parties": "101", "partition": "overlapping:14"},
    "100 parties, j": LOGITS | SHORT | {"parties": "101", "partition": "overlapping:14"},
    **{
        f"{name} epsilon {epsilon}": flags | NOISED | {"target-epsilon": epsilon}
        for epsilon in ("8", "1")
        for name, flags in (
            ("vimadmm", ADMM | {"heads": "sgd"}),
            ("vimadmm_j", LOGITS),
            ("half", ADMM | {"heads": "sgd", "participation": "0.5"}),
        )
    },
    **{
        f"{name} label epsilon {epsilon}": flags
        | SHORT
        | {"label-privacy": "alibi", "label-epsilon": epsilon}
        for epsilon in ("2.8", "1.4")
        for name, flags in (("vimadmm", ADMM), ("vimadmm_j", LOGITS))
    },
}


def row(name: str, folder: Path, target: float) -> list[str]:
    """Return an experiment's row of the table."""
    result: dict[str, Any] = RunFolder(folder, RunConfig(), fresh=False).result() or {}
    reached = next(
        (m for m in read_metrics(folder) if m.validation_accuracy["active"] >= target), None
    )
    private = result["client_privacy"] or {}
    return [
        name,
        f"{100 * result['test_accuracy']['active']:.2f}",
        f"{100 * result['metrics']['active']['class_accuracy_std']:.2f}",
        f"{private['epsilon_training']:.3g}" if private else "",
        f"{(reached.bytes_up + reached.bytes_down) / MIB:.1f}" if reached else "",
        f"{result['exchanges']}",
        f"{result['seconds']:.0f}",
    ]


def main() -> None:
    """Run the named experiments, and print the table as it grows."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--target", type=float, default=0.96)
    args = given(parser, EXPERIMENTS)
    table = Table("experiment", "test %", "class std", "epsilon", "MiB to target", "rounds", "s")
    for name, folder in complete(args, EXPERIMENTS):
        table.add_row(*row(name, folder, args.target))
    Console().print(table)


if __name__ == "__main__":
    main()
