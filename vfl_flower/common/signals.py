"""Handling of Ctrl-C and SIGTERM."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

Handler = Callable[[int, FrameType | None], None]


@contextmanager
def stopped_by(handler: Handler) -> Iterator[None]:
    """Let a handler take Ctrl-C and SIGTERM, from the main thread only."""
    earlier = {number: signal.signal(number, handler) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, before in earlier.items():
            signal.signal(number, before)
