"""Steps, evaluations and uploads of a training plan."""

import math
from collections import Counter
from collections.abc import Mapping
from functools import cache

from vfl_flower.common.codec import Array
from vfl_flower.config.run_config import RunConfig
from vfl_flower.learning.batching import asked


def steps_per_epoch(cfg: RunConfig, train_rows: int) -> int:
    """Return the steps of an epoch; the last may be smaller."""
    return math.ceil(train_rows / max(cfg.rows_of_step(train_rows), 1))


def chunks(cfg: RunConfig, rows: Array) -> int:
    """Return how many exchanges it takes to infer some rows."""
    return math.ceil(len(rows) / cfg.eval_batch_size)


def evaluates(cfg: RunConfig, step: int, per_epoch: int) -> bool:
    """Tell whether validation follows a step, counted from 1."""
    return step % (cfg.eval_every or per_epoch) == 0 or step % per_epoch == 0


def planned_uploads(cfg: RunConfig, rows: Mapping[str, Array]) -> Counter[str]:
    """Count the busiest party's uploads in a whole run, without repeats.

    Parameters
    ----------
    cfg : RunConfig
        Of a method with one upload for each batch, or feature maps of all rows.
    rows : mapping
        The parts of the rows by name; see `rows_of`.

    Returns
    -------
    Counter
        Uploads in ``training`` and in ``evaluation``.
    """
    if views := cfg.options.uploads_before_training:
        held_out = chunks(cfg, rows["validation"]) + chunks(cfg, rows["test"])
        return Counter(training=views * chunks(cfg, rows["train"]), evaluation=held_out)
    if cfg.options.uploads_once and cfg.task == "train":  # of held-out rows once, too
        parts = ("validation", "test") if cfg.epochs else ("test",)
        return Counter(training=1, evaluation=sum(chunks(cfg, rows[part]) for part in parts))
    if not cfg.epochs:  # be it that nothing is trained, or that rows are only to be predicted
        return Counter(training=0, evaluation=chunks(cfg, rows["test"]))
    per_epoch = steps_per_epoch(cfg, len(rows["train"]))
    evaluations = planned_evaluations(cfg, rows)
    in_chunks = evaluations * chunks(cfg, rows["validation"]) + chunks(cfg, rows["test"])
    return Counter(training=_busiest(cfg, cfg.epochs * per_epoch), evaluation=in_chunks)


def planned_evaluations(cfg: RunConfig, rows: Mapping[str, Array]) -> int:
    """Count the evaluations of validation rows in a whole run."""
    per_epoch = steps_per_epoch(cfg, len(rows["train"]))
    steps, every = cfg.epochs * per_epoch, cfg.eval_every or per_epoch
    return cfg.epochs + steps // every - steps // math.lcm(per_epoch, every)


def last_mark(cfg: RunConfig, rows: Mapping[str, Array]) -> int:
    """Return the largest number that may name a checkpoint of a run.

    That is all its steps, and epochs and uploads before them.
    """
    steps = cfg.epochs * steps_per_epoch(cfg, len(rows["train"]))
    options = cfg.options
    uploads = planned_uploads(cfg, rows).total() if options.uploads_before_training else 0
    return steps + options.epochs_before_training + uploads


@cache
def _busiest(cfg: RunConfig, steps: int) -> int:
    """Count the first steps that ask the busiest party."""
    times = Counter(k for step in range(steps) for k in asked(cfg, step))
    return max(times.values(), default=0)


def due(cfg: RunConfig, rows: Mapping[str, Array]) -> Counter[str]:
    """Count uploads of another step and of evaluations after it.

    Parameters
    ----------
    cfg : RunConfig
        As for `planned_uploads`.
    rows : mapping
        The parts of the rows by name; see `rows_of`.

    Returns
    -------
    Counter
        Uploads in ``training``, of the step, and in ``evaluation``, of the validation rows, by
        which the step's weights are judged, and of the test rows.
    """
    if not cfg.options.uploads_in_steps:  # all of them before the first step
        return planned_uploads(cfg, rows)
    held_out = chunks(cfg, rows["validation"]) + chunks(cfg, rows["test"])
    return Counter(training=1, evaluation=held_out)
