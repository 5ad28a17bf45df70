"""What is done when somebody asks this process to stop."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

Handler = Callable[[int, FrameType | None], None]


@contextmanager
def stopped_by(handler: Handler) -> Iterator[None]:
    """Let a handler take Ctrl-C and SIGTERM for a while; only the main thread may say so."""
    earlier = {number: signal.signal(number, handler) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, before in earlier.items():
            signal.signal(number, before)
