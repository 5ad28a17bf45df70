"""Named experiments, each in a folder of its own."""

import argparse
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from vfl_flower.common.layout import CONFIG

Flags = Mapping[str, str | None]
"""Flags of ``run_simulation.py`` without their dashes; one that is None takes no value."""


def given(parser: argparse.ArgumentParser, known: Mapping[str, Flags]) -> argparse.Namespace:
    """Parse a command line that names experiments, all if none is named."""
    parser.add_argument("--data-dir", default="data")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(known))
    args = parser.parse_args()
    if unknown := [name for name in args.names if name not in known]:
        parser.error(f"no experiment is called {unknown[0]}")
    args.names = args.names or list(known)
    return args


def complete(args: argparse.Namespace, known: Mapping[str, Flags]) -> Iterator[tuple[str, Path]]:
    """Run experiments one after the other; yield names and run folders."""
    for name in args.names:
        folder = args.out / re.sub("[ :]", "-", name).replace(",", "")
        _run(known[name], args.data_dir, folder)
        yield name, folder


def _run(flags: Flags, data_dir: str, folder: Path) -> None:
    """Run an experiment, or resume an earlier attempt."""
    if (folder / "result.json").is_file():
        return
    named = {**flags, "data-dir": data_dir, "out": str(folder)}
    begun = (folder / CONFIG).is_file()
    asked = {"resume": str(folder)} if begun else named
    parts = [part for key, value in asked.items() for part in (f"--{key}", value) if part]
    subprocess.run(  # noqa: S603
        [sys.executable, "run_simulation.py", *parts], check=True, stdout=subprocess.DEVNULL
    )
