"""Values that a shell offers for an option."""

import click
from click.shell_completion import CompletionItem

from vfl_flower.config.choices import VALUES

LISTS = ("models", "optimizers")
"""Knobs that take more than one value, with commas."""

PATHS = {"out": "dir", "data_dir": "dir", "weights": "file", "tables": "file", "alignment": "dir"}
"""Knobs whose values are files' names, and of which kind."""


def complete(
    context: click.Context, option: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return the values that begin as typed; of a list, the last."""
    name = option.name or ""
    if name in PATHS:
        return [CompletionItem(incomplete, type=PATHS[name])]
    before, comma, last = incomplete.rpartition(",") if name in LISTS else ("", "", incomplete)
    values = [value for value in VALUES.get(name, ()) if value.startswith(last)]
    return [CompletionItem(f"{before}{comma}{value}") for value in values]
