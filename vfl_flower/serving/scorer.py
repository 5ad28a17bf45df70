"""Scorer: answers ids with one model at a time."""

from collections.abc import Sequence
from concurrent.futures import Future
from threading import Event, Lock, Thread

from vfl_flower.common.errors import Interrupted, PartyAway
from vfl_flower.common.text.logs import safe_log
from vfl_flower.serving.answers import Scored
from vfl_flower.serving.catalogue import Id
from vfl_flower.serving.refusals import Unavailable, logged, told
from vfl_flower.serving.requests import RequestQueue
from vfl_flower.serving.term import Term, Watcher

log = safe_log("vfl_flower.serving")

AGAIN = 1.0
"""Seconds after a term that failed until the next one begins."""


class Scorer:
    """Answers ids, in a thread of its own, until it is closed.

    A term ends when a party leaves, when its sessions are old, or for another model. The next one
    begins at once, and requests wait for it; only while a party is away are they refused.

    Parameters
    ----------
    term : Term
        The first.
    window : float
        Seconds for which a request waits for others that share its exchange.
    watcher : Watcher
        Is told of batches.
    """

    def __init__(self, term: Term, window: float, watcher: Watcher) -> None:
        self._term, self._watcher = term, watcher
        self._kept, self._next = term, list[Term]()  # the latest that had all its parties
        self._queue = RequestQueue(window)
        self._lock, self._closed = Lock(), Event()
        self._trouble = "the parties are not all there yet"
        self._thread = Thread(target=self._work, name="scorer", daemon=True)

    def start(self) -> None:
        """Begin the first term."""
        self._thread.start()

    @property
    def trouble(self) -> str:
        """One line that says why there are no predictions now, or nothing."""
        return self._trouble

    @property
    def model(self) -> str:
        """Number of the model that predicts; see `Party.model_digest`."""
        return self._kept.model

    def score(self, ids: Sequence[Id], model: str = "") -> "Future[Scored]":
        """Ask for the predictions of some rows.

        Parameters
        ----------
        ids : sequence of int, str or tuple
            Ids of the active party's table.
        model : str
            Number of the model that is to predict; empty: any.

        Returns
        -------
        Future of Scored
            Or a `VflError`, whose kinds are in `refusals`.

        Raises
        ------
        Unavailable
            If a party is away, or too many requests wait.
        """
        if self._trouble:
            raise Unavailable(self._trouble)
        return self._queue.put(ids, model)

    def switch(self, term: Term) -> None:
        """Predict with another model from the next batch on.

        If a party lacks it, the earlier model goes on; if one is away, both would wait for it.
        """
        with self._lock:
            self._next = [term]
        self._queue.wake()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for the end of the service; tell whether it has ended."""
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def close(self) -> None:
        """End the service after the batch in hand.

        Nobody waits longer for parties: neither for those that are not there yet, nor for answers
        beyond the stream's grace time.
        """
        with self._lock:
            self._closed.set()
            self._term.active.request_stop()
        self._queue.wake()
        self._thread.join()

    def _work(self) -> None:
        while self._begin():
            try:
                self._term.run(self._queue, self._told, self._over, self._watcher)
            except Interrupted:
                break
            except Exception as error:
                self._failed(error)
            if self._term.active.stop:
                break
        self._trouble = "the service has ended"
        self._queue.fail(Unavailable(self._trouble))

    def _begin(self) -> bool:
        """Take the next term, if any; tell whether one is to run."""
        with self._lock:
            if self._next:
                self._term = self._next.pop()
            return not self._closed.is_set()

    def _over(self) -> bool:
        """Tell whether the term in hand is to end."""
        return self._closed.is_set() or bool(self._next)

    def _told(self, trouble: str) -> None:
        self._trouble = trouble
        if not trouble:
            self._kept = self._term

    def _failed(self, error: Exception) -> None:
        """Refuse requests until the next term, or restore the earlier model."""
        log.warning("%s", logged(error))
        if self._term is not self._kept and not isinstance(error, PartyAway):
            log.warning("the earlier model goes on")
            self._term = self._kept
            return
        self._trouble = f"no predictions now: {told(error)}"
        self._queue.fail(Unavailable(self._trouble))
        self._closed.wait(AGAIN)
