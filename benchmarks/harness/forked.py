"""Passive parties as processes of this machine, to compare with threads."""

import multiprocessing
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection

import torch
from flwr.common import FitIns, FitRes, GetPropertiesIns, GetPropertiesRes
from flwr.server import SimpleClientManager

from vfl_flower.parties.active import ActiveParty
from vfl_flower.parties.passive import PassiveParty
from vfl_flower.transport.endpoint import OK, Endpoint
from vfl_flower.transport.protocol_server import ProtocolServer
from vfl_flower.transport.proxy import SendingProxy
from vfl_flower.transport.stream.client import answer
from vfl_flower.transport.stream.frames import Frame, Kind, decode_frame, parameters_of


class PipeProxy(SendingProxy):
    """Sends each call through a pipe, as a frame of a session.

    Parameters
    ----------
    cid : str
        Its name.
    pipe : Connection
        To the party's process.
    """

    def __init__(self, cid: str, pipe: Connection) -> None:
        super().__init__(cid)
        self.pipe = pipe

    def get_properties(
        self, ins: GetPropertiesIns, timeout: float | None, group_id: int | None
    ) -> GetPropertiesRes:
        """Call the roll."""
        self.pipe.send_bytes(Frame(Kind.ROLL_CALL, 0, ins.config, []).encode())
        return GetPropertiesRes(OK, dict(decode_frame(self.pipe.recv_bytes()).record))

    def fit(self, ins: FitIns, timeout: float | None, group_id: int | None) -> FitRes:
        """Send one exchange."""
        return self.begin(ins).result()

    def begin(self, ins: FitIns) -> "PipeProxy":
        """Send one exchange, and leave the answer for later."""
        self.pipe.send_bytes(Frame(Kind.EXCHANGE, 0, ins.config, ins.parameters.tensors).encode())
        return self

    def wait(self, timeout: float) -> bool:
        """Wait at most `timeout` seconds; tell whether the exchange has ended."""
        return self.pipe.poll(timeout)

    def result(self) -> FitRes:
        """Wait for the answer."""
        reply = decode_frame(self.pipe.recv_bytes())
        return FitRes(OK, parameters_of(reply), 0, dict(reply.record))


def serve(pipe: Connection, party: PassiveParty) -> None:
    """Answer until the process is ended."""
    torch.set_num_threads(1)
    endpoint = Endpoint(party)
    while True:
        pipe.send_bytes(answer(endpoint, decode_frame(pipe.recv_bytes())))


@contextmanager
def forked(parties: Sequence[PassiveParty]) -> Iterator[list[PipeProxy]]:
    """Yield proxies of parties in processes of their own."""
    context, processes, proxies = multiprocessing.get_context("fork"), [], []
    for number, party in enumerate(parties):
        here, there = context.Pipe()
        process = context.Process(target=serve, args=(there, party), daemon=True)
        process.start()
        processes.append(process)
        proxies.append(PipeProxy(f"client-{number}", here))
    try:
        yield proxies
    finally:
        for process in processes:
            process.terminate()
            process.join()


def run_forked(active: ActiveParty, passive: Sequence[PassiveParty]) -> None:
    """Run a protocol with passive parties in processes of their own."""
    manager = SimpleClientManager()
    with forked(passive) as proxies:
        for proxy in proxies:
            manager.register(proxy)
        ProtocolServer(client_manager=manager, strategy=active.strategy).fit(0, None)
