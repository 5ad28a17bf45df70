"""One run of an experiment in its own folder, and its record."""

import json
import re
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from types import FrameType
from typing import Any

from benchmarks.harness.experiments import as_words
from benchmarks.reproducing.paper import Experiment, Flags
from vfl_flower.analysis.explain.importance import Findings, accuracy, explain, heads_of
from vfl_flower.analysis.explain.noise import SIGMA
from vfl_flower.analysis.explain.retraining import Choice, plan
from vfl_flower.analysis.explain.trained import check_heads, complete_run, trained
from vfl_flower.cli.commands.train_command import train
from vfl_flower.cli.options import given
from vfl_flower.common.errors import (
    AbsentDataError,
    ConfigError,
    Interrupted,
    PartyError,
    TrainingError,
)
from vfl_flower.common.layout import CONFIG
from vfl_flower.config.run_config import RunConfig
from vfl_flower.runs.metrics_file import read_metrics
from vfl_flower.runs.run_folder import RunFolder
from vfl_flower.workflows.local.train import train_in
from vfl_flower.workflows.local.watch import Watch

NO_OPTIONS = ("config", "resume", "seeds", "folds", "as_json", "trust_code")
"""Parameters of ``train`` that are no options of a run."""

WHERE = re.compile(r" \(exchange \d+, asked at [^)]*\)")
"""Part of an error's text that names a file of this machine."""

Record = dict[str, Any]


@dataclass(frozen=True)
class Run:
    """A run that is to be complete.

    Attributes
    ----------
    name : str
        What people read.
    flags : mapping of str to str
        All options but ``out``.
    folder : Path
        Where it lies; an earlier attempt in it is resumed.
    of : Experiment
        Whose run it is.
    point : bool
        Whether it is a point of a search, which may be refused.
    """

    name: str
    flags: Flags
    folder: Path
    of: Experiment
    point: bool = False

    @property
    def minutes(self) -> float:
        """Estimated time."""
        return self.of.minutes

    @property
    def dataset(self) -> str:
        """Its data set."""
        return self.flags["dataset"]

    @property
    def seed(self) -> int:
        """Its seed."""
        return int(self.flags["seed"])


def options_of(flags: Flags) -> dict[str, object]:
    """Return flags as options with their types, by kebab-case names.

    Raises
    ------
    click.ClickException
        If a flag is unknown or has no value of its type.
    """
    values = train.make_context("train", as_words(flags)).params
    return given({name: value for name, value in values.items() if name not in NO_OPTIONS})


def completed(run: Run, seconds: float = 0) -> Record | None:
    """Train, or go on; return the record.

    Parameters
    ----------
    run : Run
        The run.
    seconds : float, optional
        Time after which it stops to be resumed later; 0 is no limit.

    Returns
    -------
    dict or None
        See `record_of`; of a run whose numbers were not finite, and of a point whose settings are
        refused, ``failed`` says so; ``absent`` says that there is no data set. None if its time
        was over.

    Raises
    ------
    ConfigError
        If the settings of another run are refused.
    DataError
        If there is a data set, and it cannot be used.
    """
    try:
        with stopped_after(seconds):
            if not (run.folder / "result.json").is_file():
                train_in(_opened(run.folder, lambda: _config_of(run)), Watch())
            return record_of(run.folder) | _afterwards(run)
    except (Interrupted, KeyboardInterrupt):
        if not _Clock.over:
            raise
        return None
    except AbsentDataError as error:
        return {"seed": run.seed, "absent": str(error)}
    except (TrainingError, PartyError, ConfigError) as error:
        if isinstance(error, ConfigError) and not run.point:
            raise
        return {"seed": run.seed, "failed": WHERE.sub("", str(error))}


