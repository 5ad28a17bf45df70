"""How the caller of a run in this process follows it."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from types import FrameType

from vfl_flower.common.signals import stopped_by
from vfl_flower.parties.active import ActiveParty
from vfl_flower.protocol.observer import Observer
from vfl_flower.reporting.console.lines import complain, voices
from vfl_flower.reporting.console.progress import watcher
from vfl_flower.runs.callback import Callback
from vfl_flower.runs.party_logs import party_logs
from vfl_flower.runs.run_folder import RunFolder


def _unwatched(title: str) -> Observer:
    """Return an observer that shows nothing."""
    return Observer()


def _unheard(parties: int) -> AbstractContextManager[None]:
    """Leave the messages of all parties to their logs."""
    return nullcontext()


@dataclass(frozen=True)
class Watch:
    """Progress and messages of runs; silent by default.

    Attributes
    ----------
    observer : callable
        From a title to an observer of one run, or of one alignment.
    messages : callable
        From the number of passive parties to a context in which their messages are shown.
    callbacks : tuple of Callback
        The caller's own, of training.
    """

    observer: Callable[[str], Observer] = _unwatched
    messages: Callable[[int], AbstractContextManager[None]] = _unheard
    callbacks: tuple[Callback, ...] = ()


TERMINAL = Watch(watcher, voices)
"""Progress and messages on the console, as commands show them."""


@contextmanager
def watched(folder: RunFolder, active: ActiveParty, others: int, watch: Watch) -> Iterator[None]:
    """Set up party logs, messages and signals for this process."""
    with graceful(active), party_logs(folder, others), watch.messages(others):
        yield


@contextmanager
def graceful(active: ActiveParty) -> Iterator[None]:
    """End the run after the current step at Ctrl-C; another aborts."""

    def stop(number: int, frame: FrameType | None) -> None:
        active.request_stop()
        with suppress(OSError, RuntimeError):  # one that is full, or being written
            complain("stopping", "after the step in hand; once more stops at once")

    with stopped_by(stop, once=True):
        yield
