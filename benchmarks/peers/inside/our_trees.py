"""The same boosted trees by this project."""

import json
from pathlib import Path
from typing import Any

from benchmarks.peers.inside.ours import deployed_runs
from benchmarks.peers.inside.table import Meter, TableWork
from benchmarks.peers.inside.work import OPTIONS
from vfl_flower.config.run_config import RunConfig
from vfl_flower.protocol.observer import Evaluation
from vfl_flower.transport.local import run_local
from vfl_flower.workflows.build_parties import build_parties


def local(folder: Path) -> None:
    """Grow trees on the local transport."""
    active, passive = build_parties(RunConfig.from_mapping(_options(folder)))
    run_local(active, passive)
    _write(folder, active.progress.records, active.progress.metrics["active"]["auc"])


def deployed(folder: Path) -> None:
    """Grow trees between a SuperLink and SuperNodes."""
    options = _options(folder)
    [run] = deployed_runs(folder, options["parties"] - 1, [options])
    lines = (run / "metrics.jsonl").read_text().splitlines()
    records = [Evaluation.from_dict(json.loads(line)) for line in lines]
    result: dict[str, Any] = json.loads((run / "result.json").read_text())
    _write(folder, records, result["metrics"]["active"]["auc"])


def _options(folder: Path) -> dict[str, Any]:
    options: dict[str, Any] = json.loads((folder / OPTIONS).read_text())
    return options


def _write(folder: Path, records: list[Evaluation], auc: float) -> None:
    """Write the outcome; a round ends with an evaluation."""
    rounds = [(each.seconds, each.bytes_up + each.bytes_down) for each in records]
    TableWork(folder).write(Meter(rounds).outcome() | {"score": auc})


def main(folder: Path, way: str) -> None:
    """Grow trees, and write the outcome."""
    {"simulated": local, "deployed": deployed}[way](folder)
