"""Checks of a command's arguments before the slow import of torch."""

from collections.abc import Mapping
from pathlib import Path

from vfl_flower.common.errors import RunError
from vfl_flower.config.run_config import RunConfig
from vfl_flower.config.schema import split_list
from vfl_flower.config.validation.tasks import check_tables_here
from vfl_flower.data.tables.description import described
from vfl_flower.runs.run_folder import RunFolder
from vfl_flower.runs.seeds import first_run, seeds_in


def new_run(values: Mapping[str, object]) -> RunConfig:
    """Return the configuration of a run that can begin.

    Raises
    ------
    ConfigError
        If an option cannot work, or a table's description cannot be used.
    RunError
        If its folder is not free.
    """
    cfg = RunConfig.from_mapping(implied(values))
    if cfg.out:
        (RunFolder.aligning if cfg.task == "align" else RunFolder)(Path(cfg.out), cfg)
    check_tables(cfg)
    return cfg


def implied(values: Mapping[str, object]) -> dict[str, object]:
    """Add the data set and the number of parties that tables imply."""
    made, tables = dict(values), values.get("tables")
    if not isinstance(tables, str) or not tables:
        return made
    if made.setdefault("dataset", "own") == "own" and len(split_list(tables)) > 1:
        made.setdefault("parties", len(split_list(tables)))
    return made


def check_tables(cfg: RunConfig) -> None:
    """Refuse own tables that are not described, or not all here.

    Raises
    ------
    ConfigError
        Names the table.
    """
    check_tables_here(cfg)
    for rank in range(cfg.parties) if cfg.own_tables else ():
        described(cfg, rank)


def check_resume(path: Path, changes: dict[str, object]) -> None:
    """Refuse a folder that cannot be resumed with some options.

    Raises
    ------
    VflError
        See `RunFolder.reopen`.
    """
    if not seeds_in(path, changes):
        RunFolder.reopen(path, changes)


def check_run(path: Path, *, complete: bool = True) -> None:
    """Refuse a folder without a run, or with an incomplete one.

    Raises
    ------
    VflError
        See `RunFolder.reopen`.
    """
    folder = first_run(path)
    if complete and folder.result() is None:
        raise RunError(f"{folder.path} is not complete; resume it first")
