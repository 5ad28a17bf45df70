"""The active party: runs a `Protocol` generator as a Flower `Strategy`."""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from functools import partial
from types import FrameType, GeneratorType
from typing import Any, ClassVar

import torch
from flwr.common import EvaluateIns, EvaluateRes, FitIns, FitRes, Parameters, Scalar
from flwr.server.client_manager import ClientManager
from flwr.server.client_proxy import ClientProxy
from flwr.server.strategy import Strategy
from torch import Tensor

from vfl_flower.codec import Array, from_parameters
from vfl_flower.errors import PartyError, ProtocolError, last_line
from vfl_flower.exchange import Ask, Protocol, Replies, Request, ask
from vfl_flower.ledger import Ledger
from vfl_flower.losses import LOSSES
from vfl_flower.member import Member
from vfl_flower.observer import Observer
from vfl_flower.roster import Roster, roll_call
from vfl_flower.training import Progress
from vfl_flower.worker import Worker

NO_PARAMETERS = Parameters(tensors=[], tensor_type="numpy.ndarray")


class ActiveParty(Member, Strategy):
    """Turns each exchange of `protocol` into one `configure_fit` / `aggregate_fit` pair.

    A method overrides `protocol`, and `step` and `infer` where it trains by mini-batches. A stock
    `flwr.server.Server` can drive it: rounds after the protocol's end send nothing.

    Attributes
    ----------
    x : Tensor
        The active party's own columns, (N, ...), float32.
    y : Tensor
        Labels, (N,), int64.
    net, descent, randomness
        Its network, optimiser and generator; see `Member`.
    roster : Roster
        The passive parties, once the roll call is done.
    ledger : Ledger
        What travelled.
    observer : Observer
        Is told of steps and evaluations.
    progress : Progress
        Where training is.
    resume_from : int or None
        The step whose checkpoint to continue from.
    stop : bool
        Set it, from a signal handler, say, to end after the step in hand with a checkpoint.
    """

    default_loss: ClassVar[str] = "cross-entropy"

    def __init__(self, member: Member, y: Tensor, rows: dict[str, Array]) -> None:
        super().__init__(**vars(member))
        self.y, self.rows = y, rows
        self.loss = LOSSES[self.cfg.loss or self.default_loss]
        self.ledger = Ledger()
        self.observer = Observer()
        self.progress = Progress()
        self.resume_from: int | None = None
        self.exchange = 0
        self.stop = False
        self._worker, self._own = Worker(), False
        self._pending: list[Request] = []
        self._running: Protocol | None = None
        self._outcome: Replies | Exception | None = None
        self._open: Ask | None = None

    @abstractmethod
    def protocol(self) -> Protocol:
        """Write the method as if every party answered in line."""

    def step(self, rows: Array, y: Tensor) -> Protocol:
        """Train on one batch, (B,) and (B,); return the parties' losses, the own first.

        Only methods whose protocol calls `training.train` have steps.
        """
        raise NotImplementedError

    def infer(self, rows: Array) -> Protocol:
        """Return the logits of every party for some rows, K + 1 times (B, C), the own first."""
        raise NotImplementedError

    # Flower's hooks -------------------------------------------------------------------------

    def initialize_parameters(self, client_manager: ClientManager) -> Parameters:
        """Call the roll and begin the protocol."""
        self.use_threads()
        self.roster: Roster = roll_call(
            client_manager, self.cfg.parties - 1, self.facts(), self.cfg.party_timeout
        )
        self._running = self.protocol()
        return NO_PARAMETERS

    def configure_fit(
        self,
        server_round: int,
        parameters: Parameters,
        client_manager: ClientManager,
    ) -> list[tuple[ClientProxy, FitIns]]:
        """Advance the protocol to its next exchange; an empty list says that it has ended."""
        request = self._advance()
        if request is None:
            return []
        self.exchange += 1
        self._open = request
        requests = [*self._pending, request] if request.phase else self._pending
        self._pending = []
        instructions = [(proxy, self._request(requests, k, name)) for k, name, proxy in self.roster]
        self.ledger.exchanges[request.purpose] += 1
        self._own = any(r.own for r in requests)
        if self._own:
            self._worker.submit(partial(self._work, requests))
        return instructions

    def aggregate_fit(
        self,
        server_round: int,
        results: list[tuple[ClientProxy, FitRes]],
        failures: list[tuple[ClientProxy, FitRes] | BaseException],
    ) -> tuple[None, dict[str, Scalar]]:
        """Gather the replies in roster order; what failed surfaces at the yield that asked."""
        asked = self._open
        assert asked is not None  # noqa: S101  Flower pairs the two hooks
        by_cid = {proxy.cid: res for proxy, res in results}
        try:
            computed = self._worker.result() if self._own else None
            arrays = [
                self._reply(asked, name, by_cid.get(proxy.cid), failures)
                for _, name, proxy in self.roster
            ]
            self._outcome = Replies(arrays, computed)
        except Exception as error:
            self._outcome = error
        return None, {}

    def configure_evaluate(
        self,
        server_round: int,
        parameters: Parameters,
        client_manager: ClientManager,
    ) -> list[tuple[ClientProxy, EvaluateIns]]:
        """Return nothing: evaluation is part of the protocol."""
        return []

    def aggregate_evaluate(
        self,
        server_round: int,
        results: list[tuple[ClientProxy, EvaluateRes]],
        failures: list[tuple[ClientProxy, EvaluateRes] | BaseException],
    ) -> tuple[None, dict[str, Scalar]]:
        """Return nothing; see `configure_evaluate`."""
        return None, {}

    def evaluate(self, server_round: int, parameters: Parameters) -> None:
        """Return nothing; see `configure_evaluate`."""
        return

    def _work(self, requests: Sequence[Request]) -> Any:  # noqa: ANN401
        """Do the active party's own share of an exchange, each in its purpose's mode."""
        self.use_threads()
        result = None
        for request in requests:
            training = request.purpose == "training"
            if self.net.training != training:
                self.net.train(training)
            with torch.set_grad_enabled(training):
                result = request.own() if request.own else None
        return result

    # The generator driver --------------------------------------------------------------------

    def close(self) -> None:
        """End the thread of the active party's own work."""
        self._worker.close()

    def _advance(self) -> Ask | None:
        """Run the protocol up to its next ask; what it tells on the way waits for that ask."""
        outcome, self._outcome = self._outcome, None
        if self._running is None:
            if isinstance(outcome, Exception):  # the last tell failed, and nobody is left to ask
                raise outcome
            return None
        try:
            if isinstance(outcome, Exception):
                request = self._running.throw(outcome)
            else:
                request = self._running.send(outcome)  # type: ignore[arg-type]  # None starts it
            while True:
                if request.shared is None and len(request.each) != len(self.roster):
                    request = self._running.throw(_miscounted(request, len(self.roster)))
                elif isinstance(request, Ask):
                    return request
                else:
                    self._pending.append(request)
                    request = next(self._running)
        except StopIteration:
            self._running = None
            return ask("") if self._pending else None

    def _request(self, requests: Sequence[Request], k: int, name: str) -> FitIns:
        """Put the pending tells and the ask, as they are for one party, into one message."""
        batches = [request.tensors_for(k) for request in requests]
        config: dict[str, Scalar] = {
            "exchange": self.exchange,
            "phases": ",".join(request.phase for request in requests),
            "arrays": ",".join(str(len(batch)) for batch in batches),
        }
        self.ledger.book_request(name, requests, batches, config)
        tensors = [tensor for batch in batches for tensor in batch]
        return FitIns(Parameters(tensors, "numpy.ndarray"), config)

    def _reply(
        self,
        ask: Ask,
        name: str,
        res: FitRes | None,
        failures: list[tuple[ClientProxy, FitRes] | BaseException],
    ) -> list[Array]:
        """Book and unpack one party's answer; raise what went wrong there."""
        if res is None:
            reasons = {last_line(f) for f in failures}
            raise PartyError(f"{name} did not answer {self._where(ask)}: {'; '.join(reasons)}")
        if "error" in res.metrics:
            error, message = res.metrics["error"], res.metrics["message"]
            where = self._where(ask, str(res.metrics.get("phase", "")))
            raise PartyError(f"{name} failed in {where}: {error!s}: {message!s}")
        try:
            arrays = from_parameters(res.parameters)
        except ProtocolError as error:
            raise PartyError(f"{name} garbled {self._where(ask)}: {error}") from error
        self.ledger.book_reply(name, ask, res.parameters.tensors, res.metrics)
        return arrays

    def _where(self, ask: Ask, phase: str = "") -> str:
        """Name the phase, the exchange and the yield that asked."""
        frames = list(_frames(self._running))
        place = f"{frames[-1].f_code.co_filename}:{frames[-1].f_lineno}" if frames else "the end"
        phase = phase or ask.phase or "the last tell"
        return f"'{phase}' (exchange {self.exchange}, asked at {place})"


def _frames(generator: object) -> Iterator[FrameType]:
    """Walk from a generator to the innermost sub-protocol that it waits for."""
    while isinstance(generator, GeneratorType):
        if generator.gi_frame is not None:
            yield generator.gi_frame
        generator = generator.gi_yieldfrom


def _miscounted(request: Request, parties: int) -> ProtocolError:
    return ProtocolError(
        f"'{request.phase}' has {len(request.each)} arrays, one for each of {parties} parties"
    )
