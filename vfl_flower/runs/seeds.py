"""Runs that repeat one configuration, with several seeds or folds."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from vfl_flower.common.checksums.records import without_sum, write_checked
from vfl_flower.common.errors import ConfigError, DamageError, RunError
from vfl_flower.common.files import refused
from vfl_flower.common.json_schema import fits
from vfl_flower.common.layout import CONFIG, FOLDS, SEEDS
from vfl_flower.config.options.split_specs import MOST_FOLDS
from vfl_flower.config.run_config import RunConfig
from vfl_flower.runs.config_file import aligned_in, changed_from, public_config
from vfl_flower.runs.run_folder import RunFolder


@dataclass(frozen=True)
class Repeated:
    """A run of several seeds or folds.

    Attributes
    ----------
    folder : RunFolder
        Folder of all of them, with their alignment.
    runs : list of RunFolder
        One for each; they have begun or not.
    folds : int
        How many folds there are; 0 of seeds.
    """

    folder: RunFolder
    runs: list[RunFolder]
    folds: int


def first_run(path: Path, trust_code: bool = False) -> RunFolder:
    """Open an earlier run; of several seeds or folds, the first.

    Parameters
    ----------
    path, trust_code
        See `RunFolder.reopen`.

    Raises
    ------
    RunError
        If there is none.
    """
    folders = seeds_in(path, {}, trust_code)
    return folders[0] if folders else RunFolder.reopen(path, {}, trust_code)


def is_repeated(path: Path) -> bool:
    """Tell whether a folder holds a run of several seeds or folds."""
    return any((path / name).is_file() for name in (SEEDS, FOLDS))


def begin_seeds(path: Path, cfg: RunConfig, seeds: list[int]) -> None:
    """Write the list of a run's seeds into its folder.

    Raises
    ------
    ConfigError
        If parties join a model, which has a seed of its own.
    RunError
        If it cannot be written.
    """
    if cfg.joins:
        raise ConfigError(
            f"new-parties is {cfg.new_parties}, and rows are split by the one seed of the model; "
            "leave seeds out"
        )
    write_checked(path / SEEDS, {"seeds": seeds, "config": public_config(cfg)})


def first_fold(cfg: RunConfig, folds: int) -> RunConfig:
    """Return the configuration of the first fold.

    Raises
    ------
    ConfigError
        If the run has a fold already, or its folds would tell more of labels than label-epsilon.
    """
    if cfg.joins:
        raise ConfigError(
            f"new-parties is {cfg.new_parties}, and a model has one fold of its own; leave folds "
            "out, or name a model of the same fold"
        )
    if cfg.fold:
        raise ConfigError(f"fold is {cfg.fold}, and folds runs all of them; leave fold empty")
    stops = "stop-drop" if cfg.stop_drop else cfg.options.stops_early
    looks = "keep = best" if cfg.keep == "best" else stops
    if looks and (cfg.label_noise or cfg.options.labels_noised):
        raise ConfigError(
            f"{looks} looks at true labels of validation rows, which are training rows of other "
            "folds, and labels are noised: their epsilon would not be true; use keep = last, and "
            "no early stopping"
        )
    return replace(cfg, fold=f"0/{folds}")


def begin_folds(path: Path, cfg: RunConfig, folds: int) -> None:
    """Write the number of a run's folds into its folder.

    Raises
    ------
    ConfigError
        See `first_fold`.
    RunError
        If it cannot be written.
    """
    first_fold(cfg, folds)
    write_checked(path / FOLDS, {"folds": folds, "config": public_config(cfg)})


def seeds_in(path: Path, changes: dict[str, object], trust_code: bool = False) -> list[RunFolder]:
    """Return the runs of several seeds or folds, if any; see `repeated`."""
    found = repeated(path, changes, trust_code)
    return found.runs if found else []


def repeated(path: Path, changes: dict[str, object], trust_code: bool = False) -> Repeated | None:
    """Open a run of several seeds or folds, if it is one.

    Parameters
    ----------
    path, changes, trust_code
        See `RunFolder.reopen`.

    Raises
    ------
    RunError
        If their list is damaged, or `changes` differ from the run's own; see `reopen`.
    """
    with refused(path):
        listed = next((path / name for name in (SEEDS, FOLDS) if (path / name).is_file()), None)
        if listed is None:
            return None
        text = listed.read_text()
    try:
        content = without_sum(listed, json.loads(text))
        runs = _runs(content)
        cfg = RunConfig.from_record(content["config"] if runs else {"": ""})
    except (ValueError, RecursionError, ConfigError, DamageError) as error:
        raise RunError(f"{listed} is damaged; start the run anew") from error
    asked = changed_from(path, cfg, changes).unless_trusted(listed, trust_code)
    asked = aligned_in(path, asked)
    folders = [(path / name, replace(asked, **values)) for name, values in runs.items()]
    made = [RunFolder(p, c, fresh=not (p / CONFIG).exists()) for p, c in folders]
    return Repeated(RunFolder(path, asked, fresh=False), made, content.get("folds", 0))


def _runs(content: Any) -> Mapping[str, dict[str, Any]]:  # noqa: ANN401
    """Return each run's options by folder, unless the list is damaged."""
    if fits(content, {"seeds": [int], "config": dict}):
        return {f"seed-{seed}": {"seed": seed} for seed in content["seeds"]}
    if fits(content, {"folds": int, "config": dict}) and 2 <= content["folds"] <= MOST_FOLDS:
        folds = content["folds"]
        return {f"fold-{number}": {"fold": f"{number}/{folds}"} for number in range(folds)}
    return {}
