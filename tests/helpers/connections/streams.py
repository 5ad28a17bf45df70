"""Stream transport with nodes that are threads of this process."""

import atexit
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from flwr.app import Context, Message, RecordDict
from flwr.client import Client
from flwr.common import FitIns, FitRes, Parameters
from flwr.compat.common import recorddict_compat as compat
from flwr.supercore.run import RunNotRunningException
from flwr.supercore.task_identity import TaskIdentity

from vfl_flower.config.policy.record import OPEN, Policy
from vfl_flower.config.policy.text import text_of
from vfl_flower.protocol.strategy import Coordinator
from vfl_flower.transport.endpoint import OK
from vfl_flower.transport.stream.client import StreamClient
from vfl_flower.transport.stream.invitation import invitation_in
from vfl_flower.transport.stream.run import LOOPBACK, StreamTransport
from vfl_flower.workflows.flower_node import Node

RUN = 13_357_087_272_547_581_208  # more than 63 bits, as Flower's ids are

Answer = Callable[[FitIns], FitRes]


@dataclass
class FakeGrid:
    """Flower's grid, as far as sessions use it.

    Attributes
    ----------
    nodes : dict of int to callable
        What each node does with a message; more may come and go.
    expires : bool
        Whether a message that is not answered in its life is, with an error.
    stopped : bool
        Whether Flower turns requests of the run away.
    """

    nodes: dict[int, Answer]
    run_id: int = RUN
    overrides: Mapping[str, Any] = field(default_factory=dict)
    opened: list[FitIns] = field(default_factory=list)
    replies: dict[str, Any] = field(default_factory=dict)
    answered: set[str] = field(default_factory=set)
    expires: bool = False
    stopped: bool = False

    def __post_init__(self) -> None:
        TaskIdentity.task_id, TaskIdentity.run_id, TaskIdentity.node_id = 1, 1, 1

    @property
    def run(self) -> Any:
        return SimpleNamespace(run_id=self.run_id, override_config=dict(self.overrides))

    def get_node_ids(self) -> list[int]:
        if self.stopped:
            raise RunNotRunningException
        return list(self.nodes)

    def push_messages(self, messages: Iterable[Message]) -> list[str]:
        sent = []
        for message in messages:
            name = f"message-{len(self.opened)}"
            ins = compat.recorddict_to_fitins(message.content, keep_input=True)
            self.opened.append(ins)
            answer = self.nodes[message.metadata.dst_node_id]
            threading.Thread(target=self._work, args=(name, answer, ins), daemon=True).start()
            if self.expires:
                late = threading.Timer(message.metadata.ttl, self._expire, (name,))
                late.daemon = True
                late.start()
            sent.append(name)
        return sent

    def _work(self, name: str, answer: Answer, ins: FitIns) -> None:
        metadata = SimpleNamespace(reply_to_message_id=name)
        try:
            content = compat.fitres_to_recorddict(answer(ins), keep_input=True)
            reply = SimpleNamespace(metadata=metadata, content=content, has_error=lambda: False)
        except BaseException as error:
            told = SimpleNamespace(reason=str(error))
            reply = SimpleNamespace(metadata=metadata, error=told, has_error=lambda: True)
        self.answered.add(name)
        self.replies[name] = reply

    def _expire(self, name: str) -> None:
        if name not in self.answered:
            told = SimpleNamespace(reason="the message has expired")
            metadata = SimpleNamespace(reply_to_message_id=name)
            self.replies[name] = SimpleNamespace(
                metadata=metadata, error=told, has_error=lambda: True
            )

    def pull_messages(self, message_ids: Iterable[str]) -> list[Any]:
        return [self.replies.pop(name) for name in message_ids if name in self.replies]


def node(k: int, folder: Path, options: Mapping[str, Any], **own: Any) -> Node:
    """Return a passive party's node with state folder and policy."""
    config = {"partition-id": k, "num-partitions": 3, "state-dir": str(folder), **own}
    config.setdefault("policy", str(open_policy()))
    return Node(Context(RUN, 100 + k, config, RecordDict(), dict(options)))


@cache
def open_policy() -> Path:
    """Write a policy file that allows all runs, until Python ends."""
    folder = Path(tempfile.mkdtemp(prefix="vfl-flower-policy-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return policy_file(folder, OPEN)


def policy_file(folder: Path, policy: Policy) -> Path:
    """Write a policy into a folder, as its owner's file."""
    path = folder / "policy.toml"
    path.write_text(text_of(policy))
    path.chmod(0o600)
    return path


def visit(client: Client, ins: FitIns, rank: int = 0) -> FitRes:
    """Keep the session of a message with a client of this process."""
    opened = invitation_in(ins.config)
    assert opened is not None
    StreamClient(opened[0], client, rank).serve()
    return FitRes(OK, Parameters([], "numpy.ndarray"), 0, {})


def grid_of(clients: Sequence[Client]) -> FakeGrid:
    """Return a grid whose nodes are clients of this process."""
    answers = {100 + k: partial(visit, client, rank=k + 1) for k, client in enumerate(clients)}
    return FakeGrid(dict(answers))


def run_stream(
    active: Coordinator,
    grid: FakeGrid,
    listen: str = LOOPBACK,
    options: Mapping[str, object] | None = None,
) -> dict[str, Any]:
    """Run a protocol with a grid's nodes in sessions over TLS."""
    cfg = replace(active.cfg, stream_listen=listen)
    transport = StreamTransport(grid, cfg, options or {}, simulated=False)  # type: ignore[arg-type]
    return transport.run(active)


def run_streamed(active: Coordinator, clients: Sequence[Client]) -> dict[str, Any]:
    """Run a protocol with local clients in sessions over TLS."""
    return run_stream(active, grid_of(clients))
