"""Runs with all parties on this machine: new, resumed, or repeated."""

from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from vfl_flower.common.errors import ConfigError, Interrupted
from vfl_flower.config.run_config import RunConfig
from vfl_flower.reporting.console.lines import say
from vfl_flower.reporting.console.seed_table import print_summary
from vfl_flower.reporting.console.tables import print_result
from vfl_flower.runs.results import write_result
from vfl_flower.runs.run_folder import RunFolder
from vfl_flower.runs.seed_summary import summary_of
from vfl_flower.runs.seeds import Repeated, begin_seeds, repeated
from vfl_flower.workflows.local.folds import begin_all, finish_preparing
from vfl_flower.workflows.local.train import align_in, prepared, train_in, try_to_build
from vfl_flower.workflows.local.watch import TERMINAL


def start(cfg: RunConfig) -> dict[str, Any]:
    """Run one configuration in a new folder.

    The folder is made only when all parties are built.
    """
    return simulate(RunFolder(_out(cfg), cfg))


def align(cfg: RunConfig) -> dict[str, Any]:
    """Align the parties' own tables in a new folder, for later runs.

    Returns
    -------
    dict
        Which folder it is, and how many rows are common to all parties.

    Raises
    ------
    ConfigError
        If the configuration names an alignment that is there.
    """
    folder = RunFolder.aligning(_out(cfg), cfg)
    made = align_in(folder, TERMINAL)
    say(f"{made['rows']} rows are common to all parties; aligned in {folder.path}")
    return made


def resumed(path: Path, changes: dict[str, object], trust_code: bool = False) -> dict[str, Any]:
    """Resume a run, or one with several seeds or folds.

    Parameters
    ----------
    path, changes, trust_code
        See `RunFolder.reopen`.
    """
    if again := repeated(path, changes, trust_code):
        return _all_of(again)
    return _rest_of(RunFolder.reopen(path, changes, trust_code))


def repeat(cfg: RunConfig, seeds: int) -> dict[str, Any]:
    """Run one configuration with several seeds, a folder each, and sum up."""
    folder = RunFolder(_out(cfg), cfg)
    first = partial(begin_seeds, folder.path, cfg, [*range(cfg.seed, cfg.seed + seeds)])
    with prepared(folder, TERMINAL, first) as alignments:
        # whatever is wrong shows before more is written
        try_to_build(folder.cfg, folder.path, alignments)
    folder.end()
    return _all_of(_again(folder))


def repeat_folds(cfg: RunConfig, folds: int) -> dict[str, Any]:
    """Run one configuration for each fold, a folder each, and sum up."""
    folder = RunFolder(_out(cfg), cfg)
    begin_all(folder, folds, TERMINAL)
    return _all_of(_again(folder))


def predict(
    run: Path,
    out: Path,
    tables: str | None,
    rows: str | None,
    trust_code: bool = False,
    without: str = "",
    *,
    truth: bool = False,
    keep_missing: bool = False,
    piped: bool = False,
) -> dict[str, Any]:
    """Predict rows with a run's model, and report the outcome.

    Parameters
    ----------
    run, out, trust_code, without, truth
        As for `predict_rows`.
    tables : str or None
        Of new rows; see `predict_tables`.
    rows : str or None
        Of the run's own; the test rows if neither is given.
    keep_missing : bool
        See `predict_tables`.
    piped : bool
        Whether the file goes to standard output, and none beside it stays.

    Raises
    ------
    ConfigError
        If both are given, or own rows are to be kept that none lacks.
    """
    # pyarrow is slow to import
    from vfl_flower.workflows.local.predict import predict_rows, predict_tables
    from vfl_flower.workflows.prediction import missing_of

    if tables is not None and rows is not None:
        raise ConfigError("--rows says which of the run's own rows, and --tables names new ones")
    if keep_missing and tables is None:
        raise ConfigError("--keep-missing is of new rows; name their tables, with --tables")
    if tables is not None:
        kept = {"truth": truth, "keep_missing": keep_missing}
        made = predict_tables(run, tables, out, TERMINAL, trust_code, without=without, **kept)
    else:
        made = predict_rows(run, rows or "test", out, trust_code, truth=truth, without=without)
    say(f"{made.rows:,} rows predicted" + ("" if piped else f", in {out}"))
    if made.missing:
        listed = "no file lists them" if piped else f"listed in {missing_of(out)}"
        say(f"{made.missing:,} rows are not at all parties, and {listed}")
    if made.epsilon is not None:
        say(f"epsilon of the parties' uploads is now {made.epsilon:.4g}")
    return {"predictions": str(out), **made._asdict()}


def _out(cfg: RunConfig) -> Path:
    """Return the folder that a run is to have."""
    stamp = datetime.now().astimezone().strftime("%Y%m%d-%H%M%S")
    return Path(cfg.out or f"runs/{cfg.method}-{cfg.dataset}-{stamp}")


def _again(folder: RunFolder) -> Repeated:
    """Open the runs of a folder that has just begun."""
    found = repeated(folder.path, {}, trust_code=True)  # it was said right here
    assert found is not None  # noqa: S101  their list is its first file
    return found


def _all_of(again: Repeated) -> dict[str, Any]:
    """Finish the runs of several seeds or folds, and sum up."""
    finish_preparing(again, TERMINAL)
    out = again.folder.path
    try:
        results = [_rest_of(folder) for folder in again.runs]
    except Interrupted as stopped:
        raise stopped.of(out) from stopped
    summary = summary_of(results)
    write_result(out, summary)
    print_summary(summary)
    say(f"saved in {out}")
    return summary


def _rest_of(folder: RunFolder) -> dict[str, Any]:
    """Resume one run, or show its result if it is complete."""
    result = folder.result()
    if result is None:
        return simulate(folder)
    folder.settle()
    print_result(result, folder.cfg)
    say(f"{folder.path} was complete already")
    return result


def simulate(folder: RunFolder) -> dict[str, Any]:
    """Train with all parties in this process, and show the result."""
    result = train_in(folder, TERMINAL)
    print_result(result, folder.cfg)
    say(f"saved in {folder.path}")
    return result
