"""The exchange itself, with small protocols made for the purpose."""

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import ClassVar, NoReturn

import numpy as np
import pytest
import torch
from flwr.app import RecordDict
from flwr.common import Code, FitIns, FitRes, Parameters, Status
from flwr.server import Server, SimpleClientManager
from torch import Tensor

from tests.helpers.contract import CARRIERS, Tap, carry, configured, passive_parties
from vfl_flower.common.errors import DataError, PartyError, VflError
from vfl_flower.config.run_config import RunConfig
from vfl_flower.data.loading import load_party
from vfl_flower.parties.active import ActiveParty
from vfl_flower.parties.passive import PassiveParty
from vfl_flower.protocol.components import phase
from vfl_flower.protocol.exchange import Protocol, ask, ask_each, tell, tell_each
from vfl_flower.transport.endpoint import OK, Endpoint, RebuiltEndpoint
from vfl_flower.transport.local import LocalProxy, serve
from vfl_flower.transport.protocol_server import ProtocolServer
from vfl_flower.workflows.build_learner import build_learner

CFG = replace(configured("easter"), threads=1)
HEADER = b"{'descr': '<q3', 'fortran_order': False, 'shape': (), }\n"
BAD_DTYPE = b"\x93NUMPY\x01\x00" + len(HEADER).to_bytes(2, "little") + HEADER
on_each_carrier = pytest.mark.parametrize("carrier", CARRIERS)


class Prober(ActiveParty):
    """Runs whatever generator it is given."""

    script: ClassVar[Callable[["Prober"], Protocol]]

    def protocol(self) -> Protocol:
        return self.script()


Script = Callable[[Prober], Protocol]


class Probe(PassiveParty):
    """Echoes, takes notes, waits for company."""

    barrier: threading.Barrier

    def __init__(self, *arguments: object) -> None:
        super().__init__(*arguments)  # type: ignore[arg-type]
        self.notes: list[float] = []

    remembers = (*PassiveParty.remembers, "notes")

    @phase(training=False, sends="control")
    def echo(self, value: Tensor) -> Tensor:
        return value + self.rank - 1

    @phase
    def note(self, value: Tensor) -> None:
        self.notes.append(float(value))

    @phase(training=False, sends="control")
    def noted(self) -> Tensor:
        return torch.tensor(self.notes)

    @phase(training=False)
    def fail(self, value: Tensor) -> None:
        if self.rank == 2:
            raise DataError("cannot take that note")

    @phase(training=False)
    def meet(self) -> None:
        self.barrier.wait(10)


def build(k: int, cfg: RunConfig = CFG) -> PassiveParty:
    return Probe(build_learner(cfg, load_party(cfg, k)))


def prober(script: Script, cfg: RunConfig = CFG) -> Prober:
    kind = type("Scripted", (Prober,), {"script": script})
    data = load_party(cfg, 0)
    active: Prober = kind(build_learner(cfg, data), data.y, data.rows)
    return active


def conversation(carrier: str, script: Script) -> tuple[Prober, list[Tap]]:
    """Run a script over a transport; return active party and taps."""
    active, taps = prober(script), [Tap(c) for c in passive_parties(carrier, build).clients]
    carry(carrier, active, taps)
    return active, taps


@on_each_carrier
def test_ask_each_sends_each_its_own(carrier: str) -> None:
    heard: list[list[float]] = []

    def script(self: Prober) -> Protocol:
        replies = yield ask_each("echo", [torch.tensor([10.0 * k]) for k in range(3)])
        heard.append([float(a[0]) for a in replies.singles])
        heard.append(replies.sum().tolist())

    conversation(carrier, script)
    assert heard == [[0.0, 11.0, 22.0], [33.0]]


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("each", [ask_each, tell_each])
def test_one_array_for_each_means_each(count: int, each: Callable[..., ask]) -> None:  # type: ignore[valid-type]
    """Another number of arrays than parties is an error."""
    got: list[object] = []

    def script(self: Prober) -> Protocol:
        yield each("note", [np.array(1.0, np.float32)] * count)
        replies = yield ask("noted")
        got.extend(replies.arrays)

    with pytest.raises(VflError):
        conversation("local", script)
    assert got == []


@on_each_carrier
def test_tells_ride_in_order_on_the_next_exchange(carrier: str) -> None:
    notes: list[list[float]] = []

    def script(self: Prober) -> Protocol:
        yield tell("note", np.array(1, np.float32))
        yield tell_each("note", [np.array(2 + k, np.float32) for k in range(3)])
        replies = yield ask("noted")
        notes.extend(a.tolist() for a in replies.singles)

    active, taps = conversation(carrier, script)
    assert notes == [[1.0, 2.0], [1.0, 3.0], [1.0, 4.0]]
    assert [ins.config["phases"] for ins, _ in taps[0].sent] == ["note,note,noted"]
    assert active.strategy.exchange == 1


@on_each_carrier
def test_last_tell_is_delivered(carrier: str) -> None:
    """A tell pending at the end gets an exchange of its own."""

    def script(self: Prober) -> Protocol:
        yield ask("noted")
        yield tell("note", np.array(7, np.float32))

    active, taps = conversation(carrier, script)
    for tap in taps:
        assert [phase for phase, _ in tap.requests()] == ["noted", "note"]
        assert tap.requests()[-1][1][0] == 7
    assert active.strategy.exchange == 2
    assert active.ledger.exchanges["training"] == 2


