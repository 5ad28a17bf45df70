"""The trained joint model, as a function of the passive parties' columns."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import torch
from torch import Tensor

from vfl_flower.analysis.audit.transcripts.repetition import Repetition
from vfl_flower.common.codec import Array, decode, to_tensor
from vfl_flower.parties.active import ActiveParty
from vfl_flower.parties.passive import PassiveParty
from vfl_flower.protocol.exchange import Ask, Protocol, Replies
from vfl_flower.protocol.uploads import Upload

T = TypeVar("T")


@dataclass(frozen=True)
class OpenReplies(Replies):
    """Replies that keep their graphs, of uploads without masks and rounding."""

    made: Sequence[Tensor] = ()

    @cached_property
    def tensors(self) -> list[Tensor]:
        """The upload of each party."""
        return [*self.made]

    def sum(self, weight: int | None = None) -> Tensor:
        """Sum the uploads."""
        return torch.stack(self.tensors).sum(0)


@dataclass(frozen=True, eq=False)
class JointModel:
    """Predictions of some rows by all trained parties together.

    The method's own protocol of inference computes them, with its phases called directly: nothing
    is masked, rounded or counted, and gradients pass from an output back to all columns.

    Attributes
    ----------
    run : Repetition
        After its training.
    rows : ndarray of int32
        (B,).
    """

    run: Repetition
    rows: Array

    def __call__(self, columns: Mapping[int, Tensor]) -> Tensor:
        """Predict the rows: (B, C).

        `columns`, (B, ...) each, stand for those of their ranks.
        """
        active, passive = self.run.active, self.run.passive
        active.recall(deepcopy(self.run.begun))
        for party in (active, *passive):
            party.net.eval()
        with ExitStack() as changes:
            changes.enter_context(_with_gradients(active))
            for rank, given in columns.items():
                changes.enter_context(_showing(passive[rank - 1], self.rows, given))
            outputs: list[Tensor] = _run(active.infer(self.rows), passive)
        return outputs[0]


def _run(protocol: Protocol, passive: Sequence[PassiveParty]) -> list[Tensor]:
    """Run a protocol of inference with parties at hand; return its result."""
    replies: Replies | None = None
    while True:
        try:
            request = protocol.send(replies)  # type: ignore[arg-type]  # None starts it
        except StopIteration as end:
            outputs: list[Tensor] = end.value
            return outputs
        assert isinstance(request, Ask)  # noqa: S101  a prediction tells nobody anything
        replies = _answered(request, passive)


def _answered(request: Ask, passive: Sequence[PassiveParty]) -> Replies:
    ranks, parties = request.targets(len(passive)), len(passive)
    own, made = request.own() if request.own else None, list[Tensor]()
    for rank in ranks:
        arrays = [to_tensor(decode(each)) for each in request.tensors_for(rank, parties)]
        upload = passive[rank - 1].phases[request.phase](*arrays)
        made.append(upload.weighted() if isinstance(upload, Upload) else upload)
    return OpenReplies([], own, len(ranks) == parties, made=made)


@contextmanager
def _with_gradients(active: ActiveParty) -> Iterator[None]:
    """Let an active party compute without switching gradients off."""

    def compute(work: Callable[[], T], training: bool = True) -> T:
        return work()

    vars(active)["compute"] = compute
    try:
        yield
    finally:
        del vars(active)["compute"]


@contextmanager
def _showing(party: PassiveParty, rows: Array, columns: Tensor) -> Iterator[None]:
    """Give a party's networks other columns, which may have a graph."""
    place = torch.full((len(party.x),), -1)
    place[torch.from_numpy(rows).long()] = torch.arange(len(rows))

    def chosen(asked: Tensor | Array) -> Tensor:
        return columns[place[torch.as_tensor(asked).long()]]

    vars(party)["columns"] = chosen
    try:
        yield
    finally:
        del vars(party)["columns"]
