"""Runs that can be explained, and their findings."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.helpers.outcomes.attempts import Attempt
from tests.helpers.outcomes.edits import values_of
from vfl_flower.analysis.explain.importance import Findings, explain
from vfl_flower.analysis.explain.trained import complete_run, trained
from vfl_flower.config.run_config import RunConfig

SMALL = RunConfig(
    method="vimadmm",
    heads="ridge",
    models="mlp",
    epochs=5,
    batch_size=200,
    embedding_dim=16,
    baselines="off",
)
BLANK = "listed:10-14,18-22;26-30,34-38;42-46,50-54;0,8,16,24,32,40,48,56,39"
"""Three parties in the middle of the digits, and party-3 with nine pixels at their edges."""

LOGITS = {
    "method": "vimadmm_j",
    "optimizers": "momentum",
    "learning_rates": "0.02",
    "head_rate": 0.1,
    "epochs": 10,
}
LINEAR = {"method": "linear_admm", "head_rate": 0.3, "models": "mixed"}
RUNS: dict[str, dict[str, Any]] = {
    "strips": {"parties": 8},
    "blank": {"partition": BLANK},
    "blank logits": LOGITS | {"partition": BLANK},
    "blank linear": LINEAR | {"partition": BLANK},
    "noisy": {"column_noise": "2:10"},
    "labels only": LOGITS | {"active_columns": "none", "column_noise": "3:10"},
    "deep": {"heads": "sgd", "top_layers": 2, "keep": "best", "eval_every": 2},
    "uploads noised": {
        "heads": "sgd",
        "dp_sigma": 1.0,
        "dp_clip": 0.01,
        "dp_eval": "clear",
        "embedding_dim": 4,
        "epochs": 3,
    },
    "images": {"models": "cnn,lenet,mlp,mlp", "parties": 4, "participation": 0.5},
}


class Runs:
    """Folders of complete runs of each kind, trained on demand."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def __truediv__(self, name: str) -> Path:
        path = self.root / name
        if not path.exists():
            Attempt(replace(SMALL, **RUNS[name]), path).run()
        return path


def findings_of(path: Path, sigma: float = 10) -> Findings:
    folder, _ = complete_run(path)
    return explain(trained(folder), sigma)


def result_of(path: Path) -> dict[str, Any]:
    return values_of(path / "result.json")
