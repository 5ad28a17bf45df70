"""Leave-one-out contribution of passive parties, measured while training.

An evaluation's uploads are combined once more for each passive party, with zeros in the place of
its own. That costs no message, and tells the active party nothing: it has each party's upload.
Under masks it has their sum alone, and the sum without one party would be that party's upload.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from vfl_flower.common.codec import Array
from vfl_flower.common.errors import ProtocolError
from vfl_flower.config.run_config import RunConfig
from vfl_flower.parties.active import ActiveParty
from vfl_flower.protocol.exchange import Protocol, Replies


def obstacle(cfg: RunConfig) -> str:
    """Return the reason why contributions cannot be measured, or nothing."""
    if not cfg.spec.leaves_out:
        return f"no zeros can stand for one party's uploads in the predictions of {cfg.method}"
    if cfg.blinded:
        return (
            "masks hide each party's upload: the sum with a party less the sum without it would "
            "be that upload"
        )
    own = cfg.holders == cfg.parties
    if not own and (len(cfg.present) == 1 or cfg.uses_missing):
        return "rows would have no party left with columns"
    return "" if cfg.validation else "there are no validation rows"


class LeaveOneOut:
    """Inference with all parties, and without each passive one.

    Parameters
    ----------
    party : ActiveParty
        Whose model predicts.
    """

    def __init__(self, party: ActiveParty) -> None:
        self.party = party
        self._measured = not obstacle(party.cfg)
        self._outputs = defaultdict[int, list[Tensor]](list)

    def infer(self, rows: Array) -> Protocol:
        """Infer rows, (B,), as the method does; note the predictions without each."""
        strategy, heard = self.party.strategy, list[Replies]()
        strategy.heard = heard
        try:
            outputs = yield from self.party.infer(rows)
        finally:
            strategy.heard = None
        for rank in self.party.cfg.present if self._measured else ():
            self._outputs[rank].append(self._without(rank, rows, heard))
        return outputs

    @property
    def outputs(self) -> dict[int, Tensor]:
        """The active party's predictions without each, (N, C), by its rank."""
        made = {rank: torch.cat(parts) for rank, parts in self._outputs.items()}
        return {rank: self.party.decoded(each) for rank, each in made.items()}

    def _without(self, rank: int, rows: Array, heard: Sequence[Replies]) -> Tensor:
        """Return the predictions that the same replies give without one party's."""
        self.party.left_out = frozenset({rank})
        protocol = self.party.infer(rows)
        try:
            request = next(protocol)
            for position, replies in enumerate(heard):
                own = replies.own  # of the first exchange, which nothing came before
                if position and request.own:
                    own = self.party.compute(request.own, training=False)
                request = protocol.send(_zeroed(replies, rank, own))
        except StopIteration as end:
            outputs: list[Tensor] = end.value
            return outputs[0].detach()
        finally:
            self.party.left_out = frozenset()
            protocol.close()
        raise ProtocolError(f"'{request.phase}' was not asked when all parties were there")


def _zeroed(replies: Replies, rank: int, own: object) -> Replies:
    """Return replies with zeros in the place of one party's."""
    arrays = list(replies.arrays)
    arrays[rank - 1] = [np.zeros_like(each) for each in arrays[rank - 1]]
    return replace(replies, arrays=arrays, own=own)
