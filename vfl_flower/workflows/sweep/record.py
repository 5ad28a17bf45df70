"""Record of a sweep, ``sweep.json`` in its folder."""

import re
from dataclasses import asdict, dataclass, field, replace
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

from vfl_flower.common.checksums.records import read_checked, write_checked
from vfl_flower.common.errors import ConfigError, RunError
from vfl_flower.config.evaluation.metrics import AUTO, METRICS, key_of, loss_of_score
from vfl_flower.config.run_config import RunConfig, present_keys
from vfl_flower.config.schema import Scalar
from vfl_flower.config.validation.tasks import check_tables_here
from vfl_flower.protocol.observer import VALIDATION
from vfl_flower.runs.run_folder import RunFolder
from vfl_flower.workflows.sweep.space import Space, present_spaces, read_space

RECORD = "sweep.json"
COMPLETE, REFUSED, FAILED = "complete", "refused", "failed"
_ROWS = ("dataset", "fold", "metric", "seed", "split", "test-share", "train-rows", "validation")
"""Options that say which rows are validation rows, and what is measured on them."""
_FOLDER = re.compile(r"(trial-\d{3,})?")
_SHAPE = {
    "objective": str,
    "trials": int,
    "over": dict,
    "options": dict,
    "best": object,
    "done": [dict],
}


@dataclass(frozen=True)
class Done:
    """One trial that has ended.

    Attributes
    ----------
    number : int
        From 0; a setting that is drawn again takes a number, and is no trial.
    state : str
        ``complete``, ``refused``, a configuration that cannot work, or ``failed``.
    options : dict
        Values of the options that are swept over.
    score : float or None
        Of the metric that decides on validation rows, a mean over the parties, of the weights that
        count at the end.
    folder : str
        Run folder within the sweep's; empty if there is none.
    error : str
        Why it was refused, or failed.
    metric : str
        Name of that metric in results.
    """

    number: int
    state: str
    options: dict[str, Scalar]
    score: float | None = None
    folder: str = ""
    error: str = ""
    metric: str = "accuracy"

    def __post_init__(self) -> None:
        if not _FOLDER.fullmatch(self.folder):
            raise ConfigError(f"{self.folder!r} is no folder of a trial")
        if self.metric not in map(key_of, METRICS):
            raise ConfigError(f"{self.metric!r} is no metric")

    def as_dict(self, metric: str) -> dict[str, Any]:
        """Return it as JSON values, the score under its metric."""
        named = {f"{VALIDATION}{metric}" if k == "score" else k: v for k, v in asdict(self).items()}
        del named["metric"]
        return named

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "Done":
        """Return the trial that `as_dict` has written."""
        (key,) = (key for key in values if key.startswith(VALIDATION))
        rest = {name: each for name, each in values.items() if name != key}
        return cls(**rest, score=values[key], metric=key.removeprefix(VALIDATION))


