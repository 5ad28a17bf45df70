"""Runs with all parties on this machine: a new one, one with several seeds, or the rest of one."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from types import FrameType
from typing import Any

from vfl_flower.active import ActiveParty
from vfl_flower.build import build_active, build_passive
from vfl_flower.conduct import conduct
from vfl_flower.config import RunConfig
from vfl_flower.console import (
    complain,
    print_result,
    print_summary,
    say,
    summary_of,
    voices,
    watcher,
)
from vfl_flower.data import columns_of
from vfl_flower.errors import ConfigError
from vfl_flower.local import run_local
from vfl_flower.passive import PassiveParty
from vfl_flower.result import write_result
from vfl_flower.runs import RunFolder, begin_seeds, party_logs, seeds_in
from vfl_flower.stopping import stopped_by


def start(cfg: RunConfig) -> dict[str, Any]:
    """Run one configuration in a new folder, which is made only when all parties are built."""
    return simulate(RunFolder(_out(cfg), cfg))


def resumed(path: Path, changes: dict[str, object]) -> dict[str, Any]:
    """Go on with an earlier run, or with several seeds; show what is complete.

    Parameters
    ----------
    path : Path
        The run's folder.
    changes : dict of str to object
        See `RunFolder.reopen`.
    """
    if folders := seeds_in(path, changes):
        return _all_of(folders, path)
    return _rest_of(RunFolder.reopen(path, changes))


def repeat(cfg: RunConfig, seeds: int) -> dict[str, Any]:
    """Run one configuration with several seeds, a folder each, and sum up.

    Raises
    ------
    ConfigError
        If they are not several.
    """
    if seeds < 2:
        raise ConfigError(f"--seeds must be at least 2, not {seeds}")
    out = _out(cfg)
    RunFolder.check_free(out)
    _build(cfg, out)  # whatever is wrong shows before anything is written
    begin_seeds(out, cfg, list(range(cfg.seed, cfg.seed + seeds)))
    return _all_of(seeds_in(out, {}), out)


def _out(cfg: RunConfig) -> Path:
    """Return the folder that a run is to have."""
    stamp = datetime.now().astimezone().strftime("%Y%m%d-%H%M%S")
    return Path(cfg.out or f"runs/{cfg.method}-{cfg.dataset}-{stamp}")


def _all_of(folders: list[RunFolder], out: Path) -> dict[str, Any]:
    """Finish the runs of several seeds, and sum up."""
    results = []
    for folder in folders:
        results.append(_rest_of(folder))
        columns_of.cache_clear()  # the next seed scales them anew
    summary = summary_of(results)
    write_result(out, summary)
    print_summary(summary)
    say(f"saved in {out}")
    return summary


def _rest_of(folder: RunFolder) -> dict[str, Any]:
    """Finish one run that has begun, or show its result if it is complete."""
    result = folder.result()
    if result is None:
        return simulate(folder)
    print_result(result, folder.cfg)
    say(f"{folder.path} was complete already")
    return result


def _build(cfg: RunConfig, out: Path) -> tuple[ActiveParty, list[PassiveParty]]:
    passive = [build_passive(cfg, index, out) for index in range(cfg.parties - 1)]
    return build_active(cfg, out), passive


def simulate(folder: RunFolder) -> dict[str, Any]:
    """Train on the local carrier, show the result and return it."""
    cfg = folder.cfg
    if cfg.carrier not in ("auto", "local"):
        raise ConfigError(f"carrier is {cfg.carrier}, which needs flwr run; use auto or local here")
    active, passive = _build(cfg, folder.path)

    def carry(active: ActiveParty) -> None:
        with _graceful(active), party_logs(folder, len(passive)), voices(len(passive)):
            run_local(active, passive)

    title = f"{cfg.method} on {cfg.dataset}, seed {cfg.seed}"
    result = conduct(active, "local", carry, folder, watcher(title))
    print_result(result, cfg)
    say(f"saved in {folder.path}")
    return result


@contextmanager
def _graceful(active: ActiveParty) -> Iterator[None]:
    """Let the first Ctrl-C end the run after the step in hand, and the second one at once."""

    def stop(number: int, frame: FrameType | None) -> None:
        complain("stopping", "after the step in hand; once more stops at once")
        active.request_stop()
        signal.signal(number, signal.default_int_handler)

    with stopped_by(stop):
        yield
