"""Upload pipeline of a passive party, for everything that depends on columns."""

from abc import abstractmethod
from dataclasses import dataclass

from torch import Tensor

from vfl_flower.common.codec import Array, to_array
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
    message : tuple of ndarray, or None
        The arrays that travel in the place of `values`, once a mechanism has made them.
    """

    values: Tensor
    weight: int = 1
    total: int | None = None
    message: tuple[Array, ...] | None = None

    def arrays(self) -> tuple[Array, ...]:
        """Return the arrays that travel."""
        if self.message is not None:
            return self.message
        return (to_array(self.values if self.weight == 1 else self.values * self.weight),)


class UploadMechanism(Component):
    """One stage of the way out: noise, compression, masks.

    Those in `vfl_flower.parties.uploads.registry` apply to every upload of every method, in the
    order in which they stand there.
    """

    @classmethod
    def wanted(cls, cfg: RunConfig) -> bool:
        """Tell whether a run's parties need it."""
        return True

    @abstractmethod
    def apply(self, upload: Upload, declared: Phase) -> Upload:
        """Transform an upload of the current phase, or refuse it."""

    def pass_figure(self) -> None:
        """Refuse a figure, which is not transformed, if everything needs protection."""
