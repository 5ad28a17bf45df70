"""Joint programs in which passive parties' embeddings have explicit penalties."""

from collections.abc import Sequence
from functools import partial

import torch
from torch import Tensor

from tests.helpers.joint.reference import Step
from vfl_flower.config.options.defences.embeddings import read_embedding_defence
from vfl_flower.learning.losses import Labels, Loss
from vfl_flower.learning.networks.defences.fedpass import FedPass
from vfl_flower.learning.networks.defences.mid import MID
from vfl_flower.learning.networks.defences.nopeek import NoPeek, distance_correlation
from vfl_flower.parties.party import Party


class Penalised:
    """Another program's step, on its loss and all parties' penalties.

    Parameters
    ----------
    step : callable
        That embeds all parties' rows once, before it asks for a loss.
    """

    def __init__(self, step: Step) -> None:
        self.step = step
        self.due: list[Tensor] = []

    def __call__(self, parties: Sequence[Party], rows: Tensor, y: Tensor, loss: Loss) -> None:
        for m in parties[1:]:
            m.embed_rows = partial(self.embed, m)  # type: ignore[method-assign]

        def with_penalties(R: Tensor, labels: Labels) -> Tensor:
            due, self.due = self.due, []
            return loss(R, labels) + sum(due)

        self.step(parties, rows, y, with_penalties)

    def embed(self, m: Party, rows: Tensor) -> Tensor:
        """Embed rows by the formulas, and note the penalty."""
        net, x = m.net.embed, m.columns(rows)
        _, weight = read_embedding_defence(m.cfg.embedding_defence)
        h = net.embed(x)  # type: ignore[operator, union-attr]
        if isinstance(net, NoPeek):
            self.due.append(weight * distance_correlation(x, h))
            return h  # type: ignore[no-any-return]
        if isinstance(net, MID):
            log_variance = net.log_variance(h)
            z = torch.randn(h.shape, generator=m.randomness.generator)
            sample = h + (log_variance / 2).exp() * z
            each = (log_variance.exp() + h**2 - 1 - log_variance) / 2
            self.due.append(weight * each.sum(1).mean())
            return sample  # type: ignore[no-any-return]
        assert isinstance(net, FedPass)
        layer = net.passport
        scale, shift = layer.coder(layer.linear(layer.passports))
        return scale * layer.linear(h) + shift  # type: ignore[no-any-return]
