"""How the columns of a data set are dealt out to the parties: the first share is the active's."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vfl_flower.data.correlation import correlated
from vfl_flower.data.datasets import Features
from vfl_flower.errors import DataError

Columns = NDArray[np.intp]
Mask = NDArray[np.bool_]
Share = tuple[slice, slice, slice] | Columns
"""What a party holds: a part (channels, rows, columns) of each image, or columns of a table."""

NOTHING: Columns = np.arange(0)
"""The share of a party without columns."""

TRIES = 1000
LARGEST = 1e6  # alpha; more is as even as can be, and soon too much for floats


def take(features: Features, share: Share) -> Features:
    """Return one share of all rows; a list of columns counts an image's pixels in reading order."""
    if isinstance(share, tuple):
        return features[:, *share]
    return features.reshape(len(features), -1)[:, share]


def union(shares: list[Share]) -> Share:
    """Return what all parties hold together; of parts of images, the whole image."""
    if isinstance(shares[-1], tuple):
        return slice(None), slice(None), slice(None)
    return np.unique(np.concatenate([share for share in shares if not isinstance(share, tuple)]))


def mask_of(share: Share, shape: tuple[int, ...]) -> Mask:
    """Mark what a share holds of one row of features, in the row's own shape."""
    held = np.zeros(shape, bool)
    if isinstance(share, tuple):
        held[share] = True
    else:
        held.reshape(-1)[share] = True
    return held


# Each deals (N, ...) features to so many parties, by the partition's argument and a seed ----------


def strips(features: Features, parties: int, axis: str, seed: int) -> list[Share]:
    """Cut images into upright (``columns``) or level (``rows``) strips, as even as possible.

    Raises
    ------
    DataError
        If the rows are no images, or have fewer pixels that way than there are parties.
    """
    height, width = _image("strips", features)
    total = width if axis == "columns" else height
    if total < parties:
        raise DataError(f"{total} pixel {axis} cannot be dealt to {parties} parties")
    sizes = [len(part) for part in np.array_split(np.arange(total), parties)]
    parts = _cut(np.cumsum(sizes).tolist())
    if axis == "columns":
        return [(slice(None), slice(None), part) for part in parts]
    return [(slice(None), part, slice(None)) for part in parts]


def grid(features: Features, parties: int, shape: tuple[int, int], seed: int) -> list[Share]:
    """Cut images into r x c tiles, in reading order; what does not divide goes to the last ones.

    Raises
    ------
    DataError
        If the rows are no images, the tiles are not one for each party, or are empty.
    """
    if shape[0] * shape[1] != parties:
        raise DataError(
            f"grid:{shape[0]}x{shape[1]} has {shape[0] * shape[1]} tiles, and there are {parties} "
            "parties; give each one tile"
        )
    cuts = []
    for total, pieces in zip(_image("grid", features), shape, strict=True):
        if total < pieces:
            raise DataError(f"{total} pixels cannot be cut into {pieces} tiles")
        size = total // pieces
        cuts.append(_cut([*range(size, size * pieces, size), total]))
    return [(slice(None), rows, columns) for rows in cuts[0] for columns in cuts[1]]


def grid_for(parties: int) -> str:
    """Return the grid of so many tiles that is nearest to a square, wide rather than high."""
    rows = next(r for r in range(int(parties**0.5), 0, -1) if parties % r == 0)
    return f"grid:{rows}x{parties // rows}"


def columns(features: Features, parties: int, argument: None, seed: int) -> list[Share]:
    """Deal out the columns of a table (or an image's pixels, in reading order) in equal runs.

    Raises
    ------
    DataError
        If there are fewer columns than parties.
    """
    return list(np.array_split(_enough(features, parties), parties))


