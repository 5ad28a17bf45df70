"""Flower ServerApp: the active party of a run."""

import logging
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from flwr.app import Context
from flwr.server import Grid
from flwr.serverapp import ServerApp
from flwr.superlink.grid import InMemoryGrid

from vfl_flower.common.errors import ConfigError, Interrupted, PartyAway, VflError
from vfl_flower.common.layout import BEGUN
from vfl_flower.common.names import party_name
from vfl_flower.common.optional.extras import require
from vfl_flower.common.signals import stopped_by
from vfl_flower.common.text.logs import safe_log
from vfl_flower.config.node_config import at_home, home, run_config, told_of
from vfl_flower.config.transports import Runtime, chosen_transport
from vfl_flower.data.loading import Alignments, run_data
from vfl_flower.parties.active import ActiveParty
from vfl_flower.protocol.roster import check_simulated
from vfl_flower.protocol.transport import Transport
from vfl_flower.reporting.console.progress import LineLog
from vfl_flower.reporting.console.tables import print_result
from vfl_flower.runs.config_file import ALIGNING, state_in, task_in
from vfl_flower.runs.run_folder import RunFolder
from vfl_flower.workflows.build_parties import build_active
from vfl_flower.workflows.frozen_parties import freeze
from vfl_flower.workflows.held_out.agreement import agreed_split
from vfl_flower.workflows.run import conduct
from vfl_flower.workflows.trained_parties import predicting_active, prediction_of

if TYPE_CHECKING:
    from vfl_flower.workflows.align import Aligned

log = safe_log("vfl_flower.run")


_PREDICTIONS = "predictions.csv"
"""File in the run folder of a prediction."""

server = ServerApp()


@server.main()
def main(grid: Grid, context: Context) -> None:
    """Run the active party."""
    shown = logging.getLogger("flwr")  # by Flower, to whoever started the run
    logging.getLogger("vfl_flower").parent = shown
    try:
        with _ended_at_once():
            _run(grid, context)
    except VflError as error:
        log.error("%s: %s", type(error).__name__, error.in_full())
        raise error.with_traceback(None) from None  # Flower marks the run as failed


@contextmanager
def _ended_at_once() -> Iterator[None]:
    """End a run at its stop, outside training.

    ``flwr stop`` reaches a ServerApp as SIGINT, within seconds: Flower sends it when the SuperLink
    turns a request away. In a simulation the ServerApp is a thread, whose process Flower ends.
    """
    try:
        with stopped_by(signal.default_int_handler):
            yield
    except KeyboardInterrupt:  # no Exception, which whoever waits for a party would take for its
        raise Interrupted("stopped; checkpoints, if any, stay") from None


def _run(grid: Grid, context: Context) -> None:
    """Run the active party over the transport that the configuration names."""
    simulated = isinstance(grid, InMemoryGrid)
    folder = _folder(grid, context, simulated)
    cfg = folder.cfg if folder else run_config(context.run_config, simulated)
    told = told_of(cfg, simulated, folder.path if folder else None)
    entry = chosen_transport(cfg.transport, Runtime.FLOWER)
    transport: Transport = entry.load()(grid, cfg, told, simulated)
    with _given_up(folder):
        if simulated:
            check_simulated(lambda: len([*grid.get_node_ids()]), cfg.parties - 1, cfg.party_timeout)
        if folder and cfg.task == "predict":
            _predict(folder, transport, simulated)
            return
        if folder and cfg.task == "serve":
            _serve(folder, partial(entry.load(), grid, simulated=False), simulated)
            return
        alignments: Alignments = {}
        if folder and folder.is_to_align:
            alignments = _align(folder, transport).alignments
            if cfg.task == "align":
                folder.complete()
                return
        split = agreed_split(folder, alignments, lambda source: transport) if folder else None
        source = run_data(cfg, alignments, split)
        active = freeze(build_active(cfg, folder.path if folder else None, source=source))
        result = conduct(active, transport, folder, LineLog(), during=_stoppable(active))
    print_result(result, cfg)
    if folder:
        log.info("saved in %s", folder.path)


