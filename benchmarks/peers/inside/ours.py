"""The same split learning by this project."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.peers.inside.work import OPTIONS, Clock, Figures, Work
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
    told: Figures = {"bytes": sent / clock.steps, "score": accuracy}
    work.write(clock.outcome() | told)


def deployed(folder: Path) -> None:
    """Train between a SuperLink and SuperNodes, once shortly and once longer."""
    work = Work(folder)
    options: dict[str, Any] = json.loads(_options(folder))
    epochs = options.pop("epochs")
    runs = [options | {"epochs": times * epochs} for times in (1, LONGER)]
    short, long = map(_result, deployed_runs(folder, work.passive, runs))
    steps = long["steps"] - short["steps"]
    work.write(
        {
            "ms": 1e3 * (long["trained"] - short["trained"]) / steps,
            "bytes": (short["bytes_up"] + short["bytes_down"]) / short["steps"],
            "score": short["test_accuracy"]["active"],
        }
    )


def deployed_runs(folder: Path, nodes: int, runs: Sequence[Mapping[str, Any]]) -> list[Path]:
    """Run this project between processes, run after run.

    Parameters
    ----------
    folder : Path
        Of the work.
    nodes : int
        SuperNodes, one for each passive party.
    runs : sequence of mapping
        Options of each run.

    Returns
    -------
    list of Path
        Folders of the runs.

    Raises
    ------
    RunError
        If one does not complete.
    """
    home, folders = folder / "deployment", list[Path]()
    home.mkdir(mode=0o700)
    own = [f'data-dir="{runs[0]["data-dir"]}"'] * nodes
    with Deployment(home, nodes, own=own) as deployment:
        for number, options in enumerate(runs, 1):
            named = {**options, "run-name": f"run-{number}"}
            named.pop("parties")
            words = " ".join(f"{key}={json.dumps(value)}" for key, value in named.items())
            if not deployment.run(words):
                raise RunError("the deployment's run did not complete")
            folders.append(home / "active" / f"run-{number}")
    return folders


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
