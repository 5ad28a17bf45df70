"""Term of a service: one model, and predictions until it ends."""

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property, partial
from typing import Protocol as Interface

import torch

from vfl_flower.common.codec import Array
from vfl_flower.common.errors import PartyAway, TrainingError, VflError
from vfl_flower.common.text.logs import safe_log
from vfl_flower.parties.active import ActiveParty
from vfl_flower.parties.input_drift import InputDrift
from vfl_flower.privacy.secure_aggregation import agree_keys
from vfl_flower.protocol.exchange import Protocol
from vfl_flower.protocol.transport import Transport
from vfl_flower.serving.answers import Predicted, Scored
from vfl_flower.serving.catalogue import Catalogue, Status, distinct
from vfl_flower.serving.refusals import ModelError, Unavailable, logged, told
from vfl_flower.serving.requests import RequestQueue, ScoreRequest
from vfl_flower.training.evaluation import infer

log = safe_log("vfl_flower.serving")

RENEWED, LEAST = 0.8, 0.1
"""Parts of a session's life: after which it is renewed, and for which it serves in any case."""


class Watcher(Interface):
    """Is told of the batches of a service."""

    def on_batch(self, requests: int, rows: int, seconds: float) -> None:
        """Hear of a batch: requests, distinct rows, seconds."""

    def on_scores(self, made: Predicted) -> None:
        """Hear of the predictions of an exchange."""


class Term:
    """A model with its parties, while they stay in their sessions.

    Parameters
    ----------
    active : ActiveParty
        Of a prediction, with its model; not started.
    transport : Transport
        Reaches the passive parties.
    life : float
        Seconds that sessions last; they end before, between two batches.
    during : callable
        Returns a context that is entered while it runs: logs.
    """

    def __init__(
        self,
        active: ActiveParty,
        transport: Transport,
        life: float = float("inf"),
        during: Callable[[], AbstractContextManager[object]] = nullcontext,
    ) -> None:
        self.active, self.transport, self.life, self.during = active, transport, life, during
        self._taken: list[ScoreRequest] = []
        self._drift = InputDrift(active)

    @cached_property
    def catalogue(self) -> Catalogue:
        """Rows by id."""
        return Catalogue(self.active)

    @cached_property
    def model(self) -> str:
        """Number of the model; see `Party.model_digest`."""
        return self.active.model_digest()

    def run(
        self,
        queue: RequestQueue,
        tell: Callable[[str], None],
        over: Callable[[], bool],
        watcher: Watcher,
    ) -> None:
        """Answer requests until the term ends.

        Parameters
        ----------
        queue : RequestQueue
            Where they come from.
        tell : callable
            Is told why there are no predictions now, or nothing once all parties are there.
        over : callable
            Tells whether to end after the batch in hand.
        watcher : Watcher
            Is told of batches.

        Raises
        ------
        VflError
            If a party is missing, leaves, or refuses the run.
        """
        until = time.monotonic() + RENEWED * self.life
        self.active.task = partial(self._protocol, queue, tell, over, until, watcher)
        self.active.strategy.forget()
        try:
            with self.during():
                self.transport.run(self.active)
        finally:
            self._fail(Unavailable("the parties' sessions ended before an answer came; ask again"))
            self.active.close()

    def _protocol(
        self,
        queue: RequestQueue,
        tell: Callable[[str], None],
        over: Callable[[], bool],
        until: float,
        watcher: Watcher,
    ) -> Protocol:
        active, most = self.active, self.active.cfg.eval_batch_size
        yield from agree_keys(active.cfg)
        tell("")
        # sessions that took long to open answer some requests all the same, or none ever would
        until = max(until, time.monotonic() + LEAST * self.life)

        def ended() -> bool:
            return over() or active.stop or time.monotonic() > until

        while taken := queue.take(most, ended):
            self._taken = taken
            yield from self._batch(tell, watcher)
            del self.active.strategy.latencies[:]  # a service has no end

    def _batch(self, tell: Callable[[str], None], watcher: Watcher) -> Protocol:
        """Answer the requests that were taken."""
        begun = time.perf_counter()
        asked = [(each, found) for each in self._taken if (found := self._found(each)) is not None]
        rows = distinct([row for _, found in asked for row in found])
        try:
            made = yield from self._predicted(rows)
        except PartyAway as away:
            tell(told(away))  # before a caller hears of it
            self._fail(Unavailable(told(away)))
            raise
        except VflError as error:
            log.warning("%s", logged(error))
            self._fail(error)
            # parties that answered and those that did not differ in the history of their keys
            yield from agree_keys(self.active.cfg)
            return
        except Exception as error:
            tell(told(error))  # before a caller hears of it
            raise
        for request, found in asked:
            pairs = zip(request.ids, found, strict=True)
            answered = Scored(self.model, [made.answer(*pair) for pair in pairs])
            request.answers.set_result(answered)
        watcher.on_batch(len(self._taken), len(rows), time.perf_counter() - begun)
        watcher.on_scores(made)
        self._drift.note(rows)

    def _predicted(self, rows: Array) -> Protocol:
        """Predict rows, (n,), of one or several exchanges; none without rows."""
        active, outputs = self.active, torch.empty(0, self.active.data.classes)
        if len(rows):
            outputs = (yield from infer(active, rows))[0]
        if not outputs.isfinite().all():
            raise TrainingError("predictions are not finite; train anew")
        return Predicted(active.target, rows, outputs, active.cfg.score_digits)

    def _found(self, request: ScoreRequest) -> list[int | Status] | None:
        """Find a request's rows, or fail it."""
        try:
            if request.model not in ("", self.model):
                raise ModelError(f"model {self.model} predicts, and another one is asked for")
            return self.catalogue.find(request.ids)
        except VflError as error:
            request.fail(error)
            return None

    def _fail(self, error: Exception) -> None:
        """Fail the requests in hand that have no answer."""
        for request in self._taken:
            request.fail(error)
        self._taken = []