def overlapping(features: Features, parties: int, size: int, seed: int) -> list[Share]:
    """Give each party `size` pixels (all channels) or columns in a row, so that windows overlap.

    The windows' starts are evenly spaced, from the first pixel to the last window's.

    Raises
    ------
    DataError
        If a window is larger than a row, or together they leave something out.
    """
    channels = features.shape[1] if features.ndim == 4 else 1
    pixels = features[0].size // channels
    if not pixels / parties <= size <= pixels:
        raise DataError(
            f"{parties} windows of {size} do not cover {pixels} pixels or columns; "
            f"take a size from {-(-pixels // parties)} to {pixels}"
        )
    starts = np.linspace(0, pixels - size, parties).round().astype(np.intp)
    planes = np.arange(channels)[:, None] * pixels
    return [(planes + np.arange(start, start + size)).ravel() for start in starts]


def listed(features: Features, parties: int, lists: list[Columns], seed: int) -> list[Share]:
    """Give each party the columns that are listed for it.

    Raises
    ------
    DataError
        If there is not one list for each party, or a column is not there.
    """
    if len(lists) != parties:
        raise DataError(f"listed names the columns of {len(lists)} parties, not {parties}")
    width = features[0].size
    for place, each in enumerate(lists):
        if each.max() >= width:
            raise DataError(f"list {place + 1} names column {each.max()}; the last is {width - 1}")
    return list(lists)


def importance(features: Features, parties: int, alpha: float, seed: int) -> list[Share]:
    """Deal each column at random, with party probabilities drawn from Dirichlet(alpha).

    VertiBench (Wu et al. 2024, arXiv:2307.02040): a small alpha makes few parties hold nearly all
    that matters, a large one makes them equal. A deal that leaves a party without columns is drawn
    again.

    Raises
    ------
    DataError
        If there are fewer columns than parties, or no deal gives everybody one.
    """
    every = _enough(features, parties)
    random = np.random.default_rng([seed, parties])
    for _ in range(TRIES):
        owners = random.choice(parties, len(every), p=random.dirichlet([alpha] * parties))
        if len(np.unique(owners)) == parties:
            return [every[owners == place] for place in range(parties)]
    raise DataError(f"importance:{alpha:g} leaves a party without columns; take a larger alpha")


def correlation(features: Features, parties: int, beta: float, seed: int) -> list[Share]:
    """Deal out equal numbers of columns by how much they are correlated; see `correlated`.

    Raises
    ------
    DataError
        If there are fewer than two columns for each party, or one party.
    """
    if parties < 2:
        raise DataError("correlation deals columns to two parties or more, not one")
    width = len(_enough(features, parties))
    if width < 2 * parties:
        raise DataError(f"correlation needs two columns for each of {parties} parties, not {width}")
    return list(correlated(features.reshape(-1, width), parties, beta, seed))


def _enough(features: Features, least: int) -> Columns:
    width = features[0].size
    if width < least:
        raise DataError(f"{width} columns cannot be dealt to {least} parties")
    return np.arange(width)


def _cut(ends: list[int]) -> list[slice]:
    return [slice(start, end) for start, end in pairwise([0, *ends])]


def _image(name: str, features: Features) -> tuple[int, int]:
    """Return height and width."""
    if features.ndim != 4:
        raise DataError(f"partition {name} cuts images; use columns for a table")
    return features.shape[2], features.shape[3]


# What stands behind the colon ---------------------------------------------------------------------


def _axis(text: str) -> str:
    if text not in ("", "columns", "rows"):
        raise ValueError(text)
    return text or "columns"


def _shape(text: str) -> tuple[int, int]:
    rows, columns = re.fullmatch(r"([1-9]\d{0,3})x([1-9]\d{0,3})", text).groups()  # type: ignore[union-attr]
    return int(rows), int(columns)


def _nothing(text: str) -> None:
    if text:
        raise ValueError(text)


def _lists(text: str) -> list[Columns]:
    """Read ``0-3,7;4-6``: a list for each party, of columns and ranges, from 0."""
    return [np.array(_numbers(party)) for party in text.split(";")]


