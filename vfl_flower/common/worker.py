"""A single worker thread for one party's jobs."""

from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any

Job = Callable[[], Any]
End = tuple[Any, BaseException | None]


class Worker:
    """Runs jobs in a thread of its own; `submit` and `result` alternate.

    An exchange of small arrays takes a fraction of a millisecond, and an executor's futures would
    be most of it.
    """

    def __init__(self) -> None:
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._done: SimpleQueue[End] = SimpleQueue()
        self._ended: End | None = None
        self._started = False

    def submit(self, job: Job) -> None:
        """Start a job."""
        if not self._started:
            Thread(target=self._work, daemon=True).start()
            self._started = True
        self._jobs.put(job)

    def wait(self, timeout: float) -> bool:
        """Wait at most `timeout` seconds; tell whether the job has ended."""
        with suppress(Empty):
            self._ended = self._ended or self._done.get(timeout=max(timeout, 0))
        return self._ended is not None

    def result(self) -> Any:  # noqa: ANN401
        """Wait for the job's value, or raise its exception."""
        value, error = self._ended or self._done.get()
        self._ended = None
        if error is not None:
            raise error
        return value

    def close(self) -> None:
        """End the thread, if there is one, once its job is done."""
        if self._started:
            self._jobs.put(None)
            self._started = False

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            try:
                self._done.put((job(), None))
            except BaseException as error:  # whoever waits must hear of it, whatever it is
                self._done.put((None, error))
            del job  # an idle thread keeps nothing alive
