"""Command-line options: those of a run, paths, and whole numbers above 0."""

from collections.abc import Callable, Collection, Mapping
from contextlib import nullcontext
from dataclasses import Field
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click
from click.shell_completion import CompletionItem

from vfl_flower.cli.completion import complete
from vfl_flower.common.errors import ConfigError
from vfl_flower.config.registry import ALIASES, METHODS, method_options, spec_of
from vfl_flower.config.run_config import present_keys
from vfl_flower.config.schema import (
    Declaration,
    Scalar,
    check_name,
    declaration,
    declared_in,
    kebab,
)
from vfl_flower.config.settings import COMMON, GROUPS

METHOD = "vfl_flower.method"
"""Where a context notes the method that ``--help`` is asked for."""

OWN = "Options"
"""The title of a command's options that are no options of a run."""

_WIDEST = 26
"""Characters of a flag and its choices that ``--help`` shows in one line with its text."""

IMPLIED = ("task", "service", "truth", "keep_missing")
"""Options of a run that are no flags: which command it is says as much."""


class Option(click.Option):
    """Command-line option for one option of a run; None by default.

    Parameters
    ----------
    each : dataclasses.Field
        Of `Settings`, or of a method's own options.
    group : str
        Title in ``--help``; empty for an option of methods' own.
    former : bool
        Whether it is the option under its former name, which no help shows.
    """

    def __init__(self, each: "Field[Any]", group: str = "", *, former: bool = False) -> None:
        self.declared, self.group = declaration(each), group
        kind = type(each.default)
        flag = kind is bool
        name = self.declared.alias if former else each.name
        typed = kebab(name)
        short = [f"--{self.declared.short}"] if self.declared.short and not former else []
        text = self.declared.text + (f" [{each.default}]" if each.default != "" else "")
        super().__init__(
            [name, *short, f"--{typed}/--no-{typed}" if flag else f"--{typed}"],
            type=kind,
            metavar=None if flag else _metavar(self.declared, kind, typed),
            default=None,
            help=text,
            hidden=former,
            shell_complete=lambda ctx, param, incomplete: complete(self.declared, incomplete),
        )


def _metavar(declared: Declaration, kind: type[object], flag: str) -> str:
    """Return a few choices as ``[a|b]``, else the type."""
    written = f"[{'|'.join(declared.choices)}]"
    few = declared.choices and len(flag) + len(written) <= _WIDEST and not declared.listed
    return written if few else kind.__name__.upper()


def options(*groups: str) -> list[click.Parameter]:
    """Return command-line options for the options of all methods.

    Or of some groups only.

    Parameters
    ----------
    *groups : str
        Titles in `GROUPS`; none: all.
    """
    return [
        made
        for title, record in GROUPS.items()
        if not groups or title in groups
        for each in declared_in(record)
        if each.name not in IMPLIED
        for made in _spellings(each, title)
    ]


def _spellings(each: "Field[Any]", group: str = "") -> list[click.Parameter]:
    """Return the command-line option, and another for its former name."""
    former = declaration(each).alias
    return [Option(each, group), *([Option(each, group, former=True)] if former else [])]


@cache
def _own_options(declarations: tuple[str, ...]) -> list[click.Parameter]:
    """Return command-line options for the options of single methods.

    They are made once for a state of the registry.
    """
    return [made for each in method_options().values() for made in _spellings(each)]


def given(values: Mapping[str, Scalar | None]) -> dict[str, object]:
    """Return the options that were given, by their present kebab-case names.

    Raises
    ------
    ConfigError
        If one is given under both of its names.
    """
    return present_keys({kebab(name): v for name, v in values.items() if v is not None})


class Command(click.Command):
    """A command whose help shows options in groups."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write a section for each group."""
        sections: dict[str, list[tuple[str, str]]] = {OWN: []}
        for each in self.get_params(ctx):
            title = self.title_of(each, ctx)
            if title and (record := each.get_help_record(ctx)):
                sections.setdefault(title, []).append(record)
        for title, records in sections.items():
            with formatter.section(title):
                formatter.write_dl(records)

    def title_of(self, each: click.Parameter, ctx: click.Context) -> str:
        """Return the title that an option stands under."""
        return each.group if isinstance(each, Option) else OWN


class TrainCommand(Command):
    """Command with all methods' own options; help shows one method's."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the options, methods' own among them."""
        return [*super().get_params(ctx), *_own_options(tuple(METHODS.values()))]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Note the method before ``--help``, wherever it stands, ends the command."""
        for flag, value in pairwise([*args, ""]):
            name, _, joined = flag.partition("=")
            if name == "--method":
                ctx.meta[METHOD] = joined or value
        return super().parse_args(ctx, args)

    def title_of(self, each: click.Parameter, ctx: click.Context) -> str:
        """Return the title that an option stands under; none for another method's."""
        if not isinstance(each, Option) or each.group:
            return super().title_of(each, ctx)
        named = ctx.meta.get(METHOD, COMMON["method"].default)
        method = ALIASES.get(named, named)
        check_name("method", method, METHODS)
        own = {option.name for option in declared_in(spec_of(method).options)}
        return f"Own options of {method}" if each.name in own else ""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write how to see another method's own options."""
        formatter.write_paragraph()
        formatter.write_text(
            f"Another method's own options: {ctx.command_path} --method METHOD --help"
        )


if TYPE_CHECKING:
    _NameParameter = click.ParamType[str]
    _PathParameter = click.ParamType[Path]
else:
    _NameParameter = _PathParameter = click.ParamType  # generic since click 8.4 only


class NameType(_NameParameter):
    """One of some names; errors and help list all.

    Parameters
    ----------
    known : collection of str
        Names, from a registry.
    """

    name = "name"

    def __init__(self, known: Collection[str]) -> None:
        self.known = known

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name.

        Raises
        ------
        ConfigError
            If there is none such.
        """
        check_name(param.name if param and param.name else self.name, value, self.known)
        return value

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Return the names that begin as typed."""
        return [CompletionItem(name) for name in self.known if name.startswith(incomplete)]


class PathType(_PathParameter):
    """Unchecked path, whose user reports errors.

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

WITHOUT = click.option(
    "--without",
    metavar="PARTY,...",
    default="",
    help="passive parties that have left, such as party-2; their uploads count as zeros",
)

TRUST_CODE = click.option(
    "--trust-code",
    is_flag=True,
    help="import the code of networks that the run's folder names; review it first",
)


def told(as_json: bool, command: Callable[[], object]) -> None:
    """Run a command's work; print its result as JSON on request."""
    # rich is slow to import
    from vfl_flower.common.text.escapes import escaped_json
    from vfl_flower.reporting.console.lines import aside
    from vfl_flower.runs.results import json_of

    with aside() if as_json else nullcontext():
        result = command()
    if as_json:
        click.echo(escaped_json(json_of(result)), nl=False)


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
