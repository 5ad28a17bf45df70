"""``serve``: predictions of a run's model over HTTP."""

from pathlib import Path

import click

from vfl_flower.cli.checks import check_run
from vfl_flower.cli.options import FOLDER, TRUST_CODE, WITHOUT, Command, Option
from vfl_flower.common.optional.extras import require
from vfl_flower.config.schema import Scalar, declared_in
from vfl_flower.serving.options import ServiceOptions


@click.command(
    cls=Command, params=[Option(each, "Service") for each in declared_in(ServiceOptions)]
)
@click.argument("run", type=FOLDER)
@click.option(
    "--tables",
    metavar="FILE,...",
    default="",
    help="tables of the rows to score, as predict takes them; by default the run's own rows",
)
@WITHOUT
@TRUST_CODE
def serve(run: Path, tables: str, without: str, trust_code: bool, **flags: Scalar | None) -> None:
    """Answer ids with predictions over HTTP, until Ctrl-C or SIGTERM.

    All parties of the run are loaded from its folder, and stay in memory. When the folder has
    another model, or RUN is a link and names another run, that one is taken up.
    """
    options = ServiceOptions(**{k: v for k, v in flags.items() if v is not None})  # type: ignore[arg-type]
    require("prometheus_client", "serve")
    check_run(run)
    # torch is slow to import
    from vfl_flower.serving.here import serve as served

    served(run, tables, options, trust_code, without)