@contextmanager
def _given_up(folder: RunFolder | None) -> Iterator[None]:
    """Remove the folder of a run that does not begin; release it.

    One whose alignment was interrupted stays: the parties remember its question, and a resumed run
    asks the same.
    """
    try:
        yield
    except BaseException as error:
        interrupted = isinstance(error, Interrupted | PartyAway) or not isinstance(error, Exception)
        if folder and not (interrupted and (folder.path / party_name(0) / BEGUN).exists()):
            folder.give_up()
        raise
    finally:
        if folder:
            folder.end()


def _align(folder: RunFolder, transport: Transport) -> "Aligned":
    """Align the parties' own tables, or the new ones of a prediction."""
    # pyarrow is slow to import
    from vfl_flower.alignment.build import build_alignment_active
    from vfl_flower.workflows.align import carried_out, check_enough

    cfg = folder.cfg
    active = build_alignment_active(cfg, folder.path, partial(check_enough, cfg))
    folder.take()
    aligned, name = carried_out(active, transport, LineLog()), folder.path.name
    log.info("%d rows are common to all parties; aligned as %s", len(aligned.common.rows), name)
    return aligned


def _predict(folder: RunFolder, transport: Transport, simulated: bool) -> None:
    """Predict the new rows that all parties have, and list the others."""
    # pyarrow is slow to import
    from vfl_flower.data.truth import truth_of
    from vfl_flower.workflows.prediction import asked, missing_of, write, write_missing

    own = not simulated  # the model lies in this party's own state folder
    folder.cfg = prediction_of(folder.cfg, 0, Path(folder.cfg.model), trust_code=own)
    truth = truth_of(folder.cfg) if folder.cfg.truth else None
    (common, alignments), path = _align(folder, transport), folder.path / _PREDICTIONS
    active = predicting_active(folder.cfg, run_data(folder.cfg, alignments))
    rows = active.rows["test"]
    missing = common.missing if folder.cfg.keep_missing else None
    write(path, active, rows, asked(active, rows, transport), truth, missing)
    write_missing(path, active.data.ids, common)
    folder.complete()
    log.info("%d rows predicted, in %s", len(common.rows), path)
    log.info("%d rows are not at all parties, listed in %s", len(common.missing), missing_of(path))


def _serve(folder: RunFolder, transport: Callable[..., Transport], simulated: bool) -> None:
    """Serve predictions of the new rows until the run is stopped."""
    if simulated:
        raise ConfigError("task is serve, which a simulation cannot; use vfl-flower serve RUN")
    require("prometheus_client", "task = serve")
    # pyarrow and FastAPI are slow to import
    from vfl_flower.serving.deployed import DeployedRun
    from vfl_flower.serving.options import DeployedOptions
    from vfl_flower.serving.service import Service

    options = DeployedOptions.load(Path(folder.cfg.service))
    run = DeployedRun(folder, transport, partial(_align, folder))
    service = Service(run, options)
    folder.complete()
    service.run()


@contextmanager
def _stoppable(active: ActiveParty) -> Iterator[None]:
    """Stop a run after the step in hand, with a checkpoint."""

    def stop(number: int, frame: FrameType | None) -> None:
        active.request_stop()

    with stopped_by(stop):
        yield


def _folder(grid: Grid, context: Context, simulated: bool) -> RunFolder | None:
    """Return the active party's run folder, new or resumed."""
    if resume := str(context.run_config.get("resume", "")):
        path = Path(str(context.run_config["out"]) or home() / resume)
        given: dict[str, object] = {}
        given |= {k: v for k, v in grid.run.override_config.items() if k not in ("resume", "out")}
        own = not simulated and not context.run_config["out"]  # its own state folder
        task = task_in(path) if state_in(path) == ALIGNING else "train"
        folder = RunFolder.reopen(path, given, trust_code=own, task=task)
        cfg = at_home(folder.cfg, home(), path)
        folder.cfg = replace(cfg, run_name=resume, out=str(path))
        return folder
    cfg = run_config(context.run_config, simulated)
    if simulated or cfg.out:
        path = Path(cfg.out).absolute()
        return RunFolder(path, at_home(cfg, home(), path)) if cfg.out else None
    name = cfg.run_name or f"run-{context.run_id}"
    cfg = at_home(cfg, home(), home() / name)
    return RunFolder(home() / name, replace(cfg, run_name=name))
