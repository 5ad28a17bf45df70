"""The command line: ``python -m vfl_flower COMMAND``, or ``vfl-flower COMMAND``.

A command ``x`` is the function ``x`` in the module `vfl_flower.cli.commands.x_command`, or in one
of a folder of `FOLDERS`, imported when it is asked for. Modules of commands import what is heavy in
their functions, so that ``--help``, refusals and completion are quick.
"""

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from traceback import walk_tb

import click
from click.exceptions import Exit

from vfl_flower.cli.completion import PROGRAM, VARIABLE, answer, completion_option
from vfl_flower.cli.usage import usage_text
from vfl_flower.common.errors import Interrupted, VflError
from vfl_flower.common.signals import (
    AT_ONCE,
    exit_at_signals,
    exit_code,
    forget_signals,
    raise_at_signals,
    was_raised,
)

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
    *("policy", "account", "serve", "export"),
    *("deploy", "examples"),
)
FOLDERS = dict.fromkeys(("deploy", "examples"), "package.")
FOLDERS |= dict.fromkeys(("serve", "export"), "serving.")
EXIT_ERROR = 2
STDOUT = "standard output cannot be written"
_PRINTING = ("click", "rich")


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
        The exit code: 0, 2 for an error, 130 after Ctrl-C, 143 after SIGTERM.
    """
    forget_signals()
    try:
        with command.make_context(name, list(arguments)) as context:
            command.invoke(context)
    except Exit as ended:  # of --help
        return ended.exit_code
    except click.UsageError as error:
        return _told("error", usage_text(error), EXIT_ERROR)
    except Interrupted as stopped:
        return _told("interrupted", str(stopped), exit_code())
    except KeyboardInterrupt:
        return _told("interrupted", AT_ONCE, exit_code())
    except Exception as error:
        text = _explained(error)
        if was_raised():  # and what it met may have made another error of it
            return _told("interrupted", f"{AT_ONCE} (then: {text or repr(error)})", exit_code())
        if not text:
            raise
        return _told("error", text, EXIT_ERROR)
    return 0


def _explained(error: Exception) -> str:
    """Return one line about an error; nothing if it is a defect.

    Those of the file system: the disk is full, or there are too many open files.
    """
    if isinstance(error, VflError):
        return error.in_full()
    if not isinstance(error, OSError):
        return ""
    if isinstance(error.filename, str | bytes):
        return f"{os.fsdecode(error.filename)} cannot be used: {error.strerror}"
    *_, (frame, _) = walk_tb(error.__traceback__)
    prints = frame.f_globals.get("__name__", "").partition(".")[0] in _PRINTING
    return f"{STDOUT if prints else 'a file cannot be used'}: {error.strerror or error}"


def _told(kind: str, text: str, code: int) -> int:
    # rich is slow to import
    from vfl_flower.reporting.console.lines import complain

    with suppress(OSError):  # the exit code says it, too
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
    try:
        raise_at_signals()
        code = _flushed(_ended(command))
    except KeyboardInterrupt:  # while an error was shown, say
        code = _flushed(_told("interrupted", AT_ONCE, exit_code()))
    exit_at_signals(code)  # what is done, is done
    if code:
        os._exit(code)  # a party's thread that still computes must not meet a dying interpreter
    sys.exit()


def _flushed(code: int) -> int:
    """Write the rest of the output; return the exit code."""
    try:
        if sys.stdout:  # which may be closed
            sys.stdout.flush()
    except OSError as error:
        with suppress(OSError), open(os.devnull, "wb") as nowhere:  # noqa: PTH123
            os.dup2(nowhere.fileno(), sys.stdout.fileno())  # for what is left in its buffer
        code = code or _told("error", f"{STDOUT}: {error.strerror}", EXIT_ERROR)
    with suppress(OSError):
        if sys.stderr:
            sys.stderr.flush()
    return code


def _ended(command: Sequence[str]) -> int:
    """Run or complete a command, and return its exit code."""
    if asked := os.environ.get(VARIABLE):
        return answer(_named(command), asked)
    return run([*command, *sys.argv[1:]])
