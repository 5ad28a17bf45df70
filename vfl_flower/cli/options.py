"""What options are made of: one for each knob of `RunConfig`, paths, and whole numbers above 0."""

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import Field, fields
from pathlib import Path
from typing import Any, Literal

import click
from click.shell_completion import CompletionItem

from vfl_flower.cli.completion import complete
from vfl_flower.common.errors import ConfigError
from vfl_flower.config.run_config import RunConfig
from vfl_flower.config.schema import Scalar, kebab

OWN = "Options"
"""The title of a command's options that are no knobs."""


class Option(click.Option):
    """The option of one knob; its value is None where it is not given.

    Parameters
    ----------
    each : dataclasses.Field
        Of `RunConfig`.
    """

    def __init__(self, each: "Field[Any]") -> None:
        name, kind = kebab(each.name), type(each.default)
        flag = kind is bool
        self.group: str = each.metadata["group"]
        super().__init__(
            [f"--{name}/--no-{name}" if flag else f"--{name}"],
            type=kind,
            metavar=None if flag else kind.__name__.upper(),
            default=None,
            help=f"{each.metadata['help']} (default: {each.default!r})",
            shell_complete=complete,
        )


IMPLIED = ("task", "model")
"""Knobs that are no options: which command it is says as much."""


def options(*groups: str) -> list[click.Parameter]:
    """Return an option for every knob, or for those of some groups only."""
    every = [Option(each) for each in fields(RunConfig) if each.name not in IMPLIED]
    return [option for option in every if not groups or option.group in groups]


def given(values: Mapping[str, Scalar | None]) -> dict[str, object]:
    """Return the knobs that were given, by their kebab-case names."""
    return {kebab(name): value for name, value in values.items() if value is not None}


class Command(click.Command):
    """A command whose help shows knobs in their groups, behind its own options."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write a section for each group."""
        sections: dict[str, list[tuple[str, str]]] = {OWN: []}
        for each in self.get_params(ctx):
            record = each.get_help_record(ctx)
            if record and isinstance(each, click.Option):
                title = each.group if isinstance(each, Option) else OWN
                sections.setdefault(title, []).append(record)
        for title, records in sections.items():
            with formatter.section(title):
                formatter.write_dl(records)


class PathType(click.ParamType[Path]):
    """A path that nobody has looked at yet: whoever uses it says what is wrong with it.

    Parameters
    ----------
    kind : {"file", "dir"}
        What a shell offers in its place.
    """

    name = "path"

    def __init__(self, kind: Literal["file", "dir"]) -> None:
        self.kind = kind

    def convert(
        self, value: str | Path, param: click.Parameter | None, ctx: click.Context | None
    ) -> Path:
        """Return it as a path.

        Raises
        ------
        ConfigError
            If it is empty.
        """
        if value == "" and param:
            name = param.opts[0] if isinstance(param, click.Option) else param.human_readable_name
            raise ConfigError(f"{name} is empty; name a path")
        return Path(value)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Let the shell complete it."""
        return [CompletionItem(incomplete, type=self.kind)]


FILE, FOLDER = PathType("file"), PathType("dir")

AS_JSON = click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="print what comes of it as JSON, and everything else on standard error",
)


def told(as_json: bool, command: Callable[[], object]) -> None:
    """Run what a command does; print what it returns as JSON, if that is asked for."""
    from vfl_flower.reporting.console.lines import aside  # --help is quicker without them
    from vfl_flower.runs.results import json_of

    with aside() if as_json else nullcontext():
        result = command()
    if as_json:
        click.echo(json_of(result), nl=False)


def at_least_one(ctx: click.Context, option: click.Parameter, value: int) -> int:
    """Refuse a number below 1, as an option's callback.

    Raises
    ------
    ConfigError
        If it is.
    """
    if value < 1:
        raise ConfigError(f"{option.opts[0]} must be at least 1, not {value}")
    return value
