"""File ``config.toml`` of a run folder: its options and its state.

It is the first file of the folder, so that whatever was killed can be resumed.
"""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vfl_flower.common.checksums.records import toml_with_sum
from vfl_flower.common.files import write_atomically
from vfl_flower.common.layout import CONFIG
from vfl_flower.config.run_config import STATE, read_toml

ALIGNING, TRAINING, COMPLETE = "aligning", "training", "complete"
"""States: the parties agree on the rows, alignment and split; they train; all is done."""


def write_config(folder: Path, state: str, options: Mapping[str, Any]) -> None:
    """Write a folder's file.

    Raises
    ------
    RunError
        If the file system refuses.
    """
    write_atomically(folder / CONFIG, toml_with_sum({STATE: state, **options}))


def state_in(folder: Path) -> str:
    """Read the state of a run; empty if it is not told."""
    try:
        state = tomllib.loads((folder / CONFIG).read_text()).get(STATE, "")
    except (OSError, ValueError, RecursionError):
        return ""
    return state if state in (ALIGNING, TRAINING, COMPLETE) else ""


def task_in(folder: Path) -> str:
    """Return the task that a folder is of.

    Raises
    ------
    ConfigError
        If the file cannot be read.
    """
    return str(read_toml(folder / CONFIG, of_run=True).get("task"))
