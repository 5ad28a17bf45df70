"""The active party: runs a `Protocol` generator as a Flower `Strategy`."""

import secrets
import time
from abc import abstractmethod
from array import array
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, TypeVar

import torch
from flwr.common import EvaluateIns, EvaluateRes, FitIns, FitRes, Parameters, Scalar
from flwr.server.client_manager import ClientManager
from flwr.server.client_proxy import ClientProxy
from flwr.server.strategy import Strategy
from torch import Tensor

from vfl_flower.common.codec import Array, from_parameters
from vfl_flower.common.errors import PartyAway, PartyError, ProtocolError, last_line, printable
from vfl_flower.common.json_schema import fits
from vfl_flower.common.nonce import NONCE
from vfl_flower.common.worker import Worker
from vfl_flower.config.choices import REGRESSION
from vfl_flower.learning.losses import balanced_weights, loss_of
from vfl_flower.learning.schedule import steps_per_epoch
from vfl_flower.parties.party import Party
from vfl_flower.parties.progress import Progress
from vfl_flower.privacy.client_dp.budget import Noise, budget_of
from vfl_flower.privacy.client_dp.upload_log import LETTERS, Counts
from vfl_flower.privacy.label_dp.training_labels import TrainingLabels
from vfl_flower.protocol.exchange import Ask, Protocol, Replies, Request
from vfl_flower.protocol.ledger import Ledger
from vfl_flower.protocol.observer import Observer
from vfl_flower.protocol.roster import Roster, roll_call
from vfl_flower.protocol.runner import ProtocolRunner

T = TypeVar("T")
NO_PARAMETERS = Parameters(tensors=[], tensor_type="numpy.ndarray")


