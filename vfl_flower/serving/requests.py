"""Queue of requests for predictions, taken in batches."""

import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from threading import Condition

from vfl_flower.serving.answers import Scored
from vfl_flower.serving.catalogue import Id
from vfl_flower.serving.refusals import Unavailable

MOST_WAITING = 1 << 17
"""Ids that wait at most, over all requests."""

LOOK = 0.2
"""Seconds between looks at whether a queue's reader is to end."""


@dataclass(frozen=True, eq=False)
class ScoreRequest:
    """One request that waits for its answers.

    Attributes
    ----------
    ids : sequence of int, str or tuple
        Rows to predict.
    model : str
        Number of the model that is to predict; empty: any.
    answers : Future of Scored
        Or the error of all.
    since : float
        `time.monotonic` when it came.
    """

    ids: Sequence[Id]
    model: str = ""
    answers: "Future[Scored]" = field(default_factory=Future)
    since: float = field(default_factory=time.monotonic)

    def fail(self, error: Exception) -> None:
        """Answer with an error, unless it is answered."""
        if not self.answers.done():
            self.answers.set_exception(error)


class RequestQueue:
    """Requests in the order in which they came.

    Parameters
    ----------
    window : float
        Seconds for which the first of a batch waits for others.
    """

    def __init__(self, window: float) -> None:
        self.window = window
        self._waiting: deque[ScoreRequest] = deque()
        self._ids = 0
        self._changed = Condition()

    def put(self, ids: Sequence[Id], model: str = "") -> "Future[Scored]":
        """Append a request.

        Raises
        ------
        Unavailable
            If too many wait already.
        """
        request = ScoreRequest(ids, model)
        with self._changed:
            if self._waiting and self._ids + len(ids) > MOST_WAITING:
                raise Unavailable("too many requests wait for a prediction; ask again later")
            self._waiting.append(request)
            self._ids += len(ids)
            self._changed.notify_all()
        return request.answers

    def take(self, most: int, ended: Callable[[], bool]) -> list[ScoreRequest]:
        """Wait for requests, and take those that share an exchange.

        Parameters
        ----------
        most : int
            Ids of several requests together; one alone may have more.
        ended : callable
            Tells whether to wait no longer.

        Returns
        -------
        list of ScoreRequest
            At least one that nobody has given up, or none if `ended`.
        """
        with self._changed:
            while not ended():
                if not self._waiting:
                    self._changed.wait(LOOK)
                    continue
                self._gather(most, ended)
                if taken := self._first(most):
                    return taken
            return []

    def _gather(self, most: int, ended: Callable[[], bool]) -> None:
        """Wait for the end of the first request's window."""
        until = self._waiting[0].since + self.window
        while self._ids < most and not ended() and (left := until - time.monotonic()) > 0:
            self._changed.wait(min(left, LOOK))

    def _first(self, most: int) -> list[ScoreRequest]:
        taken: list[ScoreRequest] = []
        count = 0
        while self._waiting and (not taken or count + len(self._waiting[0].ids) <= most):
            request = self._waiting.popleft()
            self._ids -= len(request.ids)
            if request.answers.set_running_or_notify_cancel():  # or its caller has gone
                taken.append(request)
                count += len(request.ids)
        return taken

    def fail(self, error: Exception) -> None:
        """Answer all that wait with an error."""
        with self._changed:
            waiting, self._waiting, self._ids = list(self._waiting), deque(), 0
        for request in waiting:
            if request.answers.set_running_or_notify_cancel():
                request.fail(error)

    def wake(self) -> None:
        """Let the reader look whether it is to end."""
        with self._changed:
            self._changed.notify_all()
