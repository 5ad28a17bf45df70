"""Reference pages of the site, made from the code.

A page says where, by a comment such as ``<!-- filled by docs/generated.py: options -->``.
"""

import inspect
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import Field
from types import ModuleType
from typing import Any

import click

import vfl_flower
from vfl_flower import api
from vfl_flower.analysis.audit.registry import ATTACKS, attack_of
from vfl_flower.cli.completion import PROGRAM
from vfl_flower.cli.main import program
from vfl_flower.config.registry import METHODS, spec_of
from vfl_flower.config.schema import Declaration, declaration, declared_in, kebab
from vfl_flower.config.settings import GROUPS

MARK = re.compile(r"<!-- filled by docs/generated\.py: (\w+) -->")
HEADER = "| option | values | default | meaning |\n|---|---|---|---|"
REQUESTS = "set_fit_request, set_partial_fit_request, set_predict_request, set_score_request"
"""Methods that scikit-learn makes, whose docstrings name pages of its own."""

LIMITS = {"least": "at least", "above": "above", "most": "at most", "below": "below"}


def filled(page: str) -> str:
    """Return a page with its comments replaced by generated text."""
    return MARK.sub(lambda found: MADE[found[1]](), page)


def options() -> str:
    """Return tables of the options of all runs, then of each method."""
    parts = [f"## {title}\n\n{_table(declared_in(group))}" for title, group in GROUPS.items()]
    parts += ["## Options of single methods\n\nOther methods refuse them by name."]
    for name in METHODS:
        if own := declared_in(spec_of(name).options):
            parts.append(f"### {name}\n\nSee [{name}](../methods/{name}.md).\n\n{_table(own)}")
    return "\n\n".join(parts) + "\n"


def commands() -> str:
    """Return the help text of every command."""
    return "\n\n".join(_commands_of(program, PROGRAM)) + "\n"


def users() -> str:
    """Return directives that document the names of `vfl_flower`."""
    return _documented(vfl_flower)


def authors() -> str:
    """Return directives that document the names of `vfl_flower.api`."""
    return _documented(api)


def attacks() -> str:
    """Return a table of the attacks of a leakage card."""
    made = {name: attack_of(name) for name in ATTACKS}
    rows = [
        f"| `{name}` | {each.target} | {each.adversary} | {each.idea} | {each.anchor} |"
        for name, each in made.items()
    ]
    header = "| attack | target | adversary | idea | after |\n|---|---|---|---|---|"
    return "\n".join([header, *rows]) + "\n"


MADE: dict[str, Callable[[], str]] = {
    "attacks": attacks,
    "options": options,
    "commands": commands,
    "users": users,
    "authors": authors,
}


def _table(fields: Iterable["Field[Any]"]) -> str:
    return "\n".join([HEADER, *map(_row, fields)])


def _row(each: "Field[Any]") -> str:
    declared, name = declaration(each), kebab(each.name)
    default = f"`{each.default}`" if each.default != "" else ""
    names = [name, declared.short] if declared.short else [name]
    flags = ", ".join(f"`--{each}`" for each in names)
    cells = [flags, _values(declared, type(each.default)), default, declared.text]
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _values(declared: Declaration, kind: type) -> str:
    """Return the permitted values of an option in words."""
    if kind is bool:
        return "yes or no"
    if declared.choices:
        return ", ".join(f"`{choice}`" for choice in declared.choices)
    named = {int: "whole number", float: "number", str: "text"}[kind]
    told = {word: getattr(declared, key) for key, word in LIMITS.items()}
    limits = [f"{word} {limit:g}" for word, limit in told.items() if _is_told(limit)]
    return " ".join([named, " and ".join(limits)]).strip()


def _is_told(limit: float | None) -> bool:
    """Tell whether a limit does more than keep numbers finite."""
    return limit is not None and abs(limit) < 1e9


def _commands_of(command: click.Command, name: str) -> Iterator[str]:
    """Yield a section for each command below another."""
    context = click.Context(command, info_name=name, max_content_width=96, terminal_width=96)
    if not isinstance(command, click.Group):
        yield f"## {name}\n\n```text\n{command.get_help(context)}\n```"
        return
    for each in command.list_commands(context):
        found = command.get_command(context, each)
        if found:
            yield from _commands_of(found, f"{name} {each}")


def _documented(module: ModuleType) -> str:
    """Return a directive for each public class and function of a module."""
    lines = ["```{eval-rst}"]
    for name in module.__all__:
        value = getattr(module, name)
        if inspect.isclass(value):
            lines += [f".. autoclass:: {module.__name__}.{name}", "   :members:"]
            lines += [f"   :exclude-members: {REQUESTS}", ""]
        elif callable(value) and inspect.getdoc(value):
            lines += [f".. autofunction:: {module.__name__}.{name}", ""]
    return "\n".join([*lines, "```"]) + "\n"
