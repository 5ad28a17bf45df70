"""``train``: the main job, with all parties on this machine."""

from pathlib import Path

import click

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


@click.command(cls=TrainCommand, params=options())
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
    if resume and seeds is not None:
        raise ConfigError("--resume goes on with the seeds that the run was started with")
    if resume and "out" in chosen:
        raise ConfigError("--resume goes on in the run's own folder; remove --out")

    # torch is slow to import
    from vfl_flower.workflows.simulate import repeat, resumed, start

    def trained() -> object:
        if resume:
            return resumed(resume, chosen, trust_code)
        cfg = RunConfig.from_mapping(chosen)
        if config and flags["models"] is None:  # a flag is the user's own word, a file may not be
            cfg = cfg.unless_trusted(config, trust_code)
        return start(cfg) if seeds is None else repeat(cfg, seeds)

    told(as_json, trained)
