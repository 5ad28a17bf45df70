"""One run from configuration to result, over any transport."""

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from vfl_flower.common.errors import ConfigError
from vfl_flower.parties.active import ActiveParty
from vfl_flower.protocol.observer import Observer, Observers
from vfl_flower.protocol.transport import Transport
from vfl_flower.runs.metrics_file import MetricsFile
from vfl_flower.runs.run_folder import RunFolder
from vfl_flower.runs.tensorboard_log import TensorBoard
from vfl_flower.workflows.baselines import bounds_of, wanted
from vfl_flower.workflows.result import result_of


def conduct(
    active: ActiveParty,
    transport: Transport,
    folder: RunFolder | None = None,
    observer: Observer | None = None,
    during: AbstractContextManager[object] | None = None,
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

    Returns
    -------
    dict
        What ``result.json`` holds.

    Raises
    ------
    VflError
        Whatever went wrong; checkpoints written so far stay.
    """
    watching = [observer or Observer()]
    if active.cfg.tensorboard and not folder:
        raise ConfigError("tensorboard is on, but the run has no folder to write to; set out")
    if active.budget and not folder:
        raise ConfigError(
            "passive parties are to noise and count what they send, and the run has no folder to "
            "count in; set out"
        )
    try:
        if folder:
            watching.append(MetricsFile(folder))
            if active.cfg.tensorboard:
                watching.append(TensorBoard(folder.path))
            active.resume_from = folder.last_checkpoint()
            active.begun = not folder.fresh
            if active.begun:
                folder.begin()  # a new one begins once all parties are there
                active.patience = active.cfg.return_timeout  # some may still be in its last sitting
        active.observer = Observers(*watching)
        with during or nullcontext():
            facts = _carried_out(active, transport)
        result = result_of(active, transport.name) | {"carriage": facts}
        if wanted(active.cfg):
            active.observer.on_bounds()
            result["bounds"] = bounds_of(active)
        if folder:
            folder.write_result(result)
    finally:
        if folder:
            folder.end()
    return result


def _carried_out(active: ActiveParty, transport: Transport) -> dict[str, Any]:
    """Run the protocol; whatever happens, the observers and the active party hear of its end."""
    try:
        return transport.run(active)
    finally:
        active.observer.on_end()
        active.close()
