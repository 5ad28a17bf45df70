"""Errors of command lines, with hints."""

import re

import click

from vfl_flower.cli.options import Option
from vfl_flower.config.schema import choices

_UNKNOWN = re.compile(r"No such command '(.*)'")  # click has a class for it since 8.4
_EXTRA = re.compile(r"Got unexpected extra arguments? \(([^\s)]+)")


def usage_text(error: click.UsageError) -> str:
    """Return one line: the error, a hint, and the help to read."""
    text = error.format_message().rstrip(".")
    context = error.ctx
    if context is None:
        return text
    if isinstance(context.command, click.Group):
        known = context.command.list_commands(context)  # not only those imported
        if unknown := _UNKNOWN.match(error.message):
            text = unknown[0] + choices(unknown[1], known).rstrip("?")
        elif text == "Missing command":
            text += f": one of {', '.join(known)}"
    elif extra := _EXTRA.match(error.message):
        text += _flag_hint(context, extra[1])
    return f"{text}; see {context.command_path} --help"


def _flag_hint(context: click.Context, word: str) -> str:
    """Name the flag that takes a word as its value."""
    for each in context.command.get_params(context):
        if isinstance(each, Option) and word in each.declared.offered():
            return f"; did you mean {each.opts[-1]} {word}"
    return ""
