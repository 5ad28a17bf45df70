"""``sweep``: many runs with other options, chosen on validation rows."""

from datetime import datetime
from pathlib import Path
from typing import Any

import click

from vfl_flower.cli.checks import check_tables, implied
from vfl_flower.cli.options import (
    AS_JSON,
    FILE,
    FOLDER,
    TRUST_CODE,
    TrainCommand,
    at_least_one,
    given,
    options,
    told,
)
from vfl_flower.common.errors import ConfigError
from vfl_flower.common.optional.extras import require
from vfl_flower.config.run_config import read_toml
from vfl_flower.config.schema import Scalar
from vfl_flower.workflows.sweep.record import Done, SweepRecord, new_sweep, read_record
from vfl_flower.workflows.sweep.space import spaces_of

TRIALS = 20


@click.command(cls=TrainCommand, params=options())
@click.option("--config", type=FILE, metavar="TOML", help="read options from a file; flags win")
@click.option(
    "--over",
    multiple=True,
    metavar="NAME=SPACE",
    help="option to search over: 16,32,64 or 0.1..0.5 or log:1e-4..1e-1; may be repeated",
)
@click.option(
    "--trials",
    type=int,
    metavar="N",
    callback=lambda ctx, option, n: n if n is None else at_least_one(ctx, option, n),
    help=f"runs in all, one after the other [{TRIALS}]",
)
@click.option("--resume", type=FOLDER, metavar="SWEEP", help="go on with a sweep in its folder")
@TRUST_CODE
@AS_JSON
def sweep(
    config: Path | None,
    over: tuple[str, ...],
    trials: int | None,
    resume: Path | None,
    trust_code: bool,
    as_json: bool,
    **flags: Scalar | None,
) -> None:
    """Search for options that do best on the validation rows.

    Every option of a run is a flag, and --over names those to search over. Test rows choose
    nothing.
    """
    require("optuna", "sweep")
    if resume:
        if config or over or given(flags):
            raise ConfigError("--resume goes on with the sweep's own options; give --trials only")
        record = read_record(resume)
        record = record.extended(record.trials if trials is None else trials)
        path = resume
    else:
        chosen = (read_toml(config) if config else {}) | given(flags)
        trusted = not config or flags["models"] is not None
        path = Path(str(chosen.pop("out", "")) or f"runs/sweep-{datetime.now():%Y%m%d-%H%M%S}")
        record = new_sweep(path, spaces_of(over), implied(chosen), trials or TRIALS)
        check_tables(record.check())
        trust_code = trust_code or trusted
    told(as_json, lambda: _swept(path, record, trust_code))


def _swept(path: Path, record: SweepRecord, trust_code: bool) -> dict[str, Any]:
    # torch is slow to import
    from vfl_flower.reporting.console.sweep_table import print_sweep, say_trial
    from vfl_flower.workflows.local.watch import TERMINAL
    from vfl_flower.workflows.sweep.run import sweep_in

    def tell(done: Done) -> None:
        say_trial(done.as_dict(done.metric), done.metric)

    made = sweep_in(path, record, TERMINAL, tell, trust_code)
    print_sweep(made.as_dict(), path)
    return made.as_dict()
