"""Cells from other cells."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from benchmarks.reproducing.paper import Cell


def uncounted(cells: Iterable[Cell]) -> list[Cell]:
    """Return cells that no summary counts."""
    return [replace(each, counted=False) for each in cells]


def variants(cells: Iterable[Cell], end: str, experiments: Collection[str]) -> list[Cell]:
    """Return cells again, of experiments whose names have a further end.

    Parameters
    ----------
    cells : iterable of Cell
        Those of the paper's settings.
    end : str
        What their rows end in, too, such as ", 60 epochs".
    experiments : collection of str
        All names; cells whose experiment is not among them have no variant.
    """
    return uncounted(
        replace(each, row=f"{each.row}{end}", experiment=f"{each.experiment}{end}", why="")
        for each in cells
        if each.experiment and f"{each.experiment}{end}" in experiments
    )


def with_spreads(cells: Sequence[Cell], named: Sequence[Cell]) -> list[Cell]:
    """Return cells with the deviations that others have for the same claims.

    Parameters
    ----------
    cells : sequence of Cell
        Those of a table that repeats another one's numbers.
    named : sequence of Cell
        Those of the other table.
    """
    known = {(each.experiment, each.reading, each.claim): each.spread for each in named}
    found = [known.get((each.experiment, each.reading, each.claim)) for each in cells]
    return [
        replace(each, spread=spread) if each.experiment and each.spread is None else each
        for each, spread in zip(cells, found, strict=True)
    ]
