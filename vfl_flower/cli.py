"""The command line of ``run_simulation.py``: every knob of `RunConfig` is a flag."""

import argparse
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from datetime import datetime
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from vfl_flower.config import RunConfig, kebab, read_toml
from vfl_flower.errors import ConfigError, Interrupted, VflError

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
    groups: dict[str, Any] = {}
    for each in fields(RunConfig):
        name = each.metadata["group"]
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
    return made


def run(arguments: Sequence[str]) -> int:
    """Run the command and return its exit code: 0, 2 for an error, 130 after Ctrl-C."""
    from vfl_flower.console import complain  # after --help had its chance to be quick

    try:
        _run(vars(parser().parse_args(arguments)))
    except Interrupted as stopped:
        complain("interrupted", str(stopped))
        return EXIT_INTERRUPTED
    except KeyboardInterrupt:
        complain("interrupted", "at once; what the last checkpoint holds can be resumed")
        return EXIT_INTERRUPTED
    except VflError as error:
        complain("error", str(error))
        return EXIT_ERROR
    return 0


def _run(given: dict[str, Any]) -> None:
    ours = {name: given.pop(name, None) for name in OURS}
    flags: dict[str, object] = {kebab(name): value for name, value in given.items()}
    knobs = (read_toml(Path(ours["config"])) if ours["config"] else {}) | flags
    if ours["resume"]:
        if ours["seeds"]:
            raise ConfigError("--resume continues one run; name one of the seeds' folders")
        _resume(Path(ours["resume"]), knobs)
        return
    cfg = RunConfig.from_mapping(knobs)
    stamp = datetime.now().astimezone().strftime("%Y%m%d-%H%M%S")
    out = Path(cfg.out or f"runs/{cfg.method}-{cfg.dataset}-{stamp}")
    if ours["seeds"] is None:
        _fresh(cfg, out)
    else:
        _repeat(cfg, out, ours["seeds"])


def _fresh(cfg: RunConfig, out: Path) -> dict[str, Any]:
    """Run one configuration in a new folder, which is made only when all parties are built."""
    from vfl_flower.runs import RunFolder

    RunFolder.check_free(out)
    parties = _build(cfg, out)
    return _train(*parties, RunFolder.create(out, cfg))


def _resume(path: Path, knobs: dict[str, object]) -> None:
    """Go on with an earlier run, or show its result if it is complete."""
    from vfl_flower.console import print_result, say
    from vfl_flower.runs import RunFolder

    folder, cfg = RunFolder.reopen(path, knobs)
    result = folder.result()
    if result is None:
        _train(*_build(cfg, path), folder)
    else:
        print_result(result, cfg)
        say(f"{path} was complete already")


def _repeat(cfg: RunConfig, out: Path, seeds: int) -> None:
    """Run one configuration with several seeds, a folder each, and sum up."""
    from vfl_flower.console import print_summary, summary_of
    from vfl_flower.data import columns_of
    from vfl_flower.runs import RunFolder

    if seeds < 2:
        raise ConfigError(f"--seeds must be at least 2, not {seeds}")
    RunFolder.check_free(out)
    folders = {cfg.seed + i: out / f"seed-{cfg.seed + i}" for i in range(seeds)}
    results = []
    for seed, folder in folders.items():
        results.append(_fresh(replace(cfg, seed=seed), folder))
        columns_of.cache_clear()  # the next seed scales them anew
    summary = summary_of(results)
    RunFolder(out).write_result(summary)
    print_summary(summary)


def _build(cfg: RunConfig, out: Path) -> "tuple[ActiveParty, list[PassiveParty]]":
    from vfl_flower.build import build_active, build_passive

    passive = [build_passive(cfg, index, out) for index in range(cfg.parties - 1)]
    return build_active(cfg, out), passive


def _train(
    active: "ActiveParty", passive: "list[PassiveParty]", folder: "RunFolder"
) -> dict[str, Any]:
    """Train on the local carrier and show the result."""
    from vfl_flower.conduct import conduct
    from vfl_flower.console import print_result, say, watcher
    from vfl_flower.local import run_local
    from vfl_flower.runs import party_logs

    def carry(active: "ActiveParty") -> None:
        with _graceful(active), party_logs(folder, len(passive)):
            run_local(active, passive)

    cfg = active.cfg
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
        active.stop = True
        signal.signal(number, signal.default_int_handler)

    earlier = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in earlier.items():
            signal.signal(number, handler)
