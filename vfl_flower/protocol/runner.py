"""Runner of a protocol generator: queues tells, sends asks, returns replies."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator
from types import FrameType, GeneratorType

from vfl_flower.common.errors import ProtocolError
from vfl_flower.config.catalog import FLOAT32
from vfl_flower.protocol.exchange import Ask, Protocol, Replies, Request, ask


class ProtocolRunner:
    """A running protocol.

    Parameters
    ----------
    protocol : generator
        Not started yet.
    parties : int
        How many passive parties there are.
    precision : str
        Of numbers in messages.
    defend : callable, optional
        From a request to the one that is sent instead.
    left : collection of int
        Ranks of parties that have left, to whom nothing is sent.
    """

    def __init__(
        self,
        protocol: Protocol,
        parties: int,
        precision: str = FLOAT32,
        defend: Callable[[Request], Request] | None = None,
        left: Collection[int] = (),
    ) -> None:
        self.parties, self.precision, self._defend = parties, precision, defend
        self._left = left
        self._protocol: Protocol | None = protocol
        self._waiting: defaultdict[int, list[Request]] = defaultdict(list)
        self._own: list[Request] = []

    def advance(self, outcome: Replies | Exception | None) -> Ask | None:
        """Go on to the next ask.

        Parameters
        ----------
        outcome : Replies, Exception or None
            What the last ask came to; an exception is raised at the yield that asked. None starts
            the protocol.

        Returns
        -------
        Ask or None
            None when the protocol has ended and everything told is delivered.
        """
        if self._protocol is None:
            if isinstance(outcome, Exception):  # the last tell failed, and nobody is left to ask
                raise outcome
            return None
        try:
            if isinstance(outcome, Exception):
                request = self._protocol.throw(outcome)
            else:
                request = self._protocol.send(outcome)  # type: ignore[arg-type]  # None starts it
            while True:
                try:
                    ready = self._ready(request)
                except ProtocolError as error:
                    request = self._protocol.throw(error)
                    continue
                if isinstance(ready, Ask):
                    return ready
                self._keep(ready)
                request = next(self._protocol)
        except StopIteration:
            self._protocol = None
            waiting = [k for k, requests in self._waiting.items() if requests]
            return ask("", to=sorted(waiting)) if waiting else None

    def due(self, asked: Ask) -> tuple[dict[int, list[Request]], list[Request]]:
        """Return outgoing requests by rank, and pending `own` work."""
        carried: list[Request] = [asked] if asked.phase else []
        there = [k for k in asked.targets(self.parties) if k not in self._left]
        messages = {k: self._waiting.pop(k, []) + carried for k in there}
        own, self._own = self._own + carried, []
        return messages, own

    def place(self) -> str:
        """Return file and line of the yield that the protocol waits at."""
        frames = list(_frames(self._protocol))
        return f"{frames[-1].f_code.co_filename}:{frames[-1].f_lineno}" if frames else "the end"

    def _keep(self, told: Request) -> None:
        for k in told.targets(self.parties):
            if k not in self._left:
                self._waiting[k].append(told)
        self._own.append(told)

    def _ready(self, request: Request) -> Request:
        """Return a request as it travels."""
        targets = request.targets(self.parties)
        if not targets or sorted({*targets} & {*range(1, self.parties + 1)}) != sorted(targets):
            raise ProtocolError(
                f"'{request.phase}' is for {list(targets)}, and there are parties 1 to "
                f"{self.parties}, each to be named once"
            )
        if request.shared is None and len(request.each) != len(targets):
            raise ProtocolError(
                f"'{request.phase}' has {len(request.each)} arrays, one for each of "
                f"{len(targets)} parties"
            )
        defended = self._defend(request) if self._defend else request
        return defended.narrowed(self.precision)


def _frames(generator: object) -> Iterator[FrameType]:
    """Walk from a generator to the innermost sub-protocol that it waits for."""
    while isinstance(generator, GeneratorType):
        if generator.gi_frame is not None:
            yield generator.gi_frame
        generator = generator.gi_yieldfrom
