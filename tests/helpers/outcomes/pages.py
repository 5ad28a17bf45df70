"""Pages of the documentation, with their commands and code."""

import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import click

from vfl_flower.cli.main import program

ROOT = Path(__file__).resolve().parents[3]
README = (ROOT / "README.md").read_text()
DOCS = ROOT / "docs"
OWN_NETWORK = "# my_networks.py"
"""First line of the network that the page of networks shows."""
PAGES = sorted(
    page
    for pattern in (
        "*.md",
        "docs/**/*.md",
        "deploy/**/*.md",
        "benchmarks/**/*.md",
        "examples/**/*.md",
    )
    for page in ROOT.glob(pattern)
)
DEPLOYMENT = DOCS / "deployment.md"  # whose commands are mostly others'
DESCRIBED = sorted({ROOT / "README.md", ROOT / "SECURITY.md", *DOCS.rglob("*.md")} - {DEPLOYMENT})
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def reached(*words: str) -> tuple[click.Command, list[str]]:
    """Return the command that words call, and the remaining words."""
    command, rest = cast("click.Command", program), list(words)
    while isinstance(command, click.Group) and rest:
        found = command.get_command(click.Context(command), rest.pop(0))
        assert found, words
        command = found
    return command, rest


def blocks(text: str, language: str) -> list[str]:
    return [body for kind, body in FENCE.findall(text) if kind == language]


def page(name: str) -> str:
    """Return the text of a page of the documentation, without its ending."""
    return (DOCS / f"{name}.md").read_text()


def own_network() -> str:
    """Return the network that the page of networks shows."""
    (shown,) = (b for b in blocks(page("networks"), "python") if b.startswith(OWN_NETWORK))
    return shown


def spans(text: str) -> list[str]:
    """Return the inline code of a page, without its fenced blocks."""
    return re.findall(r"`([^`\n]+)`", FENCE.sub("", text))


def commands(text: str) -> list[str]:
    """Return the shell commands that a page shows, comments left out."""
    lines = [line for block in blocks(text, "sh") for line in block.splitlines()]
    return [line for line in lines if line.strip() and not line.startswith("#")]


def arguments_of(command: str) -> list[str]:
    """Return a command's arguments for the program.

    Its own command's name comes first.
    """
    words = shlex.split(command, comments=True)
    if "run_simulation.py" in words:
        return ["train", *words[words.index("run_simulation.py") + 1 :]]
    return words[words.index("vfl_flower") + 1 :]


def parsed(command: str) -> dict[str, Any]:
    """Return the program's parsed parameters of a command."""
    return parsed_words(arguments_of(command))


def parsed_words(words: Sequence[str]) -> dict[str, Any]:
    """Return the parsed parameters of a command's name and arguments."""
    found, rest = reached(*words)
    return found.make_context(found.name, rest).params
