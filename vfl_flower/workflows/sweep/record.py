"""Record of a sweep, ``sweep.json`` in its folder."""

from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from vfl_flower.common.errors import ConfigError, RunError
from vfl_flower.common.files import json_bytes, read_json, write_atomically
from vfl_flower.config.run_config import RunConfig
from vfl_flower.config.schema import Scalar
from vfl_flower.config.validation.tasks import check_tables_here
from vfl_flower.runs.run_folder import RunFolder
from vfl_flower.workflows.sweep.space import Space, read_space

RECORD = "sweep.json"
COMPLETE, REFUSED, FAILED = "complete", "refused", "failed"
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
        From 0.
    state : str
        ``complete``, ``refused``, a configuration that cannot work, or ``failed``.
    options : dict
        Values of the options that are swept over.
    validation_accuracy : float or None
        Mean over the parties, of the weights that count at the end.
    folder : str
        Run folder within the sweep's; empty if there is none.
    error : str
        Why it was refused, or failed.
    """

    number: int
    state: str
    options: dict[str, Scalar]
    validation_accuracy: float | None = None
    folder: str = ""
    error: str = ""


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
    def best(self) -> Done | None:
        """The complete trial with the highest validation accuracy, the first of equals."""
        judged = [each for each in self.done if each.validation_accuracy is not None]
        return max(judged, key=lambda each: each.validation_accuracy or 0.0, default=None)

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

    def extended(self, trials: int) -> "SweepRecord":
        """Return the record with another number of trials to come to."""
        return replace(self, trials=max(trials, len(self.done)))

    def with_done(self, done: Done) -> "SweepRecord":
        """Return the record with a further trial."""
        return replace(self, done=(*self.done, done))

    def as_dict(self) -> dict[str, Any]:
        """Return the content of ``sweep.json``."""
        return {
            "objective": "validation_accuracy",
            "trials": self.trials,
            "over": self.over,
            "options": self.options,
            "best": self.best and self.best.number,
            "done": [asdict(each) for each in self.done],
        }

    def write(self, path: Path) -> None:
        """Write it into the sweep's folder."""
        write_atomically(path / RECORD, json_bytes(self.as_dict()))


def read_record(path: Path) -> SweepRecord:
    """Read the record of a sweep.

    Raises
    ------
    RunError
        If it is missing or damaged.
    """
    content = read_json(path / RECORD, _SHAPE)
    try:
        done = tuple(Done(**each) for each in content["done"])
        return SweepRecord(content["over"], content["options"], content["trials"], done)
    except (TypeError, AttributeError, ConfigError) as error:
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
    record = SweepRecord(over, {"baselines": "off"} | options, trials)
    cfg = record.check()
    check_tables_here(cfg)
    if not cfg.validation:
        raise ConfigError("validation is 0, and a sweep chooses on validation rows; take some")
    return record
