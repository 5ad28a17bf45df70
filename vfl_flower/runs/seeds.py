"""Runs that repeat one configuration with several seeds."""

import json
from dataclasses import replace
from pathlib import Path

from vfl_flower.common.errors import ConfigError, RunError
from vfl_flower.common.files import refused, write_atomically
from vfl_flower.common.json_schema import fits
from vfl_flower.common.layout import CONFIG, SEEDS
from vfl_flower.config.run_config import RunConfig
from vfl_flower.runs.run_folder import RunFolder, aligned_in, changed_from, public_config


def first_run(path: Path, trust_code: bool = False) -> RunFolder:
    """Open an earlier run; of several seeds, the first.

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


def begin_seeds(path: Path, cfg: RunConfig, seeds: list[int]) -> None:
    """Write the list of a run's seeds into its folder.

    Raises
    ------
    RunError
        If it cannot be written.
    """
    content = {"seeds": seeds, "config": public_config(cfg)}
    write_atomically(path / SEEDS, (json.dumps(content, indent=2) + "\n").encode())


def seeds_in(path: Path, changes: dict[str, object], trust_code: bool = False) -> list[RunFolder]:
    """Return the runs of several seeds, begun or not; none for one.

    Parameters
    ----------
    path, changes, trust_code
        See `RunFolder.reopen`.

    Raises
    ------
    RunError
        If the list of seeds is damaged, or `changes` differ from the run's own; see `reopen`.
    """
    with refused(path):
        if not (path / SEEDS).is_file():
            return []
        text = (path / SEEDS).read_text()
    try:
        content = json.loads(text)
        good = fits(content, {"seeds": [int], "config": dict}) and content["seeds"]
        cfg = RunConfig.from_record(content["config"] if good else {"": ""})
    except (ValueError, RecursionError, ConfigError) as error:
        raise RunError(f"{path / SEEDS} is damaged; start the run anew") from error
    seeds = list(dict.fromkeys(content["seeds"]))
    asked = changed_from(path, cfg, changes).unless_trusted(path / SEEDS, trust_code)
    asked = aligned_in(path, asked)
    folders = [(path / f"seed-{seed}", replace(asked, seed=seed)) for seed in seeds]
    return [RunFolder(p, c, fresh=not (p / CONFIG).exists()) for p, c in folders]
