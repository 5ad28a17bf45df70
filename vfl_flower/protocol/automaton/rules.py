"""Rules of the arrays that a phase declares: layout, values, text."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from vfl_flower.common.codec import Array
from vfl_flower.protocol.automaton.scope import Scope, Size

Part = Literal["batch", "train", "validation", "held-out", "chunk"]

_PARTS = {
    "batch": ("B", "rows of the step"),
    "train": ("N", "all training rows"),
    "validation": ("V", "all validation rows"),
    "held-out": ("B", "held-out rows, or rows to predict"),
    "chunk": ("B", "training rows of one message"),
}
"""Symbol and meaning of each sort of rows."""


_KINDS: dict[Any, np.dtype[Any]] = {
    getattr(torch, name): np.dtype(name)
    for name in ("float16", "float32", "float64", "int32", "int64", "uint8", "int8", "bool")
}
"""NumPy's dtypes of torch's."""


@dataclass(frozen=True)
class Layout:
    """Dtype and shape of one array, with symbols.

    Attributes
    ----------
    dtype : str
        NumPy's name.
    shape : tuple of int or str
        Lengths.
    """

    dtype: str
    shape: tuple[Size, ...]

    @cached_property
    def kind(self) -> np.dtype[Any]:
        """NumPy's dtype."""
        return np.dtype(self.dtype)

    def fault(self, value: Array | Tensor, sizes: dict[str, int]) -> str:
        """Return the misfit of an array, if any; bind free symbols."""
        shape, kind = value.shape, _KINDS.get(value.dtype, value.dtype)
        fits = kind == self.kind and len(shape) == len(self.shape)
        for size, found in zip(self.shape, shape, strict=False):
            expected = size if isinstance(size, int) else sizes.setdefault(size, found)
            fits = fits and expected == found
        return "" if fits else f"is {kind}{tuple(shape)}, not {self.shown(sizes)}"

    def shown(self, sizes: dict[str, int] | None = None) -> str:
        """Return dtype and shape as text, with numbers for known symbols."""
        known = sizes or {}
        lengths = [str(known.get(s, s) if isinstance(s, str) else s) for s in self.shape]
        return f"{self.dtype}({', '.join(lengths)}{',' if len(lengths) == 1 else ''})"


class Declared(ABC):
    """Declaration of one array, or of several in a row."""

    @abstractmethod
    def layouts(self, party: Scope, sizes: dict[str, int]) -> list[Layout]:
        """Return the layout of each of its arrays."""

    @abstractmethod
    def text(self) -> str:
        """Describe it for a person: shape, dtype, meaning."""

    def fault(self, array: Array, party: Scope, step: int) -> str:
        """Return the fault of an array's values at a step, if any."""
        return _not_finite(array)


@dataclass(frozen=True)
class Rows(Declared):
    """Row numbers."""

    part: Part

    @property
    def size(self) -> str:
        """Symbol of their number."""
        return _PARTS[self.part][0]

    def layouts(self, party: Scope, sizes: dict[str, int]) -> list[Layout]:
        """See `Declared`."""
        return self._layouts

    @cached_property
    def _layouts(self) -> list[Layout]:
        return [Layout("int32", (self.size,))]

    def text(self) -> str:
        """See `Declared`."""
        return f"{_PARTS[self.part][1]} ({self.size},) int32"

    def fault(self, array: Array, party: Scope, step: int) -> str:
        """See `Declared`."""
        if party.plan is None:
            return "names rows of a party that has none"
        if self.part == "batch":
            return party.plan.batch_fault(array, step)
        if self.part == "held-out":
            return party.plan.held_out_fault(array)
        if self.part == "chunk":
            return party.plan.chunk_fault(array)
        return party.plan.part_fault(array, self.part)


