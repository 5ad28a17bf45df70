"""Threads of parties, and when to do without."""

from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue
from statistics import median
from threading import Thread
from typing import Any

Job = Callable[[], Any]
End = tuple[Any, BaseException | None]

TRIALS, PERIOD = 5, 500  # exchanges of a phase: tried in either way, and until the next trial
SHORT = 0.015  # seconds of an exchange for each party that are worth a trial


class Worker:
    """Runs jobs in a thread of its own; `submit` and `result` alternate.

    An exchange of small arrays takes a fraction of a millisecond, and an executor's futures would
    be most of it.
    """

    def __init__(self) -> None:
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._done: SimpleQueue[End] = SimpleQueue()
        self._ended: End | None = None
        self._started = False

    def submit(self, job: Job, here: bool = False) -> None:
        """Start a job, or do it in the calling thread."""
        if here:
            self._ended = _end_of(job)
            return
        if not self._started:
            Thread(target=self._work, daemon=True).start()
            self._started = True
        self._jobs.put(job)

    def wait(self, timeout: float) -> bool:
        """Wait at most `timeout` seconds; tell whether the job has ended."""
        if self._ended is None:
            with suppress(Empty):
                self._ended = self._done.get(timeout=max(timeout, 0))
        return self._ended is not None

    def result(self) -> Any:  # noqa: ANN401
        """Wait for the job's value, or raise its exception."""
        value, error = self._ended or self._done.get()
        self._ended = None
        if error is not None:
            raise error
        return value

    def close(self) -> None:
        """End the thread, if there is one, once its job is done."""
        if self._started:
            self._jobs.put(None)
            self._started = False

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            self._done.put(_end_of(job))
            del job  # an idle thread keeps nothing alive


def _end_of(job: Job) -> End:
    """Do a job."""
    try:
        return job(), None
    except BaseException as error:  # whoever waits must hear of it, whatever it is
        return None, error


class Concurrency:
    """Lets the parties of an exchange work side by side, always."""

    def in_turn(self, phase: str) -> bool:
        """Tell whether a phase's next exchange is done in one thread."""
        return False

    def note(self, phase: str, in_turn: bool, seconds: float) -> None:
        """Note how long an exchange took."""


class InTurn(Concurrency):
    """Lets one thread do everything, always."""

    def in_turn(self, phase: str) -> bool:
        """Tell whether a phase's next exchange is done in one thread."""
        return True


class Adaptive(Concurrency):
    """Lets parties work side by side or in turn, as is faster.

    Where networks are small, Python is most of a party's work, and threads that wait for its
    interpreter's lock take up to twice as long as one thread that does everything. Each phase is
    tried in both ways, and again after `PERIOD` exchanges, for the load of a machine changes. What
    was chosen stays until then: times side by side vary, and the slowest of them would undo it.
    Bits do not depend on it. An exchange of many parties is long, though each party's work may be
    short.

    Parameters
    ----------
    parties : int
        Number of parties that work in an exchange.
    """

    def __init__(self, parties: int) -> None:
        self._trials: defaultdict[str, _Trial] = defaultdict(partial(_Trial, SHORT * parties))

    def in_turn(self, phase: str) -> bool:
        """Tell whether a phase's next exchange is done in one thread."""
        return self._trials[phase].choose()

    def note(self, phase: str, in_turn: bool, seconds: float) -> None:
        """Note how long an exchange took."""
        self._trials[phase].seconds[in_turn].append(seconds)


class _Trial:
    """Times of a phase's exchanges in both ways, and the choice.

    Exchanges of less than `short` seconds are tried.
    """

    def __init__(self, short: float) -> None:
        self.exchanges, self.chosen, self.short = 0, False, short
        self.seconds = {way: list[float]() for way in (False, True)}

    def choose(self) -> bool:
        place = self.exchanges % PERIOD
        self.exchanges += 1
        if place == 0:
            self.seconds = {way: [] for way in self.seconds}
        beside, in_turn = self.seconds[False], self.seconds[True]
        if place < 2 * TRIALS:
            return place % 2 == 1 and min(beside) < self.short
        if place == 2 * TRIALS:
            self.chosen = len(in_turn) == TRIALS and median(in_turn) < median(beside)
        return self.chosen
