"""``examples``: list the examples that come with the package, and copy them."""

import shutil
from pathlib import Path
from typing import NamedTuple

import click

from vfl_flower.cli.options import FOLDER
from vfl_flower.common.errors import ConfigError, RunError
from vfl_flower.common.sources import folder_of, write_app
from vfl_flower.config.schema import near


class Example(NamedTuple):
    """A folder to copy.

    Attributes
    ----------
    about : str
        Its content in a few words.
    path : str
        Its path in a checkout.
    """

    about: str
    path: str


EXAMPLES = {
    "app": Example("the Flower app, for flwr run, with container image", "app"),
    "bank-and-shop": Example("two tables, from files to predictions", "examples/bank-and-shop"),
    "conf": Example("configurations of whole runs, for --config", "conf"),
    "systemd": Example("systemd units", "deploy/systemd"),
    "notebooks": Example("Jupyter notebooks that train from Python", "examples/notebooks"),
}


@click.group(no_args_is_help=False)
def examples() -> None:
    """List or copy the examples that come with the package."""


@examples.command("list")
def listed() -> None:
    """List the examples."""
    width = max(map(len, EXAMPLES))
    for name, example in EXAMPLES.items():
        click.echo(f"{name:<{width}}  {example.about}")


@examples.command()
@click.argument("name")
@click.argument("dest", type=FOLDER)
def copy(name: str, dest: Path) -> None:
    """Copy the example NAME to the new folder DEST."""
    if name not in EXAMPLES:
        raise ConfigError(f"no example is called '{name}'{near(name, EXAMPLES)}")
    if name == "app":
        write_app(dest)
    else:
        top, *below = EXAMPLES[name].path.split("/")
        _copy(folder_of(top).joinpath(*below), dest)
    click.echo(f"copied to {dest}")


def _copy(source: Path, target: Path) -> None:
    """Copy a folder of files to a new place."""
    if target.exists():
        raise RunError(f"{target} is there already; choose another")
    programs = ["*.py"] if (source / "__init__.py").exists() else []  # those are commands
    shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__", *programs))
