"""The command line: ``python -m vfl_flower COMMAND``, or ``vfl-flower COMMAND``.

A command ``x`` is the function ``x`` in the module `vfl_flower.cli.commands.x_command`, or in one
of a folder of `FOLDERS`, imported when it is asked for. Modules of commands import what is heavy in
their functions, so that ``--help``, refusals and completion are quick.
"""

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version

import click
from click.exceptions import Exit

from vfl_flower.cli.completion import PROGRAM, VARIABLE, answer, completion_option
from vfl_flower.cli.usage import usage_text
from vfl_flower.common.errors import Interrupted, VflError

COMMANDS = (
    *(
        "train",
        "sweep",
        "align",
        "predict",
        "inspect",
        "report",
        "explain",
        "audit",
        "data",
        "identity",
    ),
    *("policy", "account"),
    *("deploy", "examples"),
)
FOLDERS = {"deploy": "package.", "examples": "package."}
EXIT_ERROR, EXIT_INTERRUPTED = 2, 130


class Program(click.Group):
    """All commands."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Name them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one, if there is one of that name."""
        if cmd_name not in COMMANDS:
            return None
        place = f"{FOLDERS.get(cmd_name, '')}{cmd_name}_command"
        command: click.Command = getattr(
            import_module(f"vfl_flower.cli.commands.{place}"), cmd_name
        )
        return command


def _show_version(ctx: click.Context, option: click.Parameter, asked: bool) -> None:
    if asked:
        try:
            found = version(PROGRAM)
        except PackageNotFoundError:
            found = "from a checkout that is not installed"
        click.echo(f"{PROGRAM} {found}")
        ctx.exit()


program = Program(
    PROGRAM,
    params=[
        completion_option(),
        click.Option(
            ["--version"],
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=_show_version,
            help="print the version of this program",
        ),
    ],
    help="""Vertical federated learning: parties with different columns of the same rows train
    together, and none shows its columns to another.""",
    epilog="""\b
    Example: train on a bundled data set, then look at the run.
      vfl-flower train --dataset wine --epochs 10 --out RUN
      vfl-flower inspect RUN

    Each command has a --help. Your own tables: docs/tables.md; all commands: docs/commands.md.""",
    no_args_is_help=False,
    context_settings={"help_option_names": ["--help", "-h"], "max_content_width": 100},
)


def run(arguments: Sequence[str]) -> int:
    """Run one of the commands and return its exit code; see `guarded`.

    Parameters
    ----------
    arguments : sequence of str
        The command's name and what follows it.
    """
    return guarded(program, PROGRAM, arguments)


def guarded(command: click.Command, name: str, arguments: Sequence[str]) -> int:
    """Run a command; its errors become one line on standard error.

    Returns
    -------
    int
        The exit code: 0, 2 for an error, 130 after Ctrl-C.
    """
    try:
        with command.make_context(name, list(arguments)) as context:
            command.invoke(context)
    except Exit as ended:  # of --help
        return ended.exit_code
    except click.UsageError as error:
        return _told("error", usage_text(error), EXIT_ERROR)
    except Interrupted as stopped:
        return _told("interrupted", str(stopped), EXIT_INTERRUPTED)
    except KeyboardInterrupt:
        text = "at once; a run that wrote a checkpoint can be resumed from it"
        return _told("interrupted", text, EXIT_INTERRUPTED)
    except VflError as error:
        return _told("error", error.in_full(), EXIT_ERROR)
    return 0


def _told(kind: str, text: str, code: int) -> int:
    # rich is slow to import
    from vfl_flower.reporting.console.lines import complain

    complain(kind, text)
    return code


def _named(command: Sequence[str]) -> click.Command:
    """Return the command that this process always runs, or all commands."""
    found = program.get_command(click.Context(program), command[0]) if command else None
    return found or program


def main(*command: str) -> None:
    """Run this process's command, and exit with its code.

    Parameters
    ----------
    *command : str
        What stands before the process's arguments.
    """
    if asked := os.environ.get(VARIABLE):
        sys.exit(answer(_named(command), asked))
    code = run([*command, *sys.argv[1:]])
    sys.stdout.flush()
    sys.stderr.flush()
    if code:
        os._exit(code)  # a party's thread that still computes must not meet a dying interpreter
    sys.exit()
