"""Upload pipeline of a passive party, for everything that depends on columns."""

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor

from vfl_flower.common.codec import Array, to_array
from vfl_flower.common.errors import ProtocolError
from vfl_flower.config.run_config import RunConfig
from vfl_flower.protocol.components import Component, Phase


@dataclass(frozen=True)
class Upload:
    """Values of a party's columns on their way out.

    Attributes
    ----------
    values : Tensor
        Any shape, float32.
    weight : int
        Their weight in the sum over all passive parties.
    total : int or None
        The sum of all parties' weights; as many as there are parties, unless said.
    rows : int or None
        Rows of the party that they tell of; the length of `values`, unless said.
    noise : float
        Deviation of the run's noise on uploads of this kind.
    message : tuple of ndarray, or None
        The arrays that travel in the place of `values`, once a mechanism has made them.
    """

    values: Tensor
    weight: int = 1
    total: int | None = None
    rows: int | None = None
    noise: float = 0.0
    message: tuple[Array, ...] | None = None

    @property
    def dtype(self) -> torch.dtype:
        """Dtype of the values."""
        return self.values.dtype

    @property
    def shape(self) -> torch.Size:
        """Shape of the values."""
        return self.values.shape

    def arrays(self) -> tuple[Array, ...]:
        """Return the arrays that travel."""
        if self.message is not None:
            return self.message
        return (to_array(self.weighted()),)

    def weighted(self) -> Tensor:
        """Return the values times their weight, of the same shape."""
        return self.values if self.weight == 1 else self.values * self.weight

    def same(self, other: "Upload") -> bool:
        """Tell whether two uploads hold the same objects, not copies."""
        mine, theirs = vars(self).values(), vars(other).values()
        return all(a is b for a, b in zip(mine, theirs, strict=True))


class UploadGate(Component):
    """Component that can refuse runs and requests."""

    def check_in(self) -> None:
        """Refuse a run that could not be finished, at the roll call."""

    def admit(self, declared: Phase) -> None:
        """Refuse a request before its phase looks at columns."""

    def pass_figure(self) -> None:
        """Let a figure pass, or refuse it where everything needs protection."""


class UploadCounter(UploadGate):
    """Durable count of every upload of every method."""

    @abstractmethod
    def count(self, upload: Upload, declared: Phase) -> None:
        """Count an upload before it leaves, or refuse it."""


class UploadMechanism(UploadGate):
    """One stage of the way out: noise, compression, masks.

    Those in `vfl_flower.parties.uploads.registry` apply to every upload of every method, in the
    order in which they stand there. The one that writes the `message` is the last to change an
    upload.
    """

    @classmethod
    def wanted(cls, cfg: RunConfig) -> bool:
        """Tell whether a run's parties need it."""
        return True

    @abstractmethod
    def apply(self, upload: Upload, declared: Phase) -> Upload:
        """Transform an upload of the current phase, or refuse it."""


def transform(
    upload: Upload, mechanisms: Iterable[UploadMechanism], declared: Phase
) -> tuple[Array, ...]:
    """Apply mechanisms in order; return the arrays that travel.

    Raises
    ------
    ProtocolError
        If one changes an upload whose message is written already: noise or masks would be lost.
    """
    for mechanism in mechanisms:
        changed = mechanism.apply(upload, declared)
        if upload.message is not None and not changed.same(upload):
            raise ProtocolError(
                f"the upload mechanism '{mechanism.name}' changes an upload whose message is "
                "written already; nothing was sent"
            )
        upload = changed
    return upload.arrays()
