"""VIM's experiments on MNIST, by name.

    python -m benchmarks.vim --data-dir DIR --out DIR [NAME ...]

Without names all are run, one after the other, but for those whose results are there. The table
says what counts: accuracies, the standard deviation over classes of the accuracy, the price in
privacy, and what had travelled for training when the validation accuracy reached the target.
"""

from pathlib import Path
from typing import Any

from benchmarks.harness.benchmark import DATA_DIR, OUT, Arguments, Benchmark, Option
from benchmarks.harness.experiments import Flags, fill
from benchmarks.harness.report import Cell, Report
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
    "eval-every": "10",
    "stop-drop": "2",
    "keep": "best",
    "baselines": "off",
}
"""14 passive parties with two rows of pixels each, as in the paper."""

TAU = {"local-steps": "20"}
ADMM = PAPER | TAU | {"method": "vimadmm", "heads": "ridge"}
LOGITS = PAPER | TAU | {"method": "vimadmm_j"}
SHORT = {"epochs": "2"}
NOISED = {"dp-eval": "clear", "dp-clip": "0.001", "epochs": "3"}


def baseline(method: str, rate: str, epochs: str) -> dict[str, str]:
    """Return a baseline's flags."""
    return PAPER | {
        "method": method,
        "learning-rates": rate,
        "epochs": epochs,
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
    "fedbcd": baseline("fedbcd", "0.01", "15") | {"local-steps": "5"},
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


TINY = {"dataset": "digits", "parties": "9", "batch-size": "256", "epochs": "1"}
"""Eight passive parties with one row of pixels each."""


def row(folder: Path, target: float) -> list[Cell]:
    """Return the cells of a run."""
    result: dict[str, Any] = RunFolder(folder, RunConfig(), fresh=False).result() or {}
    reached = next(
        (m for m in read_metrics(folder) if m.validation_accuracy["active"] >= target), None
    )
    private = result["client_privacy"]
    return [
        100 * result["test_accuracy"]["active"],
        100 * result["metrics"]["active"]["class_accuracy_std"],
        private["epsilon_training"] if private else None,
        (reached.bytes_up + reached.bytes_down) / MIB if reached else None,
        result["exchanges"],
        result["seconds"],
    ]


def measure(given: Arguments, report: Report) -> None:
    """Run the experiments."""
    columns = {"experiment": "", "test %": ".2f", "class std": ".2f", "epsilon": ".3g"}
    columns |= {"MiB to target": ".1f", "rounds": "", "s": ".0f"}
    table = report.table(f"VIM, target {given.target:.0%}", columns)
    changed = TINY if given.tiny else {}
    fill(
        table,
        given,
        lambda name: {**EXPERIMENTS[name], **changed},
        lambda folder: row(folder, given.target),
    )


BENCHMARK = Benchmark(
    measure,
    {
        "data_dir": DATA_DIR,
        "out": OUT,
        "target": Option(0.96, tiny=0.3, help="validation accuracy whose bytes are shown"),
    },
    known=list(EXPERIMENTS),
    few=["vimadmm", "fedbcd"],
)

if __name__ == "__main__":
    BENCHMARK.run()
