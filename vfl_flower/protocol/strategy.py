"""Adapter from protocol generators to Flower's `Strategy`, and whom it works for."""

import time
from abc import ABC, abstractmethod
from array import array
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from flwr.common import EvaluateIns, EvaluateRes, FitIns, FitRes, Parameters, Scalar
from flwr.server.client_manager import ClientManager
from flwr.server.client_proxy import ClientProxy
from flwr.server.strategy import Strategy

from vfl_flower.common.codec import Array
from vfl_flower.common.errors import PartyError, printable
from vfl_flower.common.names import names_of, party_name
from vfl_flower.common.worker import Concurrency, Worker
from vfl_flower.config.run_config import RunConfig
from vfl_flower.learning.device import use_threads
from vfl_flower.learning.row_limit import RowLimit
from vfl_flower.protocol.exchange import Ask, Protocol, Replies, Request
from vfl_flower.protocol.ledger import Ledger
from vfl_flower.protocol.messages import Failures, Outbox, arrays_of, with_stand_ins
from vfl_flower.protocol.observer import Observer
from vfl_flower.protocol.profiling import SILENT, Lane
from vfl_flower.protocol.roster import Roster, roll_call
from vfl_flower.protocol.runner import ProtocolRunner

_NO_PARAMETERS = Parameters(tensors=[], tensor_type="numpy.ndarray")


class Coordinator(ABC):
    """Common base of active parties, in training and in alignment.

    Attributes
    ----------
    cfg : RunConfig
        The run's configuration.
    folder : Path or None
        Where its checkpoints are; without one a protocol that breaks off cannot go back.
    strategy : ProtocolStrategy
        Its adapter to Flower: what transports drive.
    ledger : Ledger
        Exchanges and bytes so far.
    observer : Observer
        Is told of steps and evaluations.
    task : callable
        The protocol that begins when the roll is called: `protocol`, unless it is set.
    patience : float
        Seconds to wait for the parties at the next roll call.
    stop : bool
        Whether to end after the step in hand, with a checkpoint.
    session_life : float
        Seconds that the message lives which opens a party's session; longer than any training.
    profile : Lane
        Where its time, and that of exchanges, is noted.
    """

    cfg: RunConfig
    folder: Path | None
    session_life = 30 * 24 * 3600.0
    profile: Lane = SILENT

    def __init__(self) -> None:
        self.strategy = ProtocolStrategy(self)
        self.ledger = self.strategy.ledger
        self.observer = Observer()
        self.task: Callable[[], Protocol] = self.protocol
        self.patience = self.cfg.party_timeout
        self.stop = False

    @abstractmethod
    def protocol(self) -> Protocol:
        """Write the method's exchanges as a generator of requests."""

    @abstractmethod
    def facts(self) -> dict[str, Scalar]:
        """Return facts that must be equal at all parties."""

    def fault_of(self, phase: str, rows: int, arrays: Sequence[Array]) -> str:
        """Return the fault of one party's reply to a phase, or nothing."""
        return ""

    def row_limit(self) -> RowLimit | None:
        """Return the bound of rows that are summed, if there is one."""
        return None

    def defended(self, request: Request) -> Request:
        """Return a request as it may leave the party."""
        return request

    def compute(self, work: Callable[[], Any], training: bool = True) -> Any:  # noqa: ANN401
        """Do some work, as a training or as an evaluation."""
        return work()

    def hear(self, name: str, metrics: Mapping[str, Scalar]) -> None:  # noqa: B027  nothing is due
        """Read the metrics of a party's reply."""

    def request_stop(self) -> None:
        """End after the step in hand, with a checkpoint."""
        self.stop = True

    def restart_from(self, step: int | None) -> None:
        """Prepare another attempt, from a checkpoint or from the start."""
        self.strategy.forget()
        self.patience = self.cfg.return_timeout

    def go_on_without(self, ranks: Collection[int]) -> None:
        """Prepare another attempt, without parties that have left."""
        self.cfg = replace(self.cfg, without=names_of({*ranks, *self.cfg.left}))

    def close(self) -> None:
        """End the thread of its own work."""
        self.strategy.close()


