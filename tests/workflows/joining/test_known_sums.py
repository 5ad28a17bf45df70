"""Sums of the model's run tell of the parties that join."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.helpers.joint.joining import joining, trained
from vfl_flower.common.codec import Array
from vfl_flower.config.run_config import RunConfig
from vfl_flower.parties.active import ActiveParty
from vfl_flower.parties.passive import PassiveParty
from vfl_flower.privacy.secure_aggregation import agree_keys
from vfl_flower.protocol.exchange import Protocol, ask
from vfl_flower.transport.local import LocalTransport
from vfl_flower.workflows.build_parties import build_parties


def sum_of(
    cfg: RunConfig, rows: Array, folder: Path | None = None
) -> tuple[Tensor, list[PassiveParty]]:
    """Return the masked sum of rows before any step, and the parties."""
    active, passive = build_parties(cfg, folder)
    sums = []

    def protocol() -> Protocol:
        yield from agree_keys(cfg)
        replies = yield ask("predict_only", rows, purpose="evaluation")
        sums.append(replies.sum())

    active.task = protocol
    LocalTransport(passive).run(active)
    return sums[0], passive


def own_uploads(party: Any, rows: Array) -> Tensor:
    party.net.eval()
    with torch.no_grad():
        made: Tensor = party.logits(torch.from_numpy(rows))
    return made


@pytest.mark.parametrize("new", [1, 2])
def test_a_difference_of_sums_is_the_new_parties(new: int, tmp_path: Path) -> None:
    """One new party is shown; of two, the sum is."""
    model = tmp_path / "model"
    old = trained(model, "agg_vfl", blinding="auto")
    continued = joining(model, old, new=new)
    rows = first_test_rows(old)
    # in its own run the model's last sum of these rows was of the same weights
    before = sum(own_uploads(party, rows) for party in frozen_of(continued))
    after, passive = sum_of(continued, rows)
    new_ones = [own_uploads(party, rows) for party in passive[2:]]
    assert torch.allclose(after - before, torch.stack(new_ones).sum(0), atol=1e-3)
    if new == 2:
        for each in new_ones:
            assert not torch.allclose(after - before, each, atol=1e-2)


def first_test_rows(cfg: RunConfig) -> Array:
    active: ActiveParty = build_parties(cfg)[0]
    return np.sort(active.rows["test"][:50])


def frozen_of(cfg: RunConfig) -> list[PassiveParty]:
    return build_parties(cfg)[1][:2]
