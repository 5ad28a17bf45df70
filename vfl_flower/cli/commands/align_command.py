"""``align``: which rows the parties' own tables have in common."""

import click

from vfl_flower.cli.checks import new_run
from vfl_flower.cli.options import AS_JSON, Command, given, options, told
from vfl_flower.config.schema import Scalar

PARTS = ("parties", "tables", "id", "label", "out", "threads", "answer_timeout")
"""Options of a run that an alignment on one machine heeds."""


@click.command(cls=Command, params=[each for each in options() if each.name in PARTS])
@AS_JSON
def align(as_json: bool, **flags: Scalar | None) -> None:
    """Find the rows that all parties' tables share, for runs to come.

    No party shows another one an id. A run whose --alignment names the folder then trains on these
    rows; one that names none aligns by itself.
    """
    cfg = new_run({"dataset": "own", "task": "align"} | given(flags))

    # torch is slow to import
    from vfl_flower.workflows.simulate import align as aligned

    told(as_json, lambda: aligned(cfg))