@dataclass(frozen=True)
class Numbers(Declared):
    """Numbers of a fixed layout, finite and in a range."""

    layout: Layout
    low: float | None = None
    high: float | None = None
    name: str = ""

    def layouts(self, party: Scope, sizes: dict[str, int]) -> list[Layout]:
        """See `Declared`."""
        return self._layouts

    @cached_property
    def _layouts(self) -> list[Layout]:
        return [self.layout]

    def text(self) -> str:
        """See `Declared`."""
        limits = f" in {self._range()}".removesuffix(" in [-inf, inf]")
        lengths = ", ".join(map(str, self.layout.shape))
        comma = "," if len(self.layout.shape) == 1 else ""
        return f"{self.name} ({lengths}{comma}) {self.layout.dtype}{limits}".lstrip()

    def _range(self) -> str:
        ends = (
            ("-inf" if self.low is None else f"{self.low:g}"),
            ("inf" if self.high is None else f"{self.high:g}"),
        )
        return f"[{ends[0]}, {ends[1]}]"

    def fault(self, array: Array, party: Scope, step: int) -> str:
        """See `Declared`."""
        return self.outside(array)

    def outside(self, array: Array) -> str:
        """Return the fault of an array's numbers, if any."""
        low, high = self._limits
        if within(array, low, high):
            return ""
        return _not_finite(array) or f"has a number that is not in {self._range()}"

    @cached_property
    def _limits(self) -> tuple[float, float]:
        """Least and largest number, both of them finite for floats."""
        finite = float(np.finfo(self.layout.kind).max) if self.layout.kind.kind == "f" else np.inf
        return (
            -finite if self.low is None else self.low,
            finite if self.high is None else self.high,
        )


@dataclass(frozen=True)
class Bounded(Numbers):
    """Numbers within a bound of the run, or from `low` to it."""

    most: str = ""

    def fault(self, array: Array, party: Scope, step: int) -> str:
        """See `Declared`."""
        most = float(attrgetter(self.most)(party))
        return Numbers(self.layout, -most if self.low is None else self.low, most).outside(array)

    def _range(self) -> str:
        most = shown_path(self.most)
        return f"[{f'-{most}' if self.low is None else f'{self.low:g}'}, {most}]"


@dataclass(frozen=True)
class Counter(Declared):
    """A whole number below a limit, or the next one."""

    below: str
    next: str

    def layouts(self, party: Scope, sizes: dict[str, int]) -> list[Layout]:
        """See `Declared`."""
        return [Layout("int64", ())]

    def text(self) -> str:
        """See `Declared`."""
        order = "the next one " if self.next else ""
        return f"() int64, {order}below {shown_path(self.below)}"

    def fault(self, array: Array, party: Scope, step: int) -> str:
        """See `Declared`."""
        limit = attrgetter(self.below)(party)
        if not 0 <= int(array) < limit:
            return f"is not from 0 to {limit - 1}"
        due = attrgetter(self.next)(party) if self.next else None
        return "" if due in (None, int(array)) else f"is not {due}, the next one"


@dataclass(frozen=True)
class Labels(Declared):
    """Training labels, in the wire format of the run's mechanism."""

    size: Size

    def layouts(self, party: Scope, sizes: dict[str, int]) -> list[Layout]:
        """See `Declared`."""
        sent = party.label_format()
        return [Layout(sent.dtype, (self.size, *sent.row))]

    def text(self) -> str:
        """See `Declared`."""
        return f"labels ({self.size},) uint8, or noised ({self.size}, C) float32"

    def fault(self, array: Array, party: Scope, step: int) -> str:
        """See `Declared`."""
        sent = party.label_format()
        layout = Layout(sent.dtype, (self.size, *sent.row))
        return Numbers(layout, sent.low, sent.high).outside(array)


@dataclass(frozen=True)
class Several(Declared):
    """Arrays in a layout that the party knows."""

    name: str
    path: str

    def layouts(self, party: Scope, sizes: dict[str, int]) -> list[Layout]:
        """See `Declared`."""
        found: Any = attrgetter(self.path)(party)
        if callable(getattr(found, "state_dict", None)):
            found = list(found.state_dict().values())
        elif callable(found):
            found = found(sizes["B"])
        return [_layout_of(each) for each in found]

    def text(self) -> str:
        """See `Declared`."""
        return self.name


def _layout_of(each: Any) -> Layout:  # noqa: ANN401
    """Read a layout, of a tensor or as dtype and shape."""
    if isinstance(each, Tensor):
        return Layout(str(each.dtype).removeprefix("torch."), tuple(each.shape))
    dtype, shape = each
    return Layout(np.dtype(dtype).name, tuple(shape))


def within(array: Array, low: float, high: float) -> bool:
    """Tell whether all numbers lie in a range; NaN never does."""
    if not array.size:
        return True
    least, most = np.minimum.reduce(array, axis=None), np.maximum.reduce(array, axis=None)
    return bool(low <= least and most <= high)


def _not_finite(array: Array) -> str:
    finite = array.dtype.kind != "f" or np.isfinite(array).all()
    return "" if finite else "has a number that is not finite"


def shown_path(path: str) -> str:
    """Return the last name of a path, as options are written."""
    return path.rpartition(".")[2].replace("_", "-")
