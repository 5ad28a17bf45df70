"""What a shell offers as a knob's value.

The names stand here once more because the modules that have them import torch, which takes longer
than a person waits for a shell. Nothing but the shell reads them; a test compares each with what is
accepted.
"""

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
