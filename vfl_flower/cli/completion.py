"""Shell completion: values of options, and the scripts that shells evaluate."""

import sys
from collections.abc import Sequence
from pathlib import Path

import click
from click.shell_completion import CompletionItem, get_completion_class, shell_complete

from vfl_flower.common.errors import ConfigError
from vfl_flower.config.schema import Declaration, choices

PROGRAM, VARIABLE = "vfl-flower", "_VFL_FLOWER_COMPLETE"
SHELLS = ("bash", "zsh", "fish")
_OF_PYTHON = """
{function}_of_python() {{
    [[ ${{COMP_WORDS[1]##*/}} == {file} && $COMP_CWORD -gt 1 ]] || return 0
    local program=$1$'\\n'${{COMP_WORDS[1]}}
    local -a words=("${{COMP_WORDS[@]:1}}")
    local -a COMP_WORDS=("${{words[@]}}")
    local COMP_CWORD=$((COMP_CWORD - 1))
    {function} "$program" "$2" "$3"
}}
complete -o nosort -o bashdefault -o default -F {function}_of_python python python3
"""
"""Bash completes the command python; this hands a file's arguments to the file's function."""


def complete(declared: Declaration, incomplete: str) -> list[CompletionItem]:
    """Return the values that begin as typed; of a list, the last."""
    if declared.path:
        return [CompletionItem(incomplete, type=declared.path)]
    before, comma, last = incomplete.rpartition(",") if declared.listed else ("", "", incomplete)
    values = [value for value in declared.offered() if value.startswith(last)]
    return [CompletionItem(f"{before}{comma}{value}") for value in values]


def script(shell: str, started_as: str) -> str:
    """Return the text that a shell evaluates to complete commands.

    Parameters
    ----------
    shell : str
        One of `SHELLS`.
    started_as : str
        Path of this program. A file of Python is completed behind ``python`` too, in bash, and in
        zsh after ``bashcompinit``.

    Raises
    ------
    ConfigError
        If the shell is unknown, or cannot complete a file of Python.
    """
    kind = get_completion_class(shell) if shell in SHELLS else None
    if kind is None:
        raise ConfigError(f"unknown shell '{shell}'{choices(shell, SHELLS)}")
    file = Path(started_as).name
    if not file.endswith(".py") or file == "__main__.py":
        return kind(click.Command(PROGRAM), {}, PROGRAM, VARIABLE).source()
    if shell != "bash":
        raise ConfigError(
            f"{shell} cannot complete python {file}; in zsh, run 'autoload -U bashcompinit; "
            f"bashcompinit' and take --completion bash; or complete {PROGRAM} train"
        )
    made = kind(click.Command(file), {}, file, VARIABLE)
    return made.source() + _OF_PYTHON.format(function=made.func_name, file=file)


def answer(command: click.Command, instruction: str) -> int:
    """Answer a shell's request to complete a command."""
    return shell_complete(command, {}, PROGRAM, VARIABLE, instruction)


def _show(ctx: click.Context, option: click.Parameter, shell: str | None) -> None:
    if shell is not None:
        click.echo(script(shell, sys.argv[0]), nl=False)
        ctx.exit()


def completion_option(known: Sequence[str] = SHELLS) -> click.Option:
    """Make the flag that prints the script."""
    return click.Option(
        ["--completion"],
        metavar="SHELL",
        is_eager=True,
        expose_value=False,
        callback=_show,
        help=f"print completion for {', '.join(known)}",
    )
