"""Trials of a sweep, one after the other."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any, Literal

from vfl_flower.common.errors import (
    ConfigError,
    Interrupted,
    NetworkError,
    RunError,
    TrainingError,
    VflError,
    last_line,
)
from vfl_flower.common.files import is_of_disk, refused
from vfl_flower.common.layout import CONFIG
from vfl_flower.common.optional.extras import require
from vfl_flower.config.evaluation.metrics import METRICS
from vfl_flower.config.run_config import RunConfig
from vfl_flower.config.schema import Scalar, kebab
from vfl_flower.protocol.observer import VALIDATION
from vfl_flower.runs.run_folder import RunFolder
from vfl_flower.workflows.local.train import align_in, train_in
from vfl_flower.workflows.local.watch import Watch
from vfl_flower.workflows.sweep.record import (
    COMPLETE,
    FAILED,
    RECORD,
    REFUSED,
    Done,
    SweepRecord,
)

Direction = Literal["maximize", "minimize"]

_DRAWS = 100
"""Settings drawn for one trial, at most, until one of them is new."""
_TOLD = 3
"""Reasons in an error, at most."""
_JOURNAL, _STUDY, _ALIGNMENT = "optuna.log", "sweep", "alignment"


def sweep_in(
    path: Path,
    record: SweepRecord,
    watch: Watch,
    tell: Callable[[Done], None] = lambda done: None,
    trust_code: bool = False,
) -> SweepRecord:
    """Run all trials of a sweep that have not ended.

    Each setting is tried once: one that is drawn again is no trial, and a sweep of few settings
    ends when all are tried.
    A trial that was interrupted goes on from its last checkpoint. Each trial's sampler has a seed
    of its own, so that a resumed sweep draws as an uninterrupted one.

    Parameters
    ----------
    path : Path
        The sweep's folder; trials have their run folders in it.
    record : SweepRecord
        New, or read from the folder.
    watch : Watch
        How each run is followed.
    tell : callable
        Is given each trial that has ended.
    trust_code : bool
        Whether networks that a record names may be imported.

    Returns
    -------
    SweepRecord
        With all trials.

    Raises
    ------
    RunError
        If no trial is complete.
    Interrupted
        After Ctrl-C; the sweep can be resumed.
    """
    require("optuna", "sweep")
    record.write(path)
    record = _aligned(path, record, watch)
    study = _study(path, record.metric)
    ended = {each.number for each in record.done}
    while len(record.done) < record.trials:
        if (found := _new(study, record, ended)) is None:
            break
        number, drawn = found
        done = _tried(path, record, number, drawn, watch, trust_code)
        _close(study, done)
        record, ended = record.with_done(done), ended | {number}
        record.write(path)
        tell(done)
    if record.best is None:
        reasons = list(dict.fromkeys(each.error for each in record.done))
        raise RunError(f"no trial of {len(record.done)} is complete: {'; '.join(reasons[:_TOLD])}")
    return record


def _study(path: Path, metric: str) -> Any:  # noqa: ANN401
    """Open Optuna's journal of a sweep, for its owner alone.

    One that is damaged is written anew: all that has ended is in the sweep's record.
    """
    try:
        return _opened(path, metric)
    except (ValueError, KeyError, TypeError):
        (path / _JOURNAL).unlink()
        return _opened(path, metric)


def _opened(path: Path, metric: str) -> Any:  # noqa: ANN401
    # Optuna is slow to import
    import optuna
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    with refused(path / _JOURNAL):
        (path / _JOURNAL).touch(mode=0o600)
    storage = JournalStorage(JournalFileBackend(str(path / _JOURNAL)))
    direction: Direction = "maximize" if METRICS[kebab(metric)].higher else "minimize"
    return optuna.create_study(
        study_name=_STUDY, storage=storage, direction=direction, load_if_exists=True
    )


def _new(study: Any, record: SweepRecord, ended: set[int]) -> tuple[int, dict[str, Scalar]] | None:  # noqa: ANN401
    """Return number and options of the next trial, or None."""
    for _ in range(_DRAWS):
        grid = record.grid()
        left = [each for each in grid if record.outcome_of(each) is None]
        if grid and not left:
            return None
        if left:
            study.enqueue_trial(left[0], skip_if_exists=True)
        number, drawn = _next(study, record, ended)
        earlier = record.outcome_of(drawn)
        if earlier is None:
            return number, drawn
        _close(study, replace(earlier, number=number))
    return None


def _next(study: Any, record: SweepRecord, ended: set[int]) -> tuple[int, dict[str, Scalar]]:  # noqa: ANN401
    """Return number and options of the next trial, open or new."""
    # Optuna is slow to import
    from optuna.samplers import TPESampler
    from optuna.trial import FixedTrial, TrialState

    for each in study.get_trials(states=(TrialState.RUNNING,)):
        if each.number in ended:  # the record was written, and the process ended
            _close(study, next(done for done in record.done if done.number == each.number))
        elif set(record.spaces) <= set(each.params):
            return each.number, _drawn(record, FixedTrial(each.params))
        else:
            study.tell(each.number, state=TrialState.FAIL)  # it was still being drawn
    seed, number = int(record.options.get("seed", 0)), len(study.get_trials(deepcopy=False))
    study.sampler = TPESampler(seed=(seed * 1_000_003 + number) % 2**32)
    trial = study.ask()
    return trial.number, _drawn(record, trial)


def _drawn(record: SweepRecord, trial: Any) -> dict[str, Scalar]:  # noqa: ANN401
    """Return the options that a trial of Optuna has."""
    return {key: space.drawn(trial, key) for key, space in record.spaces.items()}


def _close(study: Any, done: Done) -> None:  # noqa: ANN401
    """Tell Optuna how a trial ended."""
    # Optuna is slow to import
    from optuna.trial import TrialState

    if done.state == COMPLETE:
        study.tell(done.number, done.score)
    else:
        state = TrialState.PRUNED if done.state == REFUSED else TrialState.FAIL
        study.tell(done.number, state=state)


def _tried(
    path: Path,
    record: SweepRecord,
    number: int,
    drawn: dict[str, Scalar],
    watch: Watch,
    trust_code: bool,
) -> Done:
    """Train one trial; whatever goes wrong with it is its outcome.

    Files that cannot be used are not, and end the sweep.
    """
    name = f"trial-{number:03}"
    try:
        cfg = record.config(drawn).unless_trusted(path / RECORD, trust_code)
        metric, score = _trained(path / name, cfg, watch, trust_code)
        return Done(number, COMPLETE, drawn, score, name, metric=metric)
    except Interrupted as stopped:
        raise stopped.of(path) from stopped
    except RunError:
        raise
    except (ConfigError, NetworkError) as error:
        return Done(number, REFUSED, drawn, error=error.in_full())
    except VflError as error:
        if is_of_disk(error):
            raise
        text = error.in_full()
    except Exception as error:  # of a user's own network, or no memory: other trials may do
        if is_of_disk(error):
            raise
        text = f"{type(error).__name__}: {last_line(error)}"
    begun = name if (path / name / CONFIG).is_file() else ""
    return Done(number, FAILED, drawn, folder=begun, error=text)


def _trained(path: Path, cfg: RunConfig, watch: Watch, trust_code: bool) -> tuple[str, float]:
    """Train a run, or its rest; return metric and validation mean."""
    if (path / CONFIG).is_file():
        folder = RunFolder.reopen(path, {}, trust_code)
    else:
        folder = RunFolder(path, cfg)
    result = folder.result() or train_in(folder, watch)
    metric: str = result["metric"]
    if not (scores := result[f"{VALIDATION}{metric}"]):
        raise TrainingError("the run was not evaluated on validation rows")
    return metric, fmean(scores.values())


_OF_TABLES = ("dataset", "tables", "id", "label", "parties", "threads")


def _aligned(path: Path, record: SweepRecord, watch: Watch) -> SweepRecord:
    """Align own tables once, for all trials."""
    options = record.options
    if options.get("dataset") != "own" or options.get("alignment"):
        return record
    cfg = RunConfig.from_mapping(
        {key: options[key] for key in _OF_TABLES if key in options} | {"task": "align"}
    )
    folder = path / _ALIGNMENT
    again = (folder / CONFIG).is_file()
    made = RunFolder.reopen(folder, {}, task="align") if again else RunFolder(folder, cfg)
    if made.is_to_align:
        align_in(made, watch)
    record = replace(record, options=options | {"alignment": str(folder.absolute())})
    record.write(path)
    return record