def record_of(folder: Path) -> Record:
    """Return the numbers of a complete run.

    Returns
    -------
    dict
        ``seed``, ``parties``, ``failed`` (empty), ``test_accuracy`` and ``metrics`` by party,
        ``course`` with an entry for each evaluation, bytes and exchanges of training, ``seconds``,
        and ``epsilon`` of training.
    """
    result = json.loads((folder / "result.json").read_text())
    private = result["client_privacy"]
    same = (
        "seed",
        "parties",
        "test_accuracy",
        "metrics",
        "bytes_up",
        "bytes_down",
        "exchanges",
        "seconds",
    )
    return {
        **{name: result[name] for name in same},
        "failed": "",
        "epsilon": private["epsilon_training"] if private else None,
        "course": [_point(each.as_dict()) for each in read_metrics(folder)],
    }


def _point(evaluation: Mapping[str, Any]) -> Record:
    """Return the kept part of an evaluation; shares with five digits."""
    return {
        "epoch": evaluation["epoch"],
        "step": evaluation["step"],
        "bytes": evaluation["bytes_up"] + evaluation["bytes_down"],
        "validation": _short(evaluation.get("validation_accuracy")),
        "train": _short(evaluation.get("train_accuracy")),
    }


def _short(shares: Mapping[str, float] | None) -> dict[str, float] | None:
    return {name: round(share, 5) for name, share in shares.items()} if shares else None


def _opened(folder: Path, made: Callable[[], RunConfig]) -> RunFolder:
    """Open a run that was begun, or a new one."""
    if (folder / CONFIG).is_file():
        return RunFolder.reopen(folder, {})
    folder.parent.mkdir(parents=True, exist_ok=True)
    return RunFolder(folder, made())


def _config_of(run: Run) -> RunConfig:
    return RunConfig.from_mapping(options_of(run.flags))


def _afterwards(run: Run) -> Record:
    """Return the further numbers of a complete run that its experiment wants.

    Searches have none.
    """
    of = run.of if not run.point else replace(run.of, retrained=(), noise=0, pretrained=False)
    told: Record = {"retrained": {choice: _with(run, choice) for choice in of.retrained}}
    if of.noise and (heads := heads_of(complete_run(run.folder)[0], of.noise)):
        told["heads"] = {
            each.party: {"norm": each.relative, "noised": each.accuracy}
            for each in heads.findings.parties
        }
        told["rank_correlation"] = heads.findings.correlation
    if of.pretrained:
        told["pretrained"] = _pretrained(run.folder)
    return told


def _pretrained(folder: Path) -> dict[str, float]:
    """Test each passive party's network and head, with its columns alone.

    An ``embedding-bound`` is no part of it.
    """
    found = trained(complete_run(folder)[0])
    passive = [each for each in found.holders if each.party.rank]
    return {each.name: accuracy([each.share(each.x)], found) for each in passive}


def _with(run: Run, choice: str) -> float:
    """Train a complete run again with some parties; return the accuracy."""
    name = choice.replace(":", "-")
    kept = run.folder.parent / f"{run.folder.name}-{name}" / name
    if not (kept / "result.json").is_file():
        train_in(_opened(kept, lambda: _reduced(run.folder, choice)), Watch())
    result = json.loads((kept / "result.json").read_text())
    return float(result["test_accuracy"]["active"])


def _reduced(folder: Path, choice: str) -> RunConfig:
    cfg, findings = _findings(folder)
    return plan(cfg, findings, Choice.read(choice)).cfg


@lru_cache(maxsize=1)  # all choices of a run go by the same heads
def _findings(folder: Path) -> tuple[RunConfig, Findings]:
    run = complete_run(folder)[0]
    check_heads(run.cfg, "retrained")
    return run.cfg, explain(trained(run), SIGMA)


class _Clock:
    """Whether this process's time is over."""

    over = False


@contextmanager
def stopped_after(seconds: float) -> Iterator[None]:
    """Let Ctrl-C stop the run, and send it in time."""

    def ring(number: int, frame: FrameType | None) -> None:
        _Clock.over = True
        signal.raise_signal(signal.SIGINT)

    _Clock.over = False
    stopped = signal.signal(signal.SIGINT, signal.default_int_handler)
    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        signal.signal(signal.SIGINT, stopped)
