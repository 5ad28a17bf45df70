"""Parsed `partition` option: scheme, argument, kept shares."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

_LARGEST_ALPHA = 1e6  # a split is as even as can be there; more is soon too much for floats
KEPT = "; then perhaps @0,3-5/14, to keep shares 0 and 3 to 5 of 14"


@dataclass(frozen=True)
class Scheme:
    """A partition scheme as it is written.

    Attributes
    ----------
    split : str
        ``module:function``, from (features, parties, argument, seed) to a share for each party.
    read : callable
        From the text behind the colon to the argument; raises if it cannot be read.
    form : str
        How it is written, for messages.
    images : bool
        Whether shares of images are images.
    """

    split: str
    read: Callable[[str], Any]
    form: str
    images: bool = False


@dataclass(frozen=True)
class PartitionSpec:
    """How a run splits columns over the parties.

    Attributes
    ----------
    name : str
        A key of `SCHEMES`.
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
    def read(cls, text: str) -> "PartitionSpec":
        """Read a partition, as in ``strips:rows`` or ``strips:rows@0,3-5/14``.

        Raises
        ------
        KeyError
            If there is no scheme of that name.
        ValueError
            Says what it must be, if it is not written so.
        """
        made, marked, kept = text.partition("@")
        name, _, argument = made.partition(":")
        scheme = SCHEMES[name]
        try:
            return cls(name, scheme.read(argument), *(_kept(kept) if marked else ()))
        except (ValueError, AttributeError, TypeError) as error:
            raise ValueError(scheme.form + KEPT * bool(marked)) from error

    @property
    def images(self) -> bool:
        """Whether shares of images are images."""
        return SCHEMES[self.name].images


def form_hint(text: str) -> str:
    """Show the form of the scheme that a wrong text begins with."""
    return next((f"; write {s.form}" for name, s in SCHEMES.items() if text.startswith(name)), "")


def grid_for(parties: int) -> str:
    """Return the most nearly square grid of a number of tiles.

    It is wide rather than high.
    """
    rows = next(r for r in range(int(parties**0.5), 0, -1) if parties % r == 0)
    return f"grid:{rows}x{parties // rows}"


def _kept(text: str) -> tuple[tuple[int, ...], int]:
    """Read ``0,3-5/14``: numbers of shares, and how many there are."""
    listed, _, last = text.partition("/")
    numbers, total = tuple(_numbers(listed)), _count(last)
    if max(numbers) >= total:
        raise ValueError(text)
    return numbers, total


def _numbers(text: str) -> list[int]:
    """Read ``0-3,7``: numbers and ranges, each number once."""
    numbers: list[int] = []
    for entry in text.split(","):
        first, last = re.fullmatch(r"\s*(\d{1,7})(?:-(\d{1,7}))?\s*", entry).groups()  # type: ignore[union-attr]
        numbers += range(int(first), int(last or first) + 1)
    if len(set(numbers)) < len(numbers) or not numbers:
        raise ValueError(text)
    return numbers


def _count(text: str) -> int:
    return int(re.fullmatch(r"[1-9]\d{0,8}", text)[0])  # type: ignore[index]


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


def _lists(text: str) -> list[list[int]]:
    """Read each party's columns and ranges, such as ``0-3,7;4-6``.

    Columns count from 0.
    """
    return [_numbers(party) for party in text.split(";")]


def _positive(text: str) -> float:
    if not 0 < float(text) <= _LARGEST_ALPHA:
        raise ValueError(text)
    return float(text)


def _share(text: str) -> float:
    if not 0 <= float(text) <= 1:
        raise ValueError(text)
    return float(text)


IMAGES, _TABULAR = "vfl_flower.data.partition.images", "vfl_flower.data.partition.tabular"
SCHEMES = {
    "strips": Scheme(
        f"{IMAGES}:strips", _axis, "strips, strips:columns or strips:rows", images=True
    ),
    "grid": Scheme(f"{IMAGES}:grid", _shape, "grid:2x2, rows of tiles by columns", images=True),
    "columns": Scheme(f"{_TABULAR}:columns", _nothing, "columns"),
    "overlapping": Scheme(
        f"{_TABULAR}:overlapping", _count, "overlapping:14, pixels or columns a party"
    ),
    "listed": Scheme(
        f"{_TABULAR}:listed",
        _lists,
        "listed:0-3,7;4-6;8, each party's columns, with semicolons between parties, each once",
    ),
    "importance": Scheme(
        f"{_TABULAR}:importance",
        _positive,
        f"importance:1.0, a Dirichlet alpha above 0 and up to {_LARGEST_ALPHA:g}",
    ),
    "correlation": Scheme(f"{_TABULAR}:correlation", _share, "correlation:0.5, between 0 and 1"),
}
"""Partition schemes by name. One line here makes a scheme known everywhere."""
