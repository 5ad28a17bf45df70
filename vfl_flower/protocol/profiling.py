"""Profile of a run: parties, their work, and its times.

Spans are of three kinds. An *exchange* lasts from a request to the last reply. A *phase* is all
work of a party on one request, or of the active party during, or between, exchanges. *Work* is
part of a phase, as forward passes, backward passes from a gradient that came, and masks, or stands
beside phases, as the wire codec. What is left of a phase is optimizers, losses, backward passes
from these, and checks; what is left of the exchanges is waiting for others.
"""

import json
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Literal, NamedTuple

Kind = Literal["exchange", "phase", "work"]

MOST = 200_000
"""Spans that are kept one by one, some 30 MB as JSON; later ones count in the totals only."""


class Span(NamedTuple):
    """Something that took time.

    Attributes
    ----------
    lane, kind, name : str
        Whose, of which kind, and what.
    begin, seconds : float
        Since the profile began, and how long.
    """

    lane: str
    kind: Kind
    name: str
    begin: float
    seconds: float


class Profile:
    """Spans of all parties in this process.

    Attributes
    ----------
    spans : list of Span
        The first `MOST`, in the order of their ends.
    """

    def __init__(self) -> None:
        self.began = time.perf_counter()
        self.spans: list[Span] = []
        self._seconds: dict[tuple[str, Kind, str], float] = defaultdict(float)

    def lane(self, name: str) -> "Lane":
        """Return the lane of a party."""
        return Lane(self, name)

    def add(self, lane: str, kind: Kind, name: str, begin: float, end: float) -> None:
        """Add a span between two readings of `time.perf_counter`."""
        self._seconds[lane, kind, name] += end - begin  # a lane's name is one thread's at a time
        if len(self.spans) < MOST:
            self.spans.append(Span(lane, kind, name, begin - self.began, end - begin))

    @contextmanager
    def span(self, lane: str, kind: Kind, name: str) -> Iterator[None]:
        """Add the span that is enclosed, also if it fails."""
        begin = time.perf_counter()
        try:
            yield
        finally:
            self.add(lane, kind, name, begin, time.perf_counter())

    def summary(self) -> dict[str, Any]:
        """Return seconds of exchanges, and of phases and work by party."""
        parties: dict[str, dict[str, dict[str, float]]] = {}
        exchanges = 0.0
        for (lane, kind, name), seconds in sorted(self._seconds.items()):
            if kind == "exchange":
                exchanges += seconds
            else:
                kinds = parties.setdefault(lane, {"phase": {}, "work": {}})
                kinds[kind][name] = round(seconds, 6)
        return {"exchanges": round(exchanges, 6), "parties": parties}

    def as_trace(self) -> bytes:
        """Return the spans as JSON in the Trace Event Format.

        Chrome and Perfetto show it. A party is a thread, the exchanges are one of their own; times
        are in microseconds.
        """
        lanes = dict.fromkeys("exchanges" if s.kind == "exchange" else s.lane for s in self.spans)
        numbers = {lane: number for number, lane in enumerate(sorted(lanes))}
        names = [
            {"ph": "M", "name": "thread_name", "pid": 0, "tid": number, "args": {"name": lane}}
            for lane, number in numbers.items()
        ]
        spans = [
            {
                "ph": "X",
                "name": each.name,
                "cat": each.kind,
                "pid": 0,
                "tid": numbers["exchanges" if each.kind == "exchange" else each.lane],
                "ts": round(1e6 * each.begin, 1),
                "dur": round(1e6 * each.seconds, 1),
            }
            for each in self.spans
        ]
        return json.dumps({"displayTimeUnit": "ms", "traceEvents": [*names, *spans]}).encode()


class Lane:
    """Profile of one party; without a profile, nothing is measured.

    Parameters
    ----------
    profile : Profile or None
        Of all parties in this process.
    name : str
        The party's.
    """

    def __init__(self, profile: Profile | None, name: str = "") -> None:
        self.profile, self.name = profile, name

    def of(self, name: str) -> "Lane":
        """Return the lane of another party in the same profile."""
        return Lane(self.profile, name)

    def during(self, name: str) -> AbstractContextManager[None]:
        """Measure a phase."""
        return self.profile.span(self.name, "phase", name) if self.profile else _NOTHING

    def doing(self, name: str) -> AbstractContextManager[None]:
        """Measure a part of a phase."""
        return self.profile.span(self.name, "work", name) if self.profile else _NOTHING

    def exchange(self, name: str, begin: float) -> None:
        """Note an exchange that began at `begin` and ends now."""
        if self.profile:
            self.profile.add(self.name, "exchange", name, begin, time.perf_counter())


_NOTHING = nullcontext()
SILENT = Lane(None)
"""Of a party whose run takes no profile."""
