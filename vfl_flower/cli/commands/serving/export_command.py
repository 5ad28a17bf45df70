"""``export``: networks of a trained party as ONNX."""

from pathlib import Path

import click

from vfl_flower.cli.options import FOLDER, TRUST_CODE
from vfl_flower.common.errors import RunError
from vfl_flower.common.layout import NETWORK, model_of
from vfl_flower.common.optional.extras import require


@click.command()
@click.argument("party", type=FOLDER)
@click.option(
    "--out", type=FOLDER, required=True, metavar="FOLDER", help="where the ONNX files are to be"
)
@TRUST_CODE
def export(party: Path, out: Path, trust_code: bool) -> None:
    """Write a party's networks as ONNX, without protection.

    PARTY is its own folder of a complete run, such as RUN/party-1. It needs no data, and no other
    party. Masks, noise, clipping and budgets are not in the files.
    """
    require("onnxscript", "export")
    if not (model_of(party) / NETWORK).is_file():
        raise RunError(f"{party} holds no model; name a party's folder in a run: RUN/party-1")
    # torch is slow to import
    from vfl_flower.reporting.console.lines import say
    from vfl_flower.serving.halves import export as exported

    for half in exported(party, out, trust_code):
        takes, gives = (" x ".join(map(str, shape)) for shape in (half.takes, half.gives))
        say(f"{half.path}: rows of {takes} to rows of {gives}")
