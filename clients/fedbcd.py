"""FedBCD, passive party; notation and header in `strategies.fedbcd`.

Its network's decision net is not used.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torch import Tensor

from vfl_flower.api import gradient, phase

from .splitnn import SplitNNClient

if TYPE_CHECKING:
    from strategies.specs.fedbcd import FedBCDOptions


class FedBCDClient(SplitNNClient):
    """Embeds its columns, takes Q steps on one embedding gradient."""

    options: "FedBCDOptions"

    @phase(after="embed", takes=gradient("B", "D", name="g_k"))
    def update(self, g_k: Tensor) -> None:  # (B, D) ->
        """Take Q steps on dL/dE_k, as it was before the first."""
        for E_k in self.embeddings():
            E_k.backward(g_k)

    def embeddings(self) -> Iterator[Tensor]:
        """Yield E_k of the present weights Q times; step after each."""
        rows, E_k = self.tape["embed"]
        for step in range(self.options.local_steps):
            self.optimizer.zero()
            yield self.share(rows) if step else E_k
            self.optimizer.step(of=self.options.local_steps)