@on_each_carrier
def test_failing_last_tell_is_an_error(carrier: str) -> None:
    """Also after the protocol's own end no failure is swallowed."""

    def script(self: Prober) -> Protocol:
        yield ask("noted")
        yield tell("fail", np.array(7, np.float32))

    with pytest.raises(PartyError, match=r"party-2 .*cannot take that note"):
        conversation(carrier, script)


def test_protocol_may_catch_a_failure() -> None:
    """The error is raised at the yield, and can be caught."""
    caught: list[str] = []

    def script(self: Prober) -> Protocol:
        try:
            yield ask("fail", np.array(1, np.float32))
        except PartyError as error:
            caught.append(str(error))
        replies = yield ask("echo", np.array([1], np.float32))
        caught.append(str(len(replies.arrays)))

    conversation("local", script)
    assert "party-2" in caught[0]
    assert caught[1:] == ["3"]


def test_own_work_runs_while_the_exchange_is_open() -> None:
    """All parties wait for each other: possible only side by side."""
    Probe.barrier = threading.Barrier(4)
    got: list[object] = []

    def script(self: Prober) -> Protocol:
        replies = yield ask("meet", own=lambda: Probe.barrier.wait(10) is not None)
        got.append(replies.own)

    conversation("local", script)
    assert got == [True]


@pytest.mark.parametrize(("purpose", "training"), [("training", True), ("evaluation", False)])
def test_own_work_is_in_the_mode_of_its_purpose(purpose: str, training: bool) -> None:
    seen: list[object] = []

    def script(self: Prober) -> Protocol:
        replies = yield ask(
            "noted",
            own=lambda: (torch.is_grad_enabled(), self.net.training),
            purpose=purpose,  # type: ignore[arg-type]
        )
        seen.append(replies.own)

    conversation("local", script)
    assert seen == [(training, training)]


def test_own_failure_surfaces_at_the_yield() -> None:
    def broken() -> None:
        raise DataError("my own mistake")

    def script(self: Prober) -> Protocol:
        with pytest.raises(DataError, match="my own mistake"):
            yield ask("noted", own=broken)
        replies = yield ask("echo", np.array([1], np.float32))
        assert len(replies.arrays) == 3

    active, _ = conversation("local", script)
    assert active.strategy.exchange == 2


@pytest.mark.parametrize(
    "reply",
    [b"rubbish", b"\x93NUMPY\x01\x00\x05\x00abcd\n", BAD_DTYPE, b""],
    ids=["no npy", "bad header", "bad dtype", "empty"],
)
def test_malformed_reply_names_the_party(reply: bytes) -> None:
    class Garbler(Endpoint):
        def fit(self, ins: FitIns) -> FitRes:
            return FitRes(OK, Parameters([reply], "numpy.ndarray"), 1, {})

    def script(self: Prober) -> Protocol:
        yield ask("noted")

    clients = [Endpoint(build(1)), Garbler(build(2)), Endpoint(build(3))]
    with pytest.raises(VflError, match="party-2"):
        serve(prober(script), clients)


def test_vanished_party_is_an_error_not_a_smaller_sum() -> None:
    class Gone(Endpoint):
        def fit(self, ins: FitIns) -> FitRes:
            raise ConnectionError("node is gone")

    def script(self: Prober) -> Protocol:
        replies = yield ask("echo", np.array([1], np.float32))
        raise AssertionError(f"went on with {len(replies.arrays)} replies")

    clients = [Endpoint(build(1)), Endpoint(build(2)), Gone(build(3))]
    with pytest.raises(PartyError, match=r"party-3 did not answer 'echo'.*node is gone"):
        serve(prober(script), clients)


@pytest.mark.parametrize("server", [ProtocolServer, Server])
def test_a_status_that_is_not_ok_is_an_error(server: type[Server]) -> None:
    """Its content is not shown: a reply may hold anything."""

    class Refuser(Endpoint):
        def fit(self, ins: FitIns) -> FitRes:
            status = Status(Code.FIT_NOT_IMPLEMENTED, "no such method")
            return FitRes(status, Parameters([b"secret"], "numpy.ndarray"), 1, {})

    def script(self: Prober) -> Protocol:
        yield ask("echo", np.array([1], np.float32))

    manager = SimpleClientManager()
    for k, kind in enumerate((Endpoint, Refuser, Endpoint), 1):
        manager.register(LocalProxy(str(k), kind(build(k))))
    with pytest.raises(PartyError, match=r"party-2 did not answer 'echo'.*no such method") as error:
        server(client_manager=manager, strategy=prober(script).strategy).fit(3, None)
    assert "secret" not in str(error.value)


def test_what_is_no_exception_ends_the_run_too() -> None:
    """An extension module's panic, say: it must not leave the others waiting."""

    class Panic(BaseException):
        pass

    class Panicking(Endpoint):
        def fit(self, ins: FitIns) -> FitRes:
            raise Panic

    def script(self: Prober) -> Protocol:
        yield ask("echo", np.array([1], np.float32))

    with pytest.raises(Panic):
        serve(prober(script), [Endpoint(build(1)), Panicking(build(2)), Endpoint(build(3))])


def test_fit_never_raises() -> None:
    """A party that fails while rebuilt answers, without its text."""

    def broken() -> NoReturn:
        raise ValueError("cannot parse 'secret cell'")

    instructions = FitIns(Parameters([], "numpy.ndarray"), {"exchange": 1})
    res = RebuiltEndpoint(broken, 2, RecordDict()).fit(instructions)
    assert res.metrics["error"] == "ValueError"
    assert "secret" not in str(res.metrics["message"])
