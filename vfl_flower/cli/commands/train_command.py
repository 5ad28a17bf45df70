"""``train``: the main job, with all parties on this machine."""

from pathlib import Path
from typing import Any

import click

from vfl_flower.cli.checks import check_resume, new_run
from vfl_flower.cli.completion import completion_option
from vfl_flower.cli.options import (
    AS_JSON,
    FILE,
    FOLDER,
    TRUST_CODE,
    TrainCommand,
    given,
    options,
    told,
)
from vfl_flower.common.errors import ConfigError
from vfl_flower.config.run_config import RunConfig, read_toml
from vfl_flower.config.schema import Scalar


@click.command(cls=TrainCommand, params=[completion_option(), *options()])
@click.option("--config", type=FILE, metavar="TOML", help="read options from a file; flags win")
@click.option(
    "--resume", type=FOLDER, metavar="RUN", help="go on from a run folder's last checkpoint"
)
@click.option("--seeds", type=int, metavar="N", help="repeat with N seeds, report the mean")
@TRUST_CODE
@AS_JSON
def train(
    config: Path | None,
    resume: Path | None,
    seeds: int | None,
    trust_code: bool,
    as_json: bool,
    **flags: Scalar | None,
) -> None:
    """Train a model with all parties here.

    They are in one process. Every option of a run is a flag.
    """
    chosen = (read_toml(config) if config else {}) | given(flags)
    if chosen.get("task", "train") != "train":
        raise ConfigError(f"{config} sets task, which is for flwr run; use a command of that name")
    if seeds is not None and seeds < 2:
        raise ConfigError(f"--seeds must be at least 2, not {seeds}")
    if resume:
        _check_resume(resume, chosen, seeds)
        told(as_json, lambda: _resumed(resume, chosen, trust_code))
        return
    cfg = new_run(chosen)
    if config and flags["models"] is None:  # a flag is the user's own word, a file may not be
        cfg = cfg.unless_trusted(config, trust_code)
    told(as_json, lambda: _started(cfg, seeds))


def _check_resume(path: Path, chosen: dict[str, object], seeds: int | None) -> None:
    """Refuse options that a resumed run cannot have."""
    if seeds is not None:
        raise ConfigError("--resume goes on with the seeds that the run was started with")
    if "out" in chosen:
        raise ConfigError("--resume goes on in the run's own folder; remove --out")
    check_resume(path, chosen)


def _resumed(path: Path, chosen: dict[str, object], trust_code: bool) -> dict[str, Any]:
    # torch is slow to import
    from vfl_flower.workflows.simulate import resumed

    return resumed(path, chosen, trust_code)


def _started(cfg: RunConfig, seeds: int | None) -> dict[str, Any]:
    # torch is slow to import
    from vfl_flower.workflows.simulate import repeat, start

    return start(cfg) if seeds is None else repeat(cfg, seeds)
