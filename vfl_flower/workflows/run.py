"""One run from configuration to result, over any transport."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from typing import Any

from vfl_flower.common.errors import ConfigError, RunError
from vfl_flower.common.files import write_atomically
from vfl_flower.common.layout import PROFILE
from vfl_flower.common.names import load_object, party_name
from vfl_flower.common.text.logs import safe_log
from vfl_flower.config.catalog import TRACKERS
from vfl_flower.config.run_config import RunConfig
from vfl_flower.config.validation.membership import check_left_in_training
from vfl_flower.parties.active import ActiveParty
from vfl_flower.protocol.exchange import Protocol
from vfl_flower.protocol.observer import Observer, Observers
from vfl_flower.protocol.profiling import Profile
from vfl_flower.protocol.transport import Transport
from vfl_flower.runs.callback import Callback, CallbackObserver
from vfl_flower.runs.metrics_file import MetricsFile
from vfl_flower.runs.run_folder import RunFolder
from vfl_flower.workflows.baselines import baselines_of, wanted
from vfl_flower.workflows.result import result_of

log = safe_log("vfl_flower.runs")


def conduct(
    active: ActiveParty,
    transport: Transport,
    folder: RunFolder | None = None,
    observer: Observer | None = None,
    during: AbstractContextManager[object] | None = None,
    callbacks: Sequence[Callback] = (),
) -> dict[str, Any]:
    """Train, evaluate and write the result.

    Parameters
    ----------
    active : ActiveParty
        Built, not yet started.
    transport : Transport
        Reaches the passive parties.
    folder : RunFolder, optional
        Where checkpoints, metrics, weights and the result go. If it holds a checkpoint, the run
        goes on from there.
    observer : Observer, optional
        Is told of everything.
    during : context manager, optional
        Is entered while the protocol runs: signal handlers and logs.
    callbacks : sequence of Callback
        The user's own.

    Returns
    -------
    dict
        What ``result.json`` holds.

    Raises
    ------
    VflError
        Whatever went wrong; checkpoints written so far stay.
    """
    _check(active, folder)
    try:
        if folder:
            _prepare(active, folder)
        profile = Profile()
        if active.cfg.profile:
            active.profile = profile.lane(party_name(0))
        followers = _followers(active.cfg, folder, callbacks)
        active.observer = Observers(observer or Observer(), *followers)
        with during or nullcontext():
            facts = _run_protocol(active, transport)
        result = result_of(active, transport.name) | {"connections": facts}
        if active.cfg.profile:
            result["profile"] = profile.summary()
        if wanted(active.cfg):
            active.observer.on_baselines()
            result["baselines"] = baselines_of(active)
        if folder:
            folder.cfg = replace(folder.cfg, without=active.cfg.without)
            folder.write_result(result)
            _write_trace(active, folder, profile)
        active.observer.on_close(result)
    except BaseException:
        active.observer.on_close(None)
        raise
    finally:
        if folder:
            folder.end()
    return result


def _write_trace(active: ActiveParty, folder: RunFolder, profile: Profile) -> None:
    """Write the profile, if one was taken, after the result."""
    if not active.cfg.profile:
        return
    try:
        write_atomically(folder.path / PROFILE, profile.as_trace())
    except RunError as error:
        log.warning("%s; the result is whole", error)


def _check(active: ActiveParty, folder: RunFolder | None) -> None:
    """Refuse to train masked without all, or with nowhere to write."""
    check_left_in_training(active.cfg)
    if folder:
        return
    if active.cfg.joins and active.cfg.label_noise:
        raise ConfigError("noised labels of the model need a folder to be kept in; set out")
    writing = [*active.cfg.trackers, *["profile"] * active.cfg.profile]
    if writing:
        raise ConfigError(
            f"{' and '.join(writing)} is on, but the run has no folder to write to; set out"
        )
    if active.budget:
        raise ConfigError(
            "passive parties are to noise and count what they send, and the run has no folder to "
            "count in; set out"
        )


def _prepare(active: ActiveParty, folder: RunFolder) -> None:
    """Resume from the folder's checkpoint, or begin a new folder.

    A new folder begins once all parties are there.
    """
    active.resume_from = folder.last_checkpoint()
    active.begun = folder.begun
    active.task = partial(_begun, active, folder, active.task)
    if active.begun:
        folder.begin()
        active.patience = active.cfg.return_timeout  # some may still be in its last attempt


def _begun(active: ActiveParty, folder: RunFolder, task: Callable[[], Protocol]) -> Protocol:
    """Begin the run's folder, and run the protocol.

    Labels are noised before: once the training has begun, they may never be noised again.
    """
    folder.take()
    active.training_labels.keep(active.folder, begun=active.begun)
    folder.begin()
    yield from task()


def _followers(
    cfg: RunConfig, folder: RunFolder | None, callbacks: Sequence[Callback]
) -> Iterator[Observer]:
    """Yield the observers of the run's folder, of trackers and of callbacks."""
    if folder:
        yield MetricsFile(folder.path)
    trackers = [load_object(TRACKERS[name].build)() for name in cfg.trackers]
    for each in (*trackers, *callbacks):
        yield CallbackObserver(each, cfg, folder.path if folder else None)


def _run_protocol(active: ActiveParty, transport: Transport) -> dict[str, Any]:
    """Run the protocol, and end observers and threads afterwards."""
    try:
        return transport.run(active)
    finally:
        active.observer.on_end()
        active.close()
