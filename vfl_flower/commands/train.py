"""``train``: the main job, with all parties on this machine."""

from contextlib import nullcontext
from pathlib import Path

import click

from vfl_flower.config import RunConfig, Scalar, read_toml
from vfl_flower.errors import ConfigError
from vfl_flower.options import FILE, FOLDER, Command, given, knobs


@click.command(cls=Command, params=knobs())
@click.option("--config", type=FILE, metavar="TOML", help="read knobs from a file; flags win")
@click.option(
    "--resume", type=FOLDER, metavar="RUN", help="go on from a run folder's last checkpoint"
)
@click.option("--seeds", type=int, metavar="N", help="repeat with N seeds, report the mean")
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="print the result as JSON, and everything else on standard error",
)
def train(
    config: Path | None,
    resume: Path | None,
    seeds: int | None,
    as_json: bool,
    **flags: Scalar | None,
) -> None:
    """Train a model with all parties here.

    They are in one process. Every setting of a run is an option.
    """
    chosen = (read_toml(config) if config else {}) | given(flags)
    if chosen.get("task", "train") != "train":
        raise ConfigError(f"{config} sets task, which is for flwr run; use a command of that name")
    if resume and seeds is not None:
        raise ConfigError("--resume goes on with the seeds that the run was started with")
    if resume and "out" in chosen:
        raise ConfigError("--resume goes on in the run's own folder; leave out away")

    from vfl_flower.console import aside
    from vfl_flower.result import json_of
    from vfl_flower.simulation import repeat, resumed, start

    with aside() if as_json else nullcontext():
        if resume:
            result = resumed(resume, chosen)
        elif seeds is None:
            result = start(RunConfig.from_mapping(chosen))
        else:
            result = repeat(RunConfig.from_mapping(chosen), seeds)
    if as_json:
        click.echo(json_of(result), nl=False)
