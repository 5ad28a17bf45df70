"""File ``config.toml`` of a run folder: its options and its state.

It is the first file of the folder, so that whatever was killed can be resumed.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from vfl_flower.common.checksums.records import toml_with_sum
from vfl_flower.common.errors import DamageError, RunError
from vfl_flower.common.files import write_atomically
from vfl_flower.common.layout import CONFIG
from vfl_flower.config.run_config import RECORDED, STATE, RunConfig, differences, read_toml
from vfl_flower.config.schema import kebab, split_list

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


def options_in(folder: Path) -> dict[str, object]:
    """Read the options of a run, by their present names.

    Raises
    ------
    ConfigError
        If the file cannot be read.
    DamageError
        If it lacks what every version wrote.
    """
    values = read_toml(folder / CONFIG, of_run=True)
    if not state_in(folder) and not {kebab(name) for name in RECORDED} <= set(values):
        raise DamageError(
            f"{folder / CONFIG} is damaged: it lacks options that every run writes; put back a "
            "copy, or start a new run"
        )
    return values


def state_in(folder: Path) -> str:
    """Read the state of a run; empty if it is not told."""
    try:
        state = tomllib.loads((folder / CONFIG).read_text()).get(STATE, "")
    except (OSError, ValueError, RecursionError):
        return ""
    return state if state in (ALIGNING, TRAINING, COMPLETE) else ""


def task_in(folder: Path) -> str:
    """Return the task that a folder is of; see `options_in`."""
    return str(options_in(folder).get("task"))


def changed_from(path: Path, kept: RunConfig, changes: dict[str, object]) -> RunConfig:
    """Return a configuration with the changes of a resume; refuse another run's."""
    asked = kept.updated(changes)
    if told := differences(kept, asked):
        raise RunError(f"{path} was started with another configuration: {told}")
    return asked


def aligned_in(path: Path, cfg: RunConfig) -> RunConfig:
    """Set a run's own folder as the alignment, unless another is named."""
    if not cfg.own_tables or cfg.alignment:
        return cfg
    return replace(cfg, alignment=str(path.absolute()))


def public_config(cfg: RunConfig) -> dict[str, Any]:
    """Return the options that a run folder stores, with absolute paths."""
    public = {k: v for k, v in cfg.to_mapping().items() if k != "out"}
    return public | {
        "data-dir": str(Path(cfg.data_dir).absolute()),
        "tables": ",".join(_whole(each) for each in split_list(cfg.tables)),
        "alignment": _whole(cfg.alignment),
        "model": _whole(cfg.model),
    }


def _whole(path: str) -> str:
    """Return an absolute path; an empty one stays empty."""
    return str(Path(path).absolute()) if path else ""