class ProtocolStrategy(Strategy):
    """Turns each exchange of a protocol into one `configure_fit` / `aggregate_fit` pair.

    A stock `flwr.server.Server` can drive it: rounds after the protocol's end send nothing.

    Attributes
    ----------
    roster : Roster
        The passive parties, once the roll call is done.
    ledger : Ledger
        What travelled.
    exchange : int
        The run's counter; it never goes back.
    latencies : array of float
        Seconds of each exchange of this attempt, the parties' and the own work included.
    concurrency : Concurrency
        Decides whether parties of this process work side by side.
    in_turn : bool
        What it decided for the exchange in hand.
    heard : list of Replies or None
        Where replies are noted, while somebody wants them.
    """

    def __init__(self, party: Coordinator) -> None:
        self.party, self._parties = party, party.cfg.parties - 1
        self.ledger = Ledger()
        self.exchange = 0
        self.latencies = array("f")
        self.concurrency, self.in_turn = Concurrency(), False
        self.heard: list[Replies] | None = None
        self._worker, self._busy = Worker(), False
        self._runner: ProtocolRunner | None = None
        self._outcome: Replies | Exception | None = None
        self._open: Ask | None = None
        self._asked_at = 0.0

    def initialize_parameters(self, client_manager: ClientManager) -> Parameters:
        """Call the roll and begin the protocol."""
        party = self.party
        use_threads(party.cfg.threads)
        cfg, facts = party.cfg, party.facts()
        who = (self._parties, facts, party.patience, lambda: party.stop, cfg.left)
        self.roster: Roster = roll_call(client_manager, *who)
        how = (cfg.wire_precision, party.defended, cfg.left)
        self._runner = ProtocolRunner(party.task(), self._parties, *how)
        return _NO_PARAMETERS

    def configure_fit(
        self, server_round: int, parameters: Parameters, client_manager: ClientManager
    ) -> list[tuple[ClientProxy, FitIns]]:
        """Advance the protocol to its next exchange.

        An empty list says that the protocol has ended.
        """
        with self.party.profile.during("between exchanges"):
            asked = self._runner.advance(self._outcome) if self._runner else None
        if asked is None or self._runner is None:
            self.close()
            return []
        self._open, self._outcome = asked, None
        self._asked_at = time.perf_counter()
        self.exchange += 1
        self.ledger.exchanges[asked.purpose] += 1
        messages, own = self._runner.due(asked)
        outbox = Outbox(self.ledger, self._parties, self.exchange)
        with self.party.profile.doing("codec"):
            instructions = [
                (proxy, outbox.message(name, messages[k], k))
                for k, name, proxy in self.roster
                if k in messages
            ]
        self.in_turn = self.concurrency.in_turn(asked.phase)
        self._busy = any(request.own for request in own)
        if self._busy:
            self._worker.submit(partial(self._work, own), self.in_turn)
        return instructions

    def aggregate_fit(
        self,
        server_round: int,
        results: list[tuple[ClientProxy, FitRes]],
        failures: list[tuple[ClientProxy, FitRes] | BaseException],
    ) -> tuple[None, dict[str, Scalar]]:
        """Gather the replies in roster order.

        A failure is raised at the yield that asked.
        """
        asked = self._open
        assert asked is not None  # noqa: S101  Flower pairs the two hooks
        by_cid = {proxy.cid: res for proxy, res in results}
        try:
            computed = self._worker.result() if self._busy else None
            targets = asked.targets(self._parties)
            heard = {
                k: self._reply(asked, k, name, by_cid.get(proxy.cid), failures)
                for k, name, proxy in self.roster
                if k in targets
            }
            replies = with_stand_ins(heard, targets)
            whole, names = len(replies) == self._parties, [party_name(k) for k in replies]
            made = Replies([*replies.values()], computed, whole, self.party.row_limit(), names)
            self._outcome = made
            if self.heard is not None:
                self.heard.append(made)
        except Exception as error:
            self._outcome = error
        self.latencies.append(time.perf_counter() - self._asked_at)
        self.concurrency.note(asked.phase, self.in_turn, self.latencies[-1])
        self.party.profile.exchange(asked.phase or "the last tell", self._asked_at)
        return None, {}

    def configure_evaluate(
        self, server_round: int, parameters: Parameters, client_manager: ClientManager
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

    def waits_for(self, cids: Collection[str]) -> None:
        """Hear which proxies an exchange still waits for."""
        self.party.observer.on_wait([name for _, name, proxy in self.roster if proxy.cid in cids])

    def forget(self) -> None:
        """Drop the exchange that broke off, before another roll call."""
        self._outcome, self._open = None, None

    def close(self) -> None:
        """End the thread of the party's own work."""
        self._worker.close()

    def _work(self, requests: Sequence[Request]) -> Any:  # noqa: ANN401
        """Do the active party's own work of an exchange.

        The network is in the mode of each request's purpose.
        """
        use_threads(self.party.cfg.threads)
        result = None
        with self.party.profile.during("during exchanges"):
            for request in requests:
                training = request.purpose == "training"
                result = self.party.compute(request.own or _nothing, training)
        return result

    def _reply(
        self, asked: Ask, rank: int, name: str, res: FitRes | None, failures: Failures
    ) -> list[Array]:
        """Unpack, check and book one party's reply, or raise its error."""
        where = partial(self._where, asked, res)
        with self.party.profile.doing("codec"):
            arrays = arrays_of(res, name, where, failures, self.party.cfg.wire_precision)
        assert res is not None  # noqa: S101  there would have been no arrays
        rows = asked.rows_for(rank, self._parties)
        if asked.phase and (fault := self.party.fault_of(asked.phase, rows, arrays)):
            raise PartyError(f"{name} answered {where()} {fault}")
        self.ledger.book_reply(name, asked, res.parameters.tensors, res.metrics)
        self.party.hear(name, res.metrics)
        return arrays

    def _where(self, asked: Ask, res: FitRes | None) -> str:
        """Name the phase, the exchange and the yield that asked."""
        place = self._runner.place() if self._runner else "the end"
        failed = printable(res.metrics.get("phase", "")) if res and "error" in res.metrics else ""
        phase = failed or asked.phase or "the last tell"
        return f"'{phase}' (exchange {self.exchange}, asked at {place})"


def _nothing() -> None:
    """Do no work of the active party."""
