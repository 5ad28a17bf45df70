"""Privacy account of one data set: mechanism events of all runs, composed.

An account holds, run by run, how many uploads left with which noise. Uploads with one noise are a
block; a block's uploads are appended one by one. Epsilon is that of all of them together, by the
accountant that composes different noise multipliers: epsilons of single runs would not add up to
it. A run without noise is noted once, and makes epsilon infinite. So does a run of the other
adjacency than the account's, which is that of the last run's limits: neither epsilon says anything
of the other's unit. Of runs that protect single rows the account adds up, run by run, the
mechanisms of the row that entered most.
"""

import math
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from vfl_flower.privacy.accounts.journal import Journal, Record
from vfl_flower.privacy.client_dp.accounting import epsilon_of_weight, most_weight, weight_of

PARTY = "party"
"""Adjacency of a party's whole data."""


@dataclass
class Block:
    """Uploads of one run with one noise.

    Attributes
    ----------
    run : str
        Name of the run, and of the party in it.
    sigma : float
        The noise multiplier; 0 is no noise.
    clip : float
        Norm that each upload, or each of its rows, was clipped to; 0 without noise.
    begun, last : int
        When the first and the last upload left, in seconds since 1970.
    uploads : int
        How many there were; without noise, at least so many. Of adjacency row, the noised
        mechanisms of the row that entered most.
    tables : list of str
        Digests of the run's table, in order of time.
    adjacency : {"party", "row"}
        What its noise protects.
    """

    run: str
    sigma: float
    clip: float
    begun: int
    last: int = 0
    uploads: int = 0
    tables: list[str] = field(default_factory=list)
    adjacency: str = PARTY


@dataclass(frozen=True)
class Limit:
    """Largest epsilon of a data set over all runs."""

    epsilon: float
    delta: float
    accountant: str = "rdp"

    def left(self, weight: float, sigma: float) -> int:
        """Return how many uploads with one noise are left after others."""
        most = most_weight(self.epsilon, self.delta, self.accountant)
        return max(math.floor((most - weight) * sigma**2), 0) if math.isfinite(weight) else 0

    def allows(self, weight: float) -> bool:
        """Tell whether uploads of that weight are within the limit."""
        return weight <= most_weight(self.epsilon, self.delta, self.accountant)


class Account(Journal):
    """Mechanism events of one data set.

    Attributes
    ----------
    blocks : list of Block
        In the order of their beginning.
    limit : Limit or None
        The one that the last run was held to; None if there was none.
    adjacency : {"party", "row"}
        That of the data set's limits, as the last run had them.
    """

    blocks: list[Block]
    limit: Limit | None
    adjacency: str
    _numbers: dict[tuple[str, float, float, str], int]
    _noised: Counter[float]
    _tables: dict[str, list[str]]

    def clear(self) -> None:
        """Know of no run."""
        self.blocks, self.limit, self._noised = [], None, Counter()
        self.adjacency = PARTY
        self._numbers, self._tables = {}, {}

    def take(self, record: Record) -> None:
        """Add a run's table and limit, a block, or uploads of one."""
        if "table" in record:
            limit = record["limit"]
            self.limit = limit and Limit(*limit)
            self.adjacency = record.get("adjacency", PARTY)
            self._tables.setdefault(record["run"], []).append(record["table"])
        elif "run" in record:
            run, sigma, clip = record["run"], float(record["sigma"]), float(record["clip"])
            adjacency = record.get("adjacency", PARTY)
            self._numbers[run, sigma, clip, adjacency] = len(self.blocks)
            tables = self._tables.setdefault(run, [])
            block = Block(run, sigma, clip, record["at"], tables=tables, adjacency=adjacency)
            self.blocks.append(block)
        else:
            block, more = self.blocks[record["block"]], record["uploads"]
            block.uploads, block.last = block.uploads + more, record["at"]
            if block.sigma:
                self._noised[block.sigma] += more

    @property
    def weight(self) -> float:
        """Weight of all uploads; infinite without noise for the adjacency."""
        clear = any(not each.sigma or each.adjacency != self.adjacency for each in self.blocks)
        return math.inf if clear else weight_of(self._noised)

    def epsilon(self, delta: float, accountant: str = "rdp") -> float:
        """Return the epsilon of all uploads together."""
        weight = self.weight
        return epsilon_of_weight(weight, delta, accountant) if math.isfinite(weight) else math.inf

    def uploads(self, run: str) -> int:
        """Return how many noised uploads of a run are known."""
        return sum(block.uploads for block in self.blocks if block.sigma and block.run == run)

    def told(self, run: str, table: str, limit: Limit | None, adjacency: str = PARTY) -> None:
        """Note a run's table, limit and adjacency, unless as before."""
        known = self._tables.get(run, [])
        if known[-1:] == [table] and (limit, adjacency) == (self.limit, self.adjacency):
            return
        values = limit and [limit.epsilon, limit.delta, limit.accountant]
        told = {"run": run, "table": table, "limit": values, "at": _now()}
        self.append(told | _unless_usual(adjacency))

    def add(
        self,
        run: str,
        sigma: float,
        clip: float,
        more: int,
        allowed: Callable[[float], bool],
        adjacency: str = PARTY,
    ) -> bool:
        """Note uploads of a run before they leave, if allowed.

        Parameters
        ----------
        run : str
            Name of the run, and of the party in it.
        sigma, clip : float
            Of the uploads; both 0 if they are not noised.
        more : int
            How many, at least 1.
        allowed : callable
            Whether a weight of all uploads may be reached.
        adjacency : {"party", "row"}
            What the noise protects.

        Returns
        -------
        bool
            Whether they are noted, on disk, and may leave. The account must be `opened`.
        """
        number = self._numbers.get((run, sigma, clip, adjacency))
        known = number is not None and self.blocks[number].uploads > 0
        counts = sigma and adjacency == self.adjacency
        if not allowed(self.weight + (more / sigma**2 if counts else math.inf)):
            return False
        if not sigma and known:  # one makes epsilon infinite, and more change nothing
            return True
        if number is None:
            number = len(self.blocks)
            begun = {"run": run, "sigma": sigma, "clip": clip, "at": _now()}
            self.append(begun | _unless_usual(adjacency))
        self.append({"block": number, "uploads": more, "at": _now()})
        return True


def _unless_usual(adjacency: str) -> dict[str, str]:
    """Return an adjacency for a record, unless it is the usual one."""
    return {} if adjacency == PARTY else {"adjacency": adjacency}


def _now() -> int:
    return int(time.time())


@cache
def account_in(folder: Path, name: str) -> Account:
    """Return a data set's account, of which each process holds one."""
    return Account(path_of(folder, name))


def path_of(folder: Path, name: str) -> Path:
    """Return the path of a data set's account."""
    return folder / f"{name}.jsonl"
