"""Runs with all parties on this machine: new, resumed, or repeated."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from vfl_flower.common.errors import ConfigError
from vfl_flower.common.signals import stopped_by
from vfl_flower.config.run_config import RunConfig
from vfl_flower.config.transports import Runtime, chosen_transport
from vfl_flower.config.validation.tasks import check_tables_here
from vfl_flower.data.loading import Alignments
from vfl_flower.parties.active import ActiveParty
from vfl_flower.parties.passive import PassiveParty
from vfl_flower.reporting.console.lines import complain, say, voices
from vfl_flower.reporting.console.progress import watcher
from vfl_flower.reporting.console.seed_table import print_summary
from vfl_flower.reporting.console.tables import print_result
from vfl_flower.runs.party_logs import party_logs
from vfl_flower.runs.results import write_result
from vfl_flower.runs.run_folder import RunFolder
from vfl_flower.runs.seed_summary import summary_of
from vfl_flower.runs.seeds import begin_seeds, seeds_in
from vfl_flower.workflows.build_parties import build_parties
from vfl_flower.workflows.run import conduct

if TYPE_CHECKING:
    from vfl_flower.workflows.align import Aligned


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
    folder = RunFolder(_out(cfg), cfg)
    if not folder.aligns:
        raise ConfigError("alignment names one that is there; leave it empty to align anew")
    with _prepared(folder):
        rows = len(_align(folder).common.rows)
    folder.end()
    say(f"{rows} rows are common to all parties; aligned in {folder.path}")
    return {"alignment": str(folder.path), "rows": rows}


def resumed(path: Path, changes: dict[str, object], trust_code: bool = False) -> dict[str, Any]:
    """Resume a run, or one with several seeds.

    Parameters
    ----------
    path, changes, trust_code
        See `RunFolder.reopen`.
    """
    if folders := seeds_in(path, changes, trust_code):
        return _all_of(folders, path)
    return _rest_of(RunFolder.reopen(path, changes, trust_code))


def repeat(cfg: RunConfig, seeds: int) -> dict[str, Any]:
    """Run one configuration with several seeds, a folder each, and sum up.

    Raises
    ------
    ConfigError
        If they are not several.
    """
    if seeds < 2:
        raise ConfigError(f"--seeds must be at least 2, not {seeds}")
    folder = RunFolder(_out(cfg), cfg)
    with _prepared(folder) as alignments:
        _build(folder, alignments)  # whatever is wrong shows before more is written
        folder.take()
        begin_seeds(folder.path, cfg, list(range(cfg.seed, cfg.seed + seeds)))
    folder.end()
    written = seeds_in(folder.path, {}, trust_code=True)  # right here, and built above
    return _all_of(written, folder.path)


def predict(
    run: Path, out: Path, tables: str | None, rows: str | None, trust_code: bool = False
) -> dict[str, Any]:
    """Predict rows with a run's model, and report the outcome.

    Parameters
    ----------
    run, out, trust_code
        As for `predict.here.predict_rows`.
    tables : str or None
        Of new rows; see `predict.here.predict_tables`.
    rows : str or None
        Of the run's own; the test rows if neither is given.

    Raises
    ------
    ConfigError
        If both are given.
    """
    # pyarrow is slow to import
    from vfl_flower.workflows.predict_locally import predict_rows, predict_tables
    from vfl_flower.workflows.prediction import missing_of

    if tables is not None and rows is not None:
        raise ConfigError("--rows says which of the run's own rows, and --tables names new ones")
    if tables is not None:
        made = predict_tables(run, tables, out, watcher("alignment"), trust_code)
    else:
        made = predict_rows(run, rows or "test", out, trust_code)
    say(f"{made.rows:,} rows predicted, in {out}")
    if made.missing:
        say(f"{made.missing:,} rows are not at all parties, and listed in {missing_of(out)}")
    if made.epsilon is not None:
        say(f"client-level epsilon is now {made.epsilon:.4g}")
    return {"predictions": str(out), **made._asdict()}


def _out(cfg: RunConfig) -> Path:
    """Return the folder that a run is to have."""
    stamp = datetime.now().astimezone().strftime("%Y%m%d-%H%M%S")
    return Path(cfg.out or f"runs/{cfg.method}-{cfg.dataset}-{stamp}")


def _all_of(folders: list[RunFolder], out: Path) -> dict[str, Any]:
    """Finish the runs of several seeds, and sum up."""
    results = [_rest_of(folder) for folder in folders]
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
    print_result(result, folder.cfg)
    say(f"{folder.path} was complete already")
    return result


@contextmanager
def _prepared(folder: RunFolder) -> Iterator[Alignments]:
    """Align the tables of a new run.

    A run that does not begin after all leaves nothing behind.
    """
    try:
        aligns = folder.cfg.task == "train" and folder.is_to_align
        yield _align(folder).alignments if aligns else {}
    except BaseException:
        folder.give_up()
        raise


def _align(folder: RunFolder) -> "Aligned":
    """Align the parties' own tables."""
    # pyarrow is slow to import
    from vfl_flower.workflows.align import align_here

    cfg = folder.cfg
    check_tables_here(cfg)
    folder.take()
    with party_logs(folder, cfg.parties - 1), voices(cfg.parties - 1):
        return align_here(cfg, folder.path, watcher("alignment"))


def _build(folder: RunFolder, alignments: Alignments) -> tuple[ActiveParty, list[PassiveParty]]:
    check_tables_here(folder.cfg)
    return build_parties(folder.cfg, folder.path, alignments)


def simulate(folder: RunFolder) -> dict[str, Any]:
    """Train with all parties in this process, and show the result."""
    cfg = folder.cfg
    entry = chosen_transport(cfg.transport, Runtime.ONE_PROCESS)
    with _prepared(folder) as alignments:
        active, passive = _build(folder, alignments)
        title = f"{cfg.method} on {cfg.dataset}, seed {cfg.seed}"
        during = _watched(folder, active, len(passive))
        result = conduct(active, entry.load()(passive), folder, watcher(title), during)
        print_result(result, cfg)
        say(f"saved in {folder.path}")
        return result


@contextmanager
def _watched(folder: RunFolder, active: ActiveParty, others: int) -> Iterator[None]:
    """Set up party logs, console and signals for this process."""
    with _graceful(active), party_logs(folder, others), voices(others):
        yield


@contextmanager
def _graceful(active: ActiveParty) -> Iterator[None]:
    """End the run after the current step at Ctrl-C; another aborts."""

    def stop(number: int, frame: FrameType | None) -> None:
        complain("stopping", "after the step in hand; once more stops at once")
        active.request_stop()
        signal.signal(number, signal.default_int_handler)

    with stopped_by(stop):
        yield
