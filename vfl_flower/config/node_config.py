"""Configuration of one node in a deployment."""

import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from vfl_flower.common.errors import ConfigError
from vfl_flower.config.dataset_specs import DATASETS
from vfl_flower.config.options.privacy import USUAL_BOUND
from vfl_flower.config.policy.file import read_policy
from vfl_flower.config.policy.record import OPEN, SAFE, Policy
from vfl_flower.config.policy.run_options import taken_from
from vfl_flower.config.run_config import RunConfig
from vfl_flower.config.schema import Scalar, kebab, near, split_list
from vfl_flower.config.validation.system import NAME, check_free

OWN = {
    "table": "tables",
    "id": "id",
    "data-dir": "data-dir",
    "download": "download",
    "model": "models",
    "weights": "weights",
    "optimizer": "optimizers",
    "learning-rate": "learning-rates",
    "device": "device",
    "threads": "threads",
    "eval-threads": "eval-threads",
}
"""Keys of a node's configuration, and the run's options that they override."""

_NEW_TABLE = "new-table"
OTHER = ("partition-id", "num-partitions", "state-dir", "identity", "peers", "policy", _NEW_TABLE)


def run_config(options: Mapping[str, Any], simulation: bool) -> RunConfig:
    """Read a run's configuration from Flower, and settle open options.

    Between machines, a party's randomness is its own and rows of summed uploads are clipped,
    unless the run says otherwise, and there are no baselines: nobody has everybody's columns.

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
    _check_model(cfg, simulation)
    if cfg.own_tables:
        _check_own_tables(cfg, simulation)
    if simulation:
        _check_kept(cfg)
        return cfg
    for name in ("run_name", "alignment", "model"):
        check_free(kebab(name), getattr(cfg, name))
    if cfg.spec.pools:
        raise ConfigError(f"{cfg.method} needs all columns in one place: simulations alone have it")
    if cfg.baselines == "on":
        raise ConfigError("baselines are on, and central needs all columns in one place; use off")
    return _settled(cfg)


def _check_kept(cfg: RunConfig) -> None:
    """Refuse a simulation that has no folder for its split."""
    if cfg.split_told and not cfg.out:
        raise ConfigError(f"split is {cfg.split}, and out is empty; say where it is to be kept")


def _settled(cfg: RunConfig) -> RunConfig:
    """Return a configuration with the usual protections between machines."""
    private = cfg.party_randomness.replace("auto", "private")
    usual = (cfg.spec.usual_bound or USUAL_BOUND) if cfg.spec.blinds else "none"
    bound = cfg.embedding_bound.replace("auto", usual)
    return replace(cfg, party_randomness=private, embedding_bound=bound, baselines="off")


def _check_model(cfg: RunConfig, simulation: bool) -> None:
    """Refuse a model that parties elsewhere would not find."""
    if cfg.model and not (Path(cfg.model).is_absolute() if simulation else _is_name(cfg.model)):
        kind = "an absolute path here" if simulation else "the run-name of the run that trained"
        raise ConfigError(f"model must be {kind}, not '{cfg.model}'")


def _check_own_tables(cfg: RunConfig, simulation: bool) -> None:
    """Refuse tables and alignments that parties elsewhere would not find."""
    for file in split_list(cfg.tables):
        if not Path(file).is_absolute():
            raise ConfigError(f"tables must be absolute paths under flwr run, not '{file}'")
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
    cfg = replace(cfg, model=str(root / cfg.model) if cfg.model else "")
    if not cfg.own_tables or cfg.task == "align":
        return cfg
    alignment = root / cfg.alignment if cfg.alignment else folder
    return replace(cfg, alignment=str(alignment or ""))


def told_of(cfg: RunConfig, simulation: bool, own: Path | None) -> dict[str, Scalar]:
    """Return the options for passive parties; between machines those that nodes take.

    `own` is the folder of the run.
    """
    options = cfg.to_mapping()
    if cfg.own_tables and (cfg.task != "train" or Path(cfg.alignment) == own):
        options["alignment"] = ""
    if simulation:
        return options
    options["alignment"] = Path(str(options["alignment"])).name
    return taken_from(options | {"model": Path(cfg.model).name})


def own_config(options: Mapping[str, Any], node: Mapping[str, Any]) -> RunConfig:
    """Let a node's own configuration beat the run's.

    Between machines, a node takes from the run only the options that `taken_from` allows, none of
    which is a path.

    Raises
    ------
    ConfigError
        For an unknown key, or a value that cannot work.
    """
    for key in node:
        if key not in OWN and key not in OTHER:
            hint = near(key, [*OWN, *OTHER])
            raise ConfigError(f"the node configuration has an unknown key '{key}'{hint}")
    own = {option: node[key] for key, option in OWN.items() if key in node}
    if "learning-rates" in own:
        own["learning-rates"] = str(own["learning-rates"])
    if simulated():
        return run_config({**options, **own}, simulation=True)
    return run_config(_of_node(taken_from(options), own, node), simulation=False)


def _of_node(
    taken: dict[str, object], own: dict[str, object], node: Mapping[str, Any]
) -> dict[str, object]:
    """Return a node's options: those taken from the run, and its own.

    Missing data are downloaded only if the node's own configuration allows it: a run must not make
    a node open connections.

    Raises
    ------
    ConfigError
        If the node's configuration does not name the data that the run is to use.
    """
    dataset = str(taken.get("dataset", RunConfig.dataset))
    if dataset == "own":
        key = _NEW_TABLE if taken.get("task") in ("predict", "serve") else "table"
        if key not in node:
            raise ConfigError(
                f"the node configuration lacks {key}, its own table (then with id, the column of "
                "the ids) or a toml description of it"
            )
        own["tables"] = node[key]
    elif "data-dir" not in node and dataset in DATASETS and DATASETS[dataset].in_data_dir:
        raise ConfigError(
            f"the node configuration lacks data-dir, its own folder with the data set {dataset}"
        )
    return {"download": False, **taken, **own}


def policy_of_node(node: Mapping[str, Any]) -> Policy:
    """Return the policy of a node's owner, with own modules.

    Raises
    ------
    PolicyError
        If its file cannot be used.
    ConfigError
        If the file is named by a relative path.
    """
    if simulated():
        return OPEN
    policy, named = SAFE, str(node.get("policy", ""))
    if named:
        if not Path(named).is_absolute():
            raise ConfigError(f"policy must be an absolute path, not '{named}'")
        policy = read_policy(Path(named))
    modules = [each.partition(":")[0] for each in split_list(str(node.get("model", "")))]
    return replace(policy, own_modules=tuple(filter(None, modules)))


def home() -> Path:
    """Return where runs lie unless somebody says otherwise: VFL_FLOWER_HOME, or ~/.vfl-flower."""
    return Path(os.environ.get("VFL_FLOWER_HOME") or Path.home() / ".vfl-flower")


def simulated() -> bool:
    """Tell whether this process is one of Flower's simulation runtime."""
    ray = sys.modules.get("ray")
    return ray is not None and ray.is_initialized()
