"""Kinds of work that contenders do, and their tables."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.peers.prepare import prepare
from benchmarks.peers.prepare_trees import prepare_trees
from benchmarks.peers.prepare_weights import prepare_weights


@dataclass(frozen=True)
class Kind:
    """A kind of work.

    Parameters
    ----------
    title : str
        Of the table.
    each, option : str
        Column and option, of a run and of the command unless the peer fixes it, of which each value
        is a work of its own.
    columns : mapping of str to str
        Formats by the names of the table's last columns: time, ratio, bytes, memory, score.
    units : tuple of float
        Milliseconds, bytes and score of the table's time, bytes and score.
    prepare : callable
        Writes a work: folder, options, steps that are not timed.
    ours : str
        Program in `benchmarks.peers.inside` that does it by this project.
    """

    title: str
    each: str
    option: str
    columns: Mapping[str, str]
    units: tuple[float, float, float]
    prepare: Callable[[Path, Mapping[str, Any], int], None]
    ours: str


Column = tuple[str, str]
"""Name and format."""


def _columns(time: Column, size: Column, score: Column) -> dict[str, str]:
    """Return the last columns of a table."""
    return dict((time, ("times ours", ".1f"), size, ("peak MiB", ".0f"), score))


SPLIT_LEARNING = Kind(
    title="split learning of the same networks, in turn",
    each="networks",
    option="models",
    columns=_columns(("ms a step", ".2f"), ("kB a step", ".1f"), ("test accuracy, %", ".2f")),
    units=(1, 1e3, 0.01),
    prepare=prepare,
    ours="ours",
)

TREES = Kind(
    title="boosted trees of the same columns, in turn",
    each="data",
    option="dataset",
    columns=_columns(("s a tree", ".2f"), ("MB a tree", ".3f"), ("test ROC-AUC", ".4f")),
    units=(1e3, 1e6, 1),
    prepare=prepare_trees,
    ours="our_trees",
)

ROUNDS = Kind(
    title="rounds of the papers' methods by their authors' programs, in turn",
    each="method",
    option="method",
    columns=_columns(("ms a round", ".1f"), ("kB a round", ".1f"), ("test accuracy, %", ".2f")),
    units=(1, 1e3, 0.01),
    prepare=prepare_weights,
    ours="ours",
)
