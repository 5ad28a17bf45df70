"""Configuration of one node in a deployment."""

import difflib
import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from vfl_flower.common.errors import ConfigError
from vfl_flower.config.dataset_specs import DATASETS
from vfl_flower.config.run_config import RunConfig
from vfl_flower.config.schema import Scalar, split_list
from vfl_flower.config.validation.system import NAME

OWN = {
    "table": "tables",
    "data-dir": "data-dir",
    "download": "download",
    "model": "models",
    "weights": "weights",
    "optimizer": "optimizers",
    "learning-rate": "learning-rates",
    "device": "device",
    "threads": "threads",
}
"""Keys of a node's configuration, and the run's options that they override."""

_NEW_TABLE = "new-table"
OTHER = ("partition-id", "num-partitions", "state-dir", "identity", "peers", _NEW_TABLE)


def run_config(options: Mapping[str, Any], simulation: bool) -> RunConfig:
    """Read a run's configuration from Flower, and settle open options.

    Between machines, a party's randomness is its own unless the run says otherwise, and there
    are no baselines: nobody has everybody's columns.

    Raises
    ------
    ConfigError
        If a value cannot work, or a path is relative: Flower's processes run in other folders
        than the one where ``flwr run`` was typed.
    """
    cfg = RunConfig.from_flower({k: v for k, v in options.items() if k != "resume"})
    for key, value in (("data-dir", cfg.data_dir), ("out", cfg.out)):
        needed = key == "out" or DATASETS[cfg.dataset].in_data_dir
        if needed and value and not Path(value).is_absolute():
            raise ConfigError(f"{key} must be an absolute path under flwr run, not '{value}'")
    for file in split_list(cfg.weights):
        if file and not Path(file).is_absolute():
            raise ConfigError(f"weights must be absolute paths under flwr run, not '{file}'")
    if cfg.own_tables:
        _check_own_tables(cfg, simulation)
    if simulation:
        return cfg
    if cfg.spec.pools:
        raise ConfigError(f"{cfg.method} needs all columns in one place: simulations alone have it")
    if cfg.baselines == "on":
        raise ConfigError("baselines are on, and central needs all columns in one place; use off")
    private = cfg.party_randomness.replace("auto", "private")
    return replace(cfg, party_randomness=private, baselines="off")


def _check_own_tables(cfg: RunConfig, simulation: bool) -> None:
    """Refuse tables and alignments that parties elsewhere would not find."""
    for file in split_list(cfg.tables):
        if not Path(file).is_absolute():
            raise ConfigError(f"tables must be absolute paths under flwr run, not '{file}'")
    if cfg.model and not (Path(cfg.model).is_absolute() if simulation else _is_name(cfg.model)):
        kind = "an absolute path here" if simulation else "the run-name of the run that trained"
        raise ConfigError(f"model must be {kind}, not '{cfg.model}'")
    if not cfg.alignment or cfg.task != "train":
        if simulation and not cfg.out:
            raise ConfigError("out is empty; say in which folder the alignment is to be kept")
        if cfg.alignment or (cfg.out and not simulation):
            raise ConfigError(
                f"task is {cfg.task}, and each party keeps what aligning its table comes to in its "
                "own state folder, under run-name; leave alignment and, between machines, out empty"
            )
    elif simulation and not Path(cfg.alignment).is_absolute():
        raise ConfigError(f"alignment must be an absolute path here, not '{cfg.alignment}'")
    elif not simulation and not _is_name(cfg.alignment):
        raise ConfigError(
            f"alignment must be the run-name of an alignment, not '{cfg.alignment}': each party "
            "has it in its own state folder"
        )


def _is_name(text: str) -> bool:
    """Whether a text names a run, without a path."""
    return NAME.fullmatch(text) is not None


def at_home(cfg: RunConfig, root: Path, folder: Path | None) -> RunConfig:
    """Resolve the names of an alignment and a model to own folders.

    Parameters
    ----------
    cfg : RunConfig
        As the run says it; in a simulation it names paths already.
    root : Path
        Where this party keeps its runs.
    folder : Path or None
        The run's own, where an alignment that is not named is to be.
    """
    if not cfg.own_tables or cfg.task == "align":
        return cfg
    alignment = root / cfg.alignment if cfg.alignment else folder
    model = str(root / cfg.model) if cfg.model else ""
    return replace(cfg, alignment=str(alignment or ""), model=model)


def told_of(cfg: RunConfig, simulation: bool, own: Path | None) -> dict[str, Scalar]:
    """Return the options for passive parties, without paths of others.

    `own` is the folder of the run.
    """
    options = cfg.to_mapping()
    if not cfg.own_tables:
        return options
    if cfg.task != "train" or Path(cfg.alignment) == own:
        options["alignment"] = ""
    if not simulation:
        options["alignment"] = Path(str(options["alignment"])).name
        options |= {"tables": "", "model": Path(cfg.model).name}
    return options


def own_config(options: Mapping[str, Any], node: Mapping[str, Any]) -> RunConfig:
    """Let a node's own configuration beat the run's.

    Raises
    ------
    ConfigError
        For an unknown key, or a value that cannot work.
    """
    for key in node:
        if key not in OWN and key not in OTHER:
            close = difflib.get_close_matches(key, [*OWN, *OTHER], n=1)
            hint = f"; did you mean '{close[0]}'?" if close else ""
            raise ConfigError(f"the node configuration has an unknown key '{key}'{hint}")
    own = {option: node[key] for key, option in OWN.items() if key in node}
    if "learning-rates" in own:
        own["learning-rates"] = str(own["learning-rates"])
    if options.get("dataset") == "own" and not simulated():
        key = _NEW_TABLE if options.get("task") == "predict" else "table"
        if key not in node:
            raise ConfigError(
                f"the node configuration lacks {key}, the toml description of its own table"
            )
        own["tables"] = node[key]
    return run_config({**options, **own}, simulated())


def home() -> Path:
    """Return where runs lie unless somebody says otherwise: VFL_FLOWER_HOME, or ~/.vfl-flower."""
    return Path(os.environ.get("VFL_FLOWER_HOME") or Path.home() / ".vfl-flower")


def simulated() -> bool:
    """Tell whether this process is one of Flower's simulation runtime."""
    ray = sys.modules.get("ray")
    return ray is not None and ray.is_initialized()
