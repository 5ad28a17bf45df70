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
from vfl_flower.runs.seeds import first_fold


@click.command(cls=TrainCommand, params=[completion_option(), *options()])
@click.option("--config", type=FILE, metavar="TOML", help="read options from a file; flags win")
@click.option(
    "--resume", type=FOLDER, metavar="RUN", help="go on from a run folder's last checkpoint"
)
@click.option("--seeds", type=int, metavar="N", help="repeat with N seeds, report the mean")
@click.option(
    "--folds", type=int, metavar="K", help="cross-validate: a run for each of K folds, and the mean"
)
@TRUST_CODE
@AS_JSON
def train(
    config: Path | None,
    resume: Path | None,
    seeds: int | None,
    folds: int | None,
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
    repeats = _repeats(seeds=seeds, folds=folds)
    if resume:
        _check_resume(resume, chosen, repeats)
        told(as_json, lambda: _resumed(resume, chosen, trust_code))
        return
    cfg = new_run(chosen)
    if config and flags["models"] is None:  # a flag is the user's own word, a file may not be
        cfg = cfg.unless_trusted(config, trust_code)
    if folds:
        first_fold(cfg, folds)  # refused before anything slow is imported
    told(as_json, lambda: _started(cfg, repeats))


def _repeats(**asked: int | None) -> dict[str, int]:
    """Return the number of seeds or folds, if asked for."""
    repeats = {name: count for name, count in asked.items() if count is not None}
    for name, count in repeats.items():
        if count < 2:
            raise ConfigError(f"--{name} must be at least 2, not {count}")
    if len(repeats) > 1:
        raise ConfigError("--seeds and --folds are each a way to repeat a run; use one")
    return repeats


def _check_resume(path: Path, chosen: dict[str, object], repeats: dict[str, int]) -> None:
    """Refuse options that a resumed run cannot have."""
    for name in repeats:
        raise ConfigError(f"--resume goes on with the {name} that the run was started with")
    if "out" in chosen:
        raise ConfigError("--resume goes on in the run's own folder; remove --out")
    check_resume(path, chosen)


def _resumed(path: Path, chosen: dict[str, object], trust_code: bool) -> dict[str, Any]:
    # torch is slow to import
    from vfl_flower.workflows.simulate import resumed

    return resumed(path, chosen, trust_code)


def _started(cfg: RunConfig, repeats: dict[str, int]) -> dict[str, Any]:
    # torch is slow to import
    from vfl_flower.workflows.simulate import repeat, repeat_folds, start

    if "folds" in repeats:
        return repeat_folds(cfg, repeats["folds"])
    return repeat(cfg, repeats["seeds"]) if repeats else start(cfg)
