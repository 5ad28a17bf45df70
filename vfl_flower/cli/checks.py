"""Checks of a command's arguments before the slow import of torch."""

from collections.abc import Mapping
from pathlib import Path

from vfl_flower.common.errors import RunError
from vfl_flower.config.run_config import RunConfig
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
    cfg = RunConfig.from_mapping(values)
    if cfg.out:
        RunFolder.check_free(Path(cfg.out))
    check_tables(cfg)
    return cfg


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
