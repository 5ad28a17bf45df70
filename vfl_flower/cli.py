"""The command line of ``run_simulation.py``: every knob of `RunConfig` is a flag."""

import argparse
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from datetime import datetime
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from vfl_flower.config import RunConfig, kebab, read_toml, split_list
from vfl_flower.errors import ConfigError, Interrupted, VflError
from vfl_flower.stopping import stopped_by

if TYPE_CHECKING:
    from vfl_flower.active import ActiveParty
    from vfl_flower.passive import PassiveParty
    from vfl_flower.runs import RunFolder

EXIT_ERROR, EXIT_INTERRUPTED = 2, 130
OURS = ("config", "resume", "seeds")


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are ours."""

    def error(self, message: str) -> Any:  # noqa: ANN401
        """Raise instead of printing the whole usage."""
        raise ConfigError(f"{message}; see --help")


def parser() -> Parser:
    """Make the parser: one flag per knob, grouped."""
    made = Parser(
        prog="run_simulation.py",
        description="Train a vertically federated model with all parties on this machine.",
        argument_default=argparse.SUPPRESS,
        allow_abbrev=False,
    )
    made.add_argument("--config", metavar="TOML", help="read knobs from a file; flags win")
    made.add_argument("--resume", metavar="RUN", help="go on from a run folder's last checkpoint")
    made.add_argument("--seeds", type=int, metavar="N", help="repeat with N seeds, report the mean")
    add_knobs(made)
    return made


def add_knobs(made: argparse.ArgumentParser, wanted: Sequence[str] = ()) -> None:
    """Give a parser a flag for every knob, grouped; or for the knobs of some groups only."""
    groups: dict[str, Any] = {}
    for each in fields(RunConfig):
        name = each.metadata["group"]
        if wanted and name not in wanted:
            continue
        group = groups.setdefault(name, None) or made.add_argument_group(name)
        groups[name] = group
        text = f"{each.metadata['help']} (default: {each.default!r})".replace("%", "%%")
        if isinstance(each.default, bool):
            group.add_argument(
                f"--{kebab(each.name)}", action=argparse.BooleanOptionalAction, help=text
            )
        else:
            kind = type(each.default)
            group.add_argument(
                f"--{kebab(each.name)}", type=kind, metavar=kind.__name__.upper(), help=text
            )


def run(arguments: Sequence[str]) -> int:
    """Run the command and return its exit code: 0, 2 for an error, 130 after Ctrl-C."""
    return guarded(lambda: _run(vars(parser().parse_args(arguments))))


def guarded(command: Callable[[], None]) -> int:
    """Run any command; its errors become one line and an exit code."""
    from vfl_flower.console import complain  # after --help had its chance to be quick

    try:
        command()
    except Interrupted as stopped:
        complain("interrupted", str(stopped))
        return EXIT_INTERRUPTED
    except KeyboardInterrupt:
        complain("interrupted", "at once; a run that wrote a checkpoint can be resumed from it")
        return EXIT_INTERRUPTED
    except VflError as error:
        complain("error", error.in_full())
        return EXIT_ERROR
    return 0


def main() -> None:
    """Run the command of this process, and end the process with its exit code."""
    code = run(sys.argv[1:])
    sys.stdout.flush()
    sys.stderr.flush()
    if code:
        os._exit(code)  # a party's thread that still computes must not meet a dying interpreter
    sys.exit()


def _run(given: dict[str, Any]) -> None:
    ours = {name: given.pop(name, None) for name in OURS}
    flags: dict[str, object] = {kebab(name): value for name, value in given.items()}
    for name in ("config", "resume"):
        if ours[name] == "":
            raise ConfigError(f"--{name} is empty; name a path")
    knobs = (read_toml(Path(ours["config"])) if ours["config"] else {}) | flags
    if ours["resume"]:
        if ours["seeds"]:
            raise ConfigError("--resume goes on with the seeds that the run was started with")
        if "out" in knobs:
            raise ConfigError("--resume goes on in the run's own folder; leave out away")
        _resume(Path(ours["resume"]), knobs)
        return
    cfg = RunConfig.from_mapping(knobs)
    stamp = datetime.now().astimezone().strftime("%Y%m%d-%H%M%S")
    out = Path(cfg.out or f"runs/{cfg.method}-{cfg.dataset}-{stamp}")
    if ours["seeds"] is None:
        _fresh(cfg, out)
    else:
        _repeat(cfg, out, ours["seeds"])


def _fresh(cfg: RunConfig, out: Path) -> None:
    """Run one configuration in a new folder, which is made only when all parties are built."""
    from vfl_flower.runs import RunFolder

    folder = RunFolder(out, cfg)
    if cfg.task == "align":
        _only_align(folder)
    else:
        simulate(folder)


def _only_align(folder: "RunFolder") -> None:
    """Align the parties' own tables in a new folder, for runs to come."""
    from vfl_flower.console import say

    if not folder.aligns:
        raise ConfigError("task is align, and alignment names one that is there; leave it empty")
    with _prepared(folder):
        rows = _align(folder)
    folder.end()
    say(f"{rows} rows are common to all parties; aligned in {folder.path}")


