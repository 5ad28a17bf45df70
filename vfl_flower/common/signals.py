"""Handling of Ctrl-C and SIGTERM.

Only a command's own process is given handlers for good; see `exit_at_signals` and
`raise_at_signals`. A handler of `stopped_by` lasts as long as its block.
"""

import atexit
import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

Handler = Callable[[int, FrameType | None], None]

NUMBERS = (signal.SIGINT, signal.SIGTERM)
PATIENCE = 3.0  # seconds to end in; a signal after that ends the process at once
AT_ONCE = "at once; a run that has begun goes on with --resume, all else with the same command"
_AGAIN = 0.02  # seconds until an exception that was lost is raised again


class Stopped(KeyboardInterrupt):
    """Ctrl-C or SIGTERM in a command's process."""


class _Process:
    """Signals that this process has taken."""

    last: int = signal.SIGINT
    raised: float | None = None


@contextmanager
def stopped_by(handler: Handler, once: bool = False) -> Iterator[None]:
    """Let a handler take Ctrl-C and SIGTERM.

    Signals reach the main thread only; in any other thread nothing changes.

    Parameters
    ----------
    handler : callable
        As for `signal.signal`.
    once : bool
        Whether a second signal goes to the handlers that were there before.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    earlier = {number: signal.getsignal(number) for number in NUMBERS}
    # a handler that is not Python's could not be set again
    ours = [number for number, before in earlier.items() if before is not None]

    def restore() -> None:
        for number in ours:
            signal.signal(number, earlier[number])

    def taken(number: int, frame: FrameType | None) -> None:
        _Process.last = number
        if once:
            restore()
        handler(number, frame)

    try:
        for number in ours:
            signal.signal(number, taken)
        yield
    finally:
        restore()


def was_raised() -> bool:
    """Tell whether a signal has raised `Stopped` in this process."""
    return _Process.raised is not None


def exit_code() -> int:
    """Return the exit code of a process that a signal ended."""
    return 128 + _Process.last


def forget_signals() -> None:
    """Forget earlier signals."""
    _Process.last, _Process.raised = signal.SIGINT, None


def exit_at_signals(code: int | None = None, text: str = "before anything was begun") -> None:
    """End this process at Ctrl-C and SIGTERM, without any clean-up.

    Parameters
    ----------
    code : int, optional
        The exit code, of work that is done; by default that of the signal, and `text` is shown.
    text : str
        What the process was at.
    """

    def end(number: int, frame: FrameType | None) -> None:
        _Process.last = number
        if code is None:
            _tell(text)
        os._exit(exit_code() if code is None else code)

    for number in NUMBERS:
        signal.signal(number, end)
    if code is not None:  # Python gives handlers up long before a process with torch has ended
        atexit.register(_ignore_signals)


def _ignore_signals() -> None:
    """Let signals change nothing any more."""
    for number in NUMBERS:
        signal.signal(number, signal.SIG_IGN)


def raise_at_signals() -> None:
    """Raise `Stopped` at Ctrl-C and SIGTERM in this process.

    Some programs send a signal twice, so another one shall not disturb the clean-up; one that
    comes `PATIENCE` seconds later ends the process.
    """
    _Process.raised = None
    shown = sys.unraisablehook

    def stop(number: int, frame: FrameType | None) -> None:
        _Process.last, now = number, time.monotonic()
        if _Process.raised is None:
            _Process.raised = now
            raise Stopped
        if now - _Process.raised > PATIENCE:
            _tell(AT_ONCE)
            os._exit(exit_code())

    def lost(found: Any) -> None:  # noqa: ANN401
        if not isinstance(found.exc_value, Stopped):
            shown(found)
            return
        _Process.raised = None
        threading.Timer(_AGAIN, os.kill, (os.getpid(), _Process.last)).start()

    sys.unraisablehook = lost  # a finalizer or a callback of a weak reference may have met it
    for number in NUMBERS:
        signal.signal(number, stop)


def _tell(text: str) -> None:
    """Write one line without waiting for any lock."""
    with contextlib.suppress(OSError):
        os.write(2, f"interrupted: {text}\n".encode())
