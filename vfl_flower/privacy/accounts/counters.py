"""Durable counters: requests and rows a run, predictions a day."""

import time
from collections import Counter, deque
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from vfl_flower.privacy.accounts.journal import Journal, Record

DAY = 24 * 60 * 60
"""Seconds for which predicted rows count, and alignments."""

FILE = ".counters.jsonl"
"""Name of the file beside the accounts, which no data set can have."""


class Counters(Journal):
    """Counts of all runs at one node.

    Attributes
    ----------
    requests, rows : Counter
        By run.
    """

    requests: Counter[str]
    rows: Counter[str]
    _predicted: deque[tuple[int, int]]

    def clear(self) -> None:
        """Know of no request."""
        self.requests, self.rows, self._predicted = Counter(), Counter(), deque()

    def take(self, record: Record) -> None:
        """Add a request, or rows of an upload."""
        run, rows = record["run"], record.get("rows")
        if rows is None:
            self.requests[run] += 1
            return
        self.rows[run] += rows
        if record["predicts"]:
            self._predicted.append((record["at"], rows))

    def predicted(self) -> int:
        """Return the number of rows predicted in the last 24 hours."""
        since = time.time() - DAY
        while self._predicted and self._predicted[0][0] <= since:
            self._predicted.popleft()
        return sum(rows for _, rows in self._predicted)

    def request(self, run: str, most: int, *, durable: bool = True) -> bool:
        """Count a request of a run, unless there have been so many.

        The count of its upload, if there is one, makes it durable as well.
        """
        with self.opened():
            if self.requests[run] >= most:
                return False
            self.append({"run": run}, durable=durable)
        return True

    def upload(self, run: str, rows: int, most: Mapping[str, int | None], *, predicts: bool) -> str:
        """Count the rows of an upload of a run.

        Parameters
        ----------
        run : str
            Name of the run, and of the party in it.
        rows : int
            How many.
        most : mapping of str to int or None
            Limits by their rules: ``most-rows`` of the run, ``most-predictions-a-day`` of all runs.
        predicts : bool
            Whether they are predictions.

        Returns
        -------
        str
            The rule that forbids it; empty if it is counted, on disk, and may leave.
        """
        with self.opened():
            reached = {"most-rows": self.rows[run] + rows}
            reached["most-predictions-a-day"] = self.predicted() + rows
            for rule, limit in most.items():
                if limit is not None and reached[rule] > limit:
                    return rule
            self.append({"run": run, "rows": rows, "predicts": predicts, "at": int(time.time())})
        return ""


@cache
def counters_in(folder: Path) -> Counters:
    """Return a node's counters, of which each process holds one."""
    return Counters(folder / FILE)
