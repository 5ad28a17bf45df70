"""Exchanges that fail: malformed replies, vanished parties, panics."""

from typing import NoReturn

import numpy as np
import pytest
from flwr.app import RecordDict
from flwr.common import Code, FitIns, FitRes, Parameters, Status
from flwr.server import Server, SimpleClientManager

from tests.helpers.probes import Prober, build, prober
from vfl_flower.common.errors import PartyError, VflError
from vfl_flower.protocol.exchange import Protocol, ask
from vfl_flower.transport.endpoint import OK, Endpoint, RebuiltEndpoint
from vfl_flower.transport.local import LocalProxy, serve
from vfl_flower.transport.protocol_server import ProtocolServer

HEADER = b"{'descr': '<q3', 'fortran_order': False, 'shape': (), }\n"
BAD_DTYPE = b"\x93NUMPY\x01\x00" + len(HEADER).to_bytes(2, "little") + HEADER


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
