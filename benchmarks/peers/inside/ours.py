"""The same split learning by this project."""

import json
from pathlib import Path
from typing import Any

from benchmarks.peers.inside.work import Clock, Figures, Work
from benchmarks.peers.prepare import OPTIONS
from deploy.local import Deployment
from vfl_flower.common.errors import RunError
from vfl_flower.config.run_config import RunConfig
from vfl_flower.protocol.ledger import DOWN, UP
from vfl_flower.protocol.observer import Evaluation, Observer
from vfl_flower.transport.local import run_local
from vfl_flower.workflows.build_parties import build_parties

LONGER = 3
"""Times the epochs of a deployment's second run; the first one's time is taken off."""


class Ticks(Observer):
    """Tells a clock of every step."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock

    def on_step(self, step: int, losses: list[float]) -> None:
        """Count a step."""
        self.clock.step()


def local(folder: Path) -> None:
    """Train on the local transport."""
    work = Work(folder)
    active, passive = build_parties(RunConfig.from_mapping(json.loads(_options(folder))))
    clock = Clock(work.warm_up)
    active.observer = Ticks(clock)
    run_local(active, passive)
    sent = active.ledger.total(UP) + active.ledger.total(DOWN)
    accuracy = active.progress.test["score"]["active"]
    told: Figures = {"bytes": sent / clock.steps, "accuracy": accuracy}
    work.write(clock.outcome() | told)


def deployed(folder: Path) -> None:
    """Train between a SuperLink and SuperNodes, once shortly and once longer."""
    work = Work(folder)
    options: dict[str, Any] = json.loads(_options(folder))
    own = [f'data-dir="{options["data-dir"]}"'] * work.passive
    options.pop("parties")
    home, epochs = folder / "deployment", options.pop("epochs")
    home.mkdir(mode=0o700)
    told: list[dict[str, Any]] = []
    with Deployment(home, work.passive, own=own) as deployment:
        for times in (1, LONGER):
            named = options | {"epochs": times * epochs, "run-name": f"run-{times}"}
            words = " ".join(f"{key}={json.dumps(value)}" for key, value in named.items())
            if not deployment.run(words):
                raise RunError("the deployment's run did not complete")
            told += [_result(home / "active" / f"run-{times}")]
    short, long = told
    steps = long["steps"] - short["steps"]
    work.write(
        {
            "ms": 1e3 * (long["trained"] - short["trained"]) / steps,
            "bytes": (short["bytes_up"] + short["bytes_down"]) / short["steps"],
            "accuracy": short["test_accuracy"]["active"],
        }
    )


def _options(folder: Path) -> str:
    return (folder / OPTIONS).read_text()


def _result(folder: Path) -> dict[str, Any]:
    """Return a run's result, with the seconds until its last evaluation."""
    result: dict[str, Any] = json.loads((folder / "result.json").read_text())
    last = Evaluation.from_dict(json.loads((folder / "metrics.jsonl").read_text().splitlines()[-1]))
    return result | {"trained": last.seconds}


def main(folder: Path, way: str) -> None:
    """Train, and write the outcome."""
    {"simulated": local, "deployed": deployed}[way](folder)