def _resume(path: Path, knobs: dict[str, object]) -> None:
    """Go on with an earlier run, or with several seeds; show what is complete."""
    from vfl_flower.runs import RunFolder, seeds_in

    if folders := seeds_in(path, knobs):
        _all_of(folders, path)
    else:
        _rest_of(RunFolder.reopen(path, knobs))


def _repeat(cfg: RunConfig, out: Path, seeds: int) -> None:
    """Run one configuration with several seeds, a folder each, and sum up."""
    from vfl_flower.runs import RunFolder, begin_seeds, seeds_in

    if seeds < 2:
        raise ConfigError(f"--seeds must be at least 2, not {seeds}")
    folder = RunFolder(out, cfg)
    if cfg.task == "align":
        raise ConfigError("task is align, which is the same for all seeds; leave --seeds out")
    with _prepared(folder):
        _build(folder.cfg, out)  # whatever is wrong shows before anything else is written
        folder.take()
        begin_seeds(out, cfg, list(range(cfg.seed, cfg.seed + seeds)))
    folder.end()
    _all_of(seeds_in(out, {}), out)


def _all_of(folders: "list[RunFolder]", out: Path) -> None:
    """Finish the runs of several seeds, and sum up."""
    from vfl_flower.console import print_summary, say, summary_of
    from vfl_flower.data import columns_of
    from vfl_flower.result import write_result

    results = []
    for folder in folders:
        results.append(_rest_of(folder))
        columns_of.cache_clear()  # the next seed scales them anew
    summary = summary_of(results)
    write_result(out, summary)
    print_summary(summary)
    say(f"saved in {out}")


def _rest_of(folder: "RunFolder") -> dict[str, Any]:
    """Finish one run that has begun, or show its result if it is complete."""
    from vfl_flower.console import print_result, say

    result = folder.result()
    if result is None:
        return simulate(folder)
    print_result(result, folder.cfg)
    say(f"{folder.path} was complete already")
    return result


@contextmanager
def _prepared(folder: "RunFolder") -> Iterator[None]:
    """Align what a new run has to; if it does not get to begin after all, leave nothing behind."""
    from vfl_flower.alignment.here import is_aligned

    try:
        if folder.aligns and folder.cfg.task == "train" and not is_aligned(folder.path):
            _align(folder)
        yield
    except BaseException:
        folder.give_up()
        raise


def _align(folder: "RunFolder") -> int:
    """Align the parties' own tables, and return how many rows they have in common."""
    from vfl_flower.alignment.here import align_here
    from vfl_flower.console import voices, watcher
    from vfl_flower.runs import party_logs

    cfg = folder.cfg
    _check_tables(cfg)
    folder.take()
    with party_logs(folder, cfg.parties - 1), voices(cfg.parties - 1):
        return align_here(cfg, folder.path, watcher("alignment"))


def _check_tables(cfg: RunConfig) -> None:
    """Refuse one table for all parties, which are all on this machine."""
    if cfg.own_tables and len(split_list(cfg.tables)) < cfg.parties:
        raise ConfigError(
            f"tables lists one description for {cfg.parties} parties; on one machine name each "
            "party's own, the active party's first"
        )


def _build(cfg: RunConfig, out: Path) -> "tuple[ActiveParty, list[PassiveParty]]":
    from vfl_flower.build import build_active, build_passive

    _check_tables(cfg)
    passive = [build_passive(cfg, index, out) for index in range(cfg.parties - 1)]
    return build_active(cfg, out), passive


def simulate(folder: "RunFolder") -> dict[str, Any]:
    """Train on the local carrier, show the result and return it."""
    cfg = folder.cfg
    if cfg.carrier not in ("auto", "local"):
        raise ConfigError(f"carrier is {cfg.carrier}, which needs flwr run; use auto or local here")
    with _prepared(folder):
        active, passive = _build(cfg, folder.path)
        return _simulated(folder, active, passive)


def _simulated(
    folder: "RunFolder", active: "ActiveParty", passive: "list[PassiveParty]"
) -> dict[str, Any]:
    """Train with parties that are built."""
    from vfl_flower.conduct import conduct
    from vfl_flower.console import print_result, say, voices, watcher
    from vfl_flower.local import run_local
    from vfl_flower.runs import party_logs

    cfg = folder.cfg

    def carry(active: "ActiveParty") -> None:
        with _graceful(active), party_logs(folder, len(passive)), voices(len(passive)):
            run_local(active, passive)

    title = f"{cfg.method} on {cfg.dataset}, seed {cfg.seed}"
    result = conduct(active, "local", carry, folder, watcher(title))
    print_result(result, cfg)
    say(f"saved in {folder.path}")
    return result


@contextmanager
def _graceful(active: "ActiveParty") -> Iterator[None]:
    """Let the first Ctrl-C end the run after the step in hand, and the second one at once."""
    from vfl_flower.console import complain

    def stop(number: int, frame: FrameType | None) -> None:
        complain("stopping", "after the step in hand; once more stops at once")
        active.request_stop()
        signal.signal(number, signal.default_int_handler)

    with stopped_by(stop):
        yield
