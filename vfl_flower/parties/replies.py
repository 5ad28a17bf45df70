"""Layout and range of the passive parties' replies, checked where they arrive."""

from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np

from vfl_flower.common.codec import Array
from vfl_flower.config.run_config import RunConfig
from vfl_flower.crypto.fixed_point import LIMIT
from vfl_flower.learning.compression import compression_of
from vfl_flower.parties.persistence.checkpoint_component import CheckpointComponent
from vfl_flower.parties.uploads.registry import MECHANISMS
from vfl_flower.privacy.missing_parties.component import RowPresence
from vfl_flower.protocol.automaton.rules import Layout, Numbers, within
from vfl_flower.protocol.components import UPLOADS, declared_by

_DEVIATIONS = 16
"""Of noise that one number may hold; honest noise exceeds them once in 10**56 numbers."""


class ReplyRules:
    """Expected arrays of the replies to every phase.

    Parameters
    ----------
    cfg : RunConfig
        The run's configuration.
    sizes : mapping of str to int
        Lengths in the phases' declarations, by symbol, but for the rows of a request.
    noise : float
        Deviation of the noise on uploads; 0 without.

    Attributes
    ----------
    most : float
        Largest magnitude of a number: the ring's limit, with room for noise.
    """

    def __init__(self, cfg: RunConfig, sizes: Mapping[str, int], noise: float) -> None:
        self.cfg, self.sizes, self.noised = cfg, sizes, noise > 0
        self.most = max(LIMIT, cfg.dp_clip if noise else 0.0) + _DEVIATIONS * noise
        _, client = cfg.spec.load()
        owners = (client, *client.components, RowPresence, *MECHANISMS, CheckpointComponent)
        self._phases = {name: each for owner in owners for name, each in declared_by(owner).items()}
        self._expected = cache(self._rules)
        self._right: set[tuple[object, ...]] = set()  # layouts of replies that fitted

    def fault(self, phase: str, rows: int, arrays: Sequence[Array]) -> str:
        """Return the fault of one party's reply, or nothing.

        Parameters
        ----------
        phase : str
            The phase that it answers.
        rows : int
            How many rows the request is about.
        arrays : sequence of ndarray
            The reply.
        """
        layouts, figures = self._expected(phase, rows)
        found = (phase, rows, *((array.dtype, array.shape) for array in arrays))
        if found not in self._right:
            if fault := self._misfit(layouts, rows, arrays):
                return fault
            self._right.add(found)
        floats = (array for array in arrays if array.dtype.kind == "f")
        if not all(within(array, -self.most, self.most) for array in floats):
            return (
                f"with a number that is not finite, or beyond {self.most:g}; if it computed that "
                "honestly, lower its learning rate"
            )
        faults = (numbers.outside(arrays[position]) for position, numbers in figures)
        return next((f"with an array that {fault}" for fault in faults if fault), "")

    def _misfit(self, layouts: Sequence[Layout], rows: int, arrays: Sequence[Array]) -> str:
        """Return the fault of number, dtypes or shapes, or nothing."""
        if len(arrays) != len(layouts):
            return f"with {len(arrays)} arrays, not {len(layouts)}"
        sizes = {"B": rows, "N": rows, **self.sizes}
        pairs = zip(layouts, arrays, strict=True)
        faults = [layout.fault(each, sizes) for layout, each in pairs]
        return next((f"with an array that {fault}" for fault in faults if fault), "")

    def _rules(self, phase: str, rows: int) -> tuple[list[Layout], list[tuple[int, Numbers]]]:
        """Return layouts of a reply, and declared figures by position."""
        layouts: list[Layout] = []
        figures: list[tuple[int, Numbers]] = []
        declared = self._phases[phase]
        figure = {*declared.sends} == {"figure"} and not declared.derived
        if self.noised and figure:  # which is not sent under noise
            return layouts, figures
        for kind, numbers in zip(declared.sends, declared.gives, strict=True):
            if kind in UPLOADS:
                masked = self.cfg.blinded and declared.masked
                layouts += self._sent(numbers.layout, rows, masked=masked)
            else:
                figures.append((len(layouts), numbers))
                layouts.append(numbers.layout)
        return layouts, figures

    def _sent(self, layout: Layout, rows: int, *, masked: bool) -> list[Layout]:
        """Return the arrays that an upload travels as, under masks or compressed."""
        if masked:
            return [Layout("uint16" if self.cfg.narrow else "uint32", layout.shape)]
        compression = self.cfg.options.upload_compression
        if compression == "none":
            return [layout]
        width = self.sizes[str(layout.shape[1])]
        sent = compression_of(compression, width).layout(rows)
        return [Layout(np.dtype(dtype).name, shape) for dtype, shape in sent]