class ActiveParty(Party, Strategy):
    """Turns each exchange of `protocol` into one `configure_fit` / `aggregate_fit` pair.

    A method overrides `protocol`, and `step` and `infer` where it trains by mini-batches. A stock
    `flwr.server.Server` can drive it: rounds after the protocol's end send nothing.

    Attributes
    ----------
    x : Tensor
        The active party's own columns, (N, ...), float32.
    y : Tensor
        Labels, (N,), int64; of a regression float32, standardised. For evaluation, and for nets
        whose outputs and gradients never leave this party; all else learns `training_labels`.
    target : Target
        The task that the labels set, and what they are called.
    training_labels : Supervision
        The labels that training uses, and `loss` with it.
    net, descent, randomness
        Its network, optimiser and generator; see `Party`.
    roster : Roster
        The passive parties, once the roll call is done.
    ledger : Ledger
        What travelled.
    budget : Budget or None
        What the passive parties noise their uploads with; None if they do not.
    uploaded : dict of str to Counts
        What each passive party has uploaded, by its own count over all sittings.
    observer : Observer
        Is told of steps and evaluations.
    progress : Progress
        Where training is.
    resume_from : int or None
        The step whose checkpoint to continue from.
    patience : float
        Seconds to wait for the parties at the next roll call.
    latencies : array of float
        Seconds of each exchange of this sitting, the parties' and the own work included.
    task : callable
        The protocol that begins when the roll is called: the method's own, unless it is set.
    begun : bool
        Whether an earlier sitting began this run.
    stop : bool
        Set it, from a signal handler, say, to end after the step in hand with a checkpoint.
    """

    default_loss: ClassVar[str] = "cross-entropy"
    top: ClassVar[str] = ""
    """What its decision net takes if not its own embedding: all of them, "joined" side by side,
    (B, (K + 1) D), "added" up, (B, D), or, of feature maps, "tiled" to those of whole images."""

    layers: ClassVar[int] = 1
    """How many linear layers its decision net has unless the run says otherwise."""

    def __init__(self, member: Party, y: Tensor, rows: dict[str, Array]) -> None:
        super().__init__(**vars(member))
        self.y, self.rows = y, rows
        assert self.data.target is not None  # noqa: S101  an active party's data have one
        self.target = self.data.target
        weighted = y[torch.from_numpy(rows["train"])] if self.cfg.class_weights != "none" else None
        classes = self.data.classes
        weights = None if weighted is None else balanced_weights(weighted, classes)
        loss = loss_of(self.loss_name, weights)
        self.training_labels = TrainingLabels(self.cfg, y, classes, loss)
        self.loss = self.training_labels.loss
        self.budget, self.uploaded = budget_of(self.cfg, self.data.rows), dict[str, Counts]()
        self.ledger = Ledger()
        self.observer = Observer()
        self.progress = Progress()
        self.resume_from: int | None = None
        self.exchange = 0
        self.nonce = secrets.token_hex(NONCE)
        self.task: Callable[[], Protocol] = self.protocol
        self.stop, self.begun = False, False
        self.patience = self.cfg.party_timeout
        self._worker, self._busy = Worker(), False
        self._runner: ProtocolRunner | None = None
        self._outcome: Replies | Exception | None = None
        self._open: Ask | None = None
        self._asked_at, self.latencies = 0.0, array("f")

    @abstractmethod
    def protocol(self) -> Protocol:
        """Write the method as if every party answered in line."""

    @property
    def loss_name(self) -> str:
        """Which loss it goes down: the run's, or the method's own, or a regression's."""
        usual = "mean-squared-error" if self.target.task == REGRESSION else self.default_loss
        return self.cfg.loss or usual

    @property
    def takes(self) -> str:
        """What its decision net takes: an embedding, or what `top` says."""
        return self.top or "embedding"

    @property
    def epoch(self) -> int:
        """Which epoch the step in hand belongs to, from 0."""
        return self.progress.step // steps_per_epoch(self.cfg, len(self.rows["train"]))

    def step(self, rows: Array, y: Tensor) -> Protocol:
        """Train on one batch, (B,) and what teaches it; return the models' losses, the own first.

        Only methods whose protocol calls `training.train` have steps.
        """
        raise NotImplementedError

    def infer(self, rows: Array) -> Protocol:
        """Return the logits of every model for some rows, (B, C) each, the own first.

        Most methods give every party a model. Where there is only one it counts as the active
        party's, and `step` returns one loss too.
        """
        raise NotImplementedError

    def figures(self) -> dict[str, float]:
        """Return what else the method has measured, for the result."""
        return {}

    def upload_noise(self) -> Noise | None:
        """Return the noise of the passive parties' uploads, and the largest cost of them all."""
        return Noise(self.budget.sigma, self.budget.worst(self.uploaded)) if self.budget else None

    def restart_from(self, step: int | None) -> None:
        """Make ready for another roll call, and the protocol from a checkpoint or the start on."""
        self.progress = Progress()
        self.resume_from, self._outcome, self._open = step, None, None
        self.patience = self.cfg.return_timeout

    def request_stop(self) -> None:
        """End after the step in hand, with a checkpoint."""
        self.stop = True

    def waits_for(self, cids: Collection[str]) -> None:
        """Hear from the server which proxies an exchange has waited for already for a while."""
        self.observer.on_wait([name for _, name, proxy in self.roster if proxy.cid in cids])

    # Flower's hooks -------------------------------------------------------------------------

    def initialize_parameters(self, client_manager: ClientManager) -> Parameters:
        """Call the roll and begin the protocol."""
        self.use_threads()
        self.roster: Roster = roll_call(
            client_manager, self.cfg.parties - 1, self.facts(), self.patience
        )
        self._runner = ProtocolRunner(self.task(), len(self.roster))
        return NO_PARAMETERS

    def configure_fit(
        self,
        server_round: int,
        parameters: Parameters,
        client_manager: ClientManager,
    ) -> list[tuple[ClientProxy, FitIns]]:
        """Advance the protocol to its next exchange; an empty list says that it has ended."""
        asked = self._runner.advance(self._outcome) if self._runner else None
        if asked is None or self._runner is None:
            self.close()
            return []
        self._open, self._outcome = asked, None
        self._asked_at = time.perf_counter()
        self.exchange += 1
        self.ledger.exchanges[asked.purpose] += 1
        messages, own = self._runner.due(asked)
        instructions = [
            (proxy, self._request(messages[k], k, name))
            for k, name, proxy in self.roster
            if k in messages
        ]
        self._busy = any(request.own for request in own)
        if self._busy:
            self._worker.submit(partial(self._work, own))
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
            computed = self._worker.result() if self._busy else None
            arrays = [
                self._reply(asked, name, by_cid.get(proxy.cid), failures)
                for k, name, proxy in self.roster
                if k in asked.targets(len(self.roster))
            ]
            self._outcome = Replies(arrays, computed, whole=len(arrays) == len(self.roster))
        except Exception as error:
            self._outcome = error
        self.latencies.append(time.perf_counter() - self._asked_at)
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
            result = self.compute(request.own or _nothing, request.purpose == "training")
        return result

    def compute(self, work: Callable[[], T], training: bool = True) -> T:
        """Do some work with the network in training or evaluation mode."""
        if self.net.training != training:
            self.net.train(training)
        with torch.set_grad_enabled(training):
            return work()

    def close(self) -> None:
        """End the thread of the active party's own work."""
        self._worker.close()

    def _request(self, requests: Sequence[Request], k: int, name: str) -> FitIns:
        """Put the pending tells and the ask, as they are for one party, into one message."""
        batches = [request.tensors_for(k, len(self.roster)) for request in requests]
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
        asked: Ask,
        name: str,
        res: FitRes | None,
        failures: list[tuple[ClientProxy, FitRes] | BaseException],
    ) -> list[Array]:
        """Book and unpack one party's answer; raise what went wrong there."""
        if res is None:
            reasons = {
                last_line(f if isinstance(f, BaseException) else f[1].status.message)
                for f in failures
            }
            away = any(isinstance(failure, PartyAway) for failure in failures)
            kind = PartyAway if away else PartyError
            raise kind(f"{name} did not answer {self._where(asked)}: {'; '.join(reasons)}")
        if "error" in res.metrics:
            phase, error, message = (
                printable(res.metrics.get(key, "")) for key in ("phase", "error", "message")
            )
            raise PartyError(f"{name} failed in {self._where(asked, phase)}: {error}: {message}")
        try:
            arrays = from_parameters(res.parameters)
        except ProtocolError as error:
            raise PartyError(f"{name} garbled {self._where(asked)}: {error}") from error
        self.ledger.book_reply(name, asked, res.parameters.tensors, res.metrics)
        if self.budget:
            self._count(name, res.metrics)
        return arrays

    def _count(self, name: str, metrics: Mapping[str, Scalar]) -> None:
        """Take note of how many uploads a party has counted."""
        if not fits(metrics, dict.fromkeys(LETTERS, int)):
            raise PartyError(f"{name} noises its uploads and does not tell how many there were")
        self.uploaded[name] = Counts({kind: metrics[kind] for kind in LETTERS})

    def _where(self, asked: Ask, phase: str = "") -> str:
        """Name the phase, the exchange and the yield that asked."""
        place = self._runner.place() if self._runner else "the end"
        phase = phase or asked.phase or "the last tell"
        return f"'{phase}' (exchange {self.exchange}, asked at {place})"


def _nothing() -> None:
    """Do no work of one's own."""
