"""``predict``: new rows, or a run's own, with its model."""

from pathlib import Path

import click

from vfl_flower.cli.checks import check_run
from vfl_flower.cli.options import AS_JSON, FILE, FOLDER, TRUST_CODE, WITHOUT, told
from vfl_flower.cli.standard_streams import STANDARD, with_input, with_output
from vfl_flower.common.errors import ConfigError


@click.command()
@click.argument("run", type=FOLDER)
@click.option(
    "--tables",
    metavar="FILE,...",
    help="tables with new rows, or descriptions, the active party's first, or - for its rows from "
    "standard input; aligned by id",
)
@click.option("--rows", metavar="PART", help="of the run's own: test (default), validation, all")
@click.option(
    "--out",
    type=FILE,
    required=True,
    metavar="FILE",
    help="predictions: .csv or .parquet; -: standard output",
)
@click.option("--truth", is_flag=True, help="write the labels, too, as column truth")
@click.option(
    "--keep-missing",
    is_flag=True,
    help="write new rows that some party lacks, too, in place and without a prediction",
)
@WITHOUT
@TRUST_CODE
@AS_JSON
def predict(
    run: Path,
    tables: str | None,
    rows: str | None,
    out: Path,
    truth: bool,
    keep_missing: bool,
    without: str,
    trust_code: bool,
    as_json: bool,
) -> None:
    """Predict rows with the model of a run on this machine.

    Each party uses its own part of the model and its own encoders. New rows that some party lacks
    are not predicted, but listed beside the predictions.
    """
    check_run(run)
    piped = str(out) == STANDARD
    if piped and as_json:
        raise ConfigError("--out - and --json both print to standard output; name a file")
    # torch is slow to import
    from vfl_flower.workflows.simulate import predict as predicted

    kept = {"truth": truth, "keep_missing": keep_missing, "piped": piped}
    with with_input(tables) as described, with_output(out) as file:
        told(as_json, lambda: predicted(run, file, described, rows, trust_code, without, **kept))