@dataclass(frozen=True)
class SweepRecord:
    """Search space and trials of a sweep.

    Attributes
    ----------
    over : dict of str to str
        Search space of each option, as it is written.
    options : dict
        The other options of all runs, by kebab-case names.
    trials : int
        How many trials there are to be.
    done : tuple of Done
        Those that have ended.
    """

    over: dict[str, str]
    options: dict[str, Any]
    trials: int
    done: tuple[Done, ...] = ()
    spaces: dict[str, Space] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.trials < 1:
            raise ConfigError(f"trials must be at least 1, not {self.trials}")
        if twice := sorted(set(self.over) & set(self.options)):
            raise ConfigError(f"{', '.join(twice)} is both set and swept over; leave one out")
        spaces = {key: read_space(key, text) for key, text in self.over.items()}
        object.__setattr__(self, "spaces", spaces)

    @property
    def metric(self) -> str:
        """Name of the deciding metric; of auto, known after a trial."""
        asked = str(self.options.get("metric", AUTO))
        known = [each.metric for each in self.done if each.score is not None]
        return key_of(asked) if asked != AUTO else (known or ["accuracy"])[0]

    @property
    def best(self) -> Done | None:
        """The complete trial with the best score, the first of equals."""
        judged = {each.number: each.score for each in self.done if each.score is not None}
        if not judged:
            return None
        number = min(judged, key=lambda each: loss_of_score(self.metric, judged[each], 0.0))
        return next(each for each in self.done if each.number == number)

    def config(self, drawn: dict[str, Scalar]) -> RunConfig:
        """Return the configuration of a trial.

        Raises
        ------
        ConfigError
            If it cannot work.
        """
        return RunConfig.from_mapping(self.options | drawn)

    def check(self) -> RunConfig:
        """Return a possible trial's configuration; refuse options that leave none.

        Raises
        ------
        ConfigError
            If they are refused without the swept ones, and with each one's first value too.
        """
        try:
            return self.config({})
        except ConfigError:
            return self.config({key: space.first() for key, space in self.spaces.items()})

    def grid(self) -> list[dict[str, Scalar]]:
        """Return all settings, if they are listed and no more than trials."""
        listed = [space.all() for space in self.spaces.values()]
        if prod(map(len, listed)) > self.trials:
            return []
        return [dict(zip(self.spaces, values, strict=True)) for values in product(*listed)]

    def outcome_of(self, drawn: dict[str, Scalar]) -> Done | None:
        """Return the trial with the same options, if there was one."""
        return next((each for each in self.done if each.options == drawn), None)

    def extended(self, trials: int) -> "SweepRecord":
        """Return the record with another number of trials to come to.

        Raises
        ------
        ConfigError
            If there are more already.
        """
        extended = replace(self, trials=trials)
        if trials < len(self.done):
            raise ConfigError(f"trials is {trials}, and {len(self.done)} have ended; set more")
        return extended

    def with_done(self, done: Done) -> "SweepRecord":
        """Return the record with a further trial."""
        return replace(self, done=(*self.done, done))

    def as_dict(self) -> dict[str, Any]:
        """Return the content of ``sweep.json``."""
        return {
            "objective": f"{VALIDATION}{self.metric}",
            "trials": self.trials,
            "over": self.over,
            "options": self.options,
            "best": self.best and self.best.number,
            "done": [each.as_dict(self.metric) for each in self.done],
        }

    def write(self, path: Path) -> None:
        """Write it into the sweep's folder."""
        write_checked(path / RECORD, self.as_dict())


def read_record(path: Path) -> SweepRecord:
    """Read the record of a sweep.

    Raises
    ------
    RunError
        If it is missing or damaged.
    """
    content = read_checked(path / RECORD, _SHAPE)
    try:
        done = tuple(map(Done.from_dict, content["done"]))
        return SweepRecord(content["over"], content["options"], content["trials"], done)
    except (TypeError, ValueError, AttributeError, ConfigError) as error:
        raise RunError(f"{path / RECORD} is damaged: {error}") from error


def new_sweep(
    path: Path, over: dict[str, str], options: dict[str, Any], trials: int
) -> SweepRecord:
    """Return the record of a sweep that can begin; nothing is written.

    Raises
    ------
    ConfigError
        If an option or a search space cannot work.
    RunError
        If its folder is not free.
    """
    RunFolder.check_free(path)
    over = present_spaces(over)
    if judged := sorted(set(over) & {*_ROWS}):
        raise ConfigError(
            f"over: {', '.join(judged)} changes the validation rows, or the metric, so that trials "
            "would not be judged alike; set it for the whole sweep"
        )
    record = SweepRecord(over, {"baselines": "off"} | present_keys(options), trials)
    cfg = record.check()
    check_tables_here(cfg)
    if not cfg.validation:
        raise ConfigError("validation is 0, and a sweep chooses on validation rows; take some")
    return record
