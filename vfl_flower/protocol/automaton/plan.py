"""Public plan of a run's rows: batches and parts."""

from collections.abc import Mapping
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from vfl_flower.common.codec import Array
from vfl_flower.config.run_config import RunConfig
from vfl_flower.learning.batching import asked, batches_of
from vfl_flower.learning.schedule import steps_per_epoch


class Plan:
    """Rows that a run's requests may name, as every party computes them.

    Parameters
    ----------
    cfg : RunConfig
        Its seed, batch sizes and epochs.
    rank : int
        Rank of the party.
    rows : mapping
        The parts of the rows by name; see `rows_of`.
    total : int
        Number of all rows.

    Attributes
    ----------
    any_row : bool
        Whether predictions may ask for every row, and not for held-out ones alone.
    """

    def __init__(self, cfg: RunConfig, rank: int, rows: Mapping[str, Array], total: int) -> None:
        self.cfg, self.rank, self.rows, self.total = cfg, rank, rows, total
        self.any_row = cfg.predicts
        self.per_epoch = steps_per_epoch(cfg, len(rows["train"]))
        self.steps, self.everybody = cfg.epochs * self.per_epoch, cfg.asks_all
        self._epoch, self._batches = -1, list[Array]()

    @property
    def whole(self) -> bool:
        """Whether the plan is public: all training rows are used."""
        return self.cfg.long_tail == 1

    def turn(self, step: int) -> int:
        """Return the first step from `step` on that asks this party."""
        while not self.everybody and self.rank not in asked(self.cfg, step):
            step += 1
        return step

    def batch(self, step: int) -> Array:
        """Return the rows of a step."""
        epoch, position = divmod(step, self.per_epoch)
        if epoch != self._epoch:
            self._batches = batches_of(self.cfg, epoch, self.rows["train"])
            self._epoch = epoch
        return self._batches[position]

    def batch_fault(self, rows: Array, step: int) -> str:
        """Return the fault of the next batch, if any."""
        step = self.turn(step)
        if step >= self.steps:
            return f"asks for another step, and the run has {self.steps}"
        if not self.whole:
            most = self.cfg.rows_of_step(len(self.rows["train"]))
            return self._fault(rows, self._in("train"), most, "training rows")
        same = rows.tobytes() == self.batch(step).tobytes()  # int32, either
        return "" if same else f"names rows that are not those of step {step + 1} in the run's plan"

    def part_fault(self, rows: Array, part: str) -> str:
        """Return the fault of a whole part, if any."""
        if part == "train" and not self.whole:
            return self._fault(rows, self._in(part), self.total, "training rows")
        same = np.array_equal(rows, self.rows[part])
        return "" if same else f"names rows that are not the {part} rows of the run's split"

    def chunk_fault(self, rows: Array) -> str:
        """Return the fault of one message of training rows, if any."""
        size = self.cfg.eval_batch_size
        if not self.whole:
            return self._fault(rows, self._in("train"), size, "training rows")
        starts = np.flatnonzero(self.rows["train"][::size] == rows[:1]) if len(rows) else ()
        for start in starts:
            if np.array_equal(rows, self.rows["train"][start * size : (start + 1) * size]):
                return ""
        return "names rows that are not those of a message in the run's plan"

    def held_out_fault(self, rows: Array) -> str:
        """Return the fault of rows to be evaluated or predicted, if any."""
        size = self.cfg.eval_batch_size
        return self._fault(rows, self._predictable, size, "held-out rows")

    @cached_property
    def _predictable(self) -> NDArray[np.bool_]:
        return np.ones(self.total, bool) if self.any_row else self._in("validation", "test")

    def _in(self, *parts: str) -> NDArray[np.bool_]:
        """Mark the rows of some parts."""
        marked = np.zeros(self.total, bool)
        for part in parts:
            marked[self.rows[part]] = True
        return marked

    def _fault(self, rows: Array, allowed: NDArray[np.bool_], most: int, name: str) -> str:
        """Return the fault of distinct rows among some, if any."""
        if not 0 < len(rows) <= most:
            return f"names {len(rows)} rows, where 1 to {most} may be asked for"
        if rows.min() < 0 or rows.max() >= self.total:
            return "names a row that does not exist"
        named = np.zeros(self.total, bool)
        named[rows] = True
        if np.count_nonzero(named) < len(rows):
            return "names a row twice"
        return "" if allowed[rows].all() else f"names others than {name}"