def _numbers(text: str) -> list[int]:
    """Read ``0-3,7``: numbers and ranges, each number once."""
    numbers: list[int] = []
    for entry in text.split(","):
        first, last = re.fullmatch(r"\s*(\d{1,7})(?:-(\d{1,7}))?\s*", entry).groups()  # type: ignore[union-attr]
        numbers += range(int(first), int(last or first) + 1)
    if len(set(numbers)) < len(numbers) or not numbers:
        raise ValueError(text)
    return numbers


def _positive(text: str) -> float:
    if not 0 < float(text) <= LARGEST:
        raise ValueError(text)
    return float(text)


def _share(text: str) -> float:
    if not 0 <= float(text) <= 1:
        raise ValueError(text)
    return float(text)


def _count(text: str) -> int:
    return int(re.fullmatch(r"[1-9]\d{0,8}", text)[0])  # type: ignore[index]


@dataclass(frozen=True)
class Partition:
    """One way to deal columns out.

    Attributes
    ----------
    deal : callable
        From (features, parties, argument, seed) to a share for each party.
    read : callable
        From the text behind the colon to the argument; raises if it is none.
    form : str
        How it is written.
    images : bool
        Whether shares of images are images.
    """

    deal: Callable[[Features, int, Any, int], list[Share]]
    read: Callable[[str], Any]
    form: str
    images: bool = False


PARTITIONS = {
    "strips": Partition(strips, _axis, "strips, strips:columns or strips:rows", images=True),
    "grid": Partition(grid, _shape, "grid:2x2, rows of tiles by columns", images=True),
    "columns": Partition(columns, _nothing, "columns"),
    "overlapping": Partition(overlapping, _count, "overlapping:14, pixels or columns a party"),
    "listed": Partition(listed, _lists, "listed:0-3,7;4-6;8, a list for each party, each once"),
    "importance": Partition(
        importance, _positive, f"importance:1.0, a Dirichlet alpha above 0 and up to {LARGEST:g}"
    ),
    "correlation": Partition(correlation, _share, "correlation:0.5, between 0 and 1"),
}


@dataclass(frozen=True)
class Deal:
    """How a run deals columns out.

    Attributes
    ----------
    name : str
        A key of `PARTITIONS`.
    argument : Any
        What stands behind its colon, read.
    kept : tuple of int
        Numbers, from 0, of the shares that parties get; empty: all.
    total : int
        How many shares are made if not all are kept.
    """

    name: str
    argument: Any
    kept: tuple[int, ...] = ()
    total: int = 0

    @classmethod
    def read(cls, text: str) -> "Deal":
        """Read a partition, as in ``strips:rows`` or ``strips:rows@0,3-5/14``.

        Raises
        ------
        KeyError
            If there is none of that name.
        ValueError
            Says what it must be, if it is not written so.
        """
        made, marked, kept = text.partition("@")
        name, _, argument = made.partition(":")
        entry = PARTITIONS[name]
        try:
            return cls(name, entry.read(argument), *(_kept(kept) if marked else ()))
        except (ValueError, AttributeError, TypeError) as error:
            raise ValueError(entry.form + KEPT * bool(marked)) from error

    def shares(self, features: Features, parties: int, seed: int) -> list[Share]:
        """Deal (N, ...) features out to so many parties.

        Raises
        ------
        DataError
            If they cannot be dealt out so.
        """
        made = PARTITIONS[self.name].deal(features, self.total or parties, self.argument, seed)
        return [made[number] for number in self.kept] if self.kept else made


KEPT = "; then perhaps @0,3-5/14, to keep shares 0 and 3 to 5 of 14"


def _kept(text: str) -> tuple[tuple[int, ...], int]:
    """Read ``0,3-5/14``: numbers of shares, and how many there are."""
    listed, _, last = text.partition("/")
    numbers, total = tuple(_numbers(listed)), _count(last)
    if max(numbers) >= total:
        raise ValueError(text)
    return numbers, total
