"""Under client-level privacy parties learn through the clip of their uploads."""

from pathlib import Path

import pytest
import torch
from torch import Tensor

from tests.helpers.blinding import send
from tests.helpers.data import next_batch
from vfl_flower.common.codec import Array
from vfl_flower.config.run_config import RunConfig
from vfl_flower.parties.passive import PassiveParty
from vfl_flower.workflows.build_parties import build_passive

STEP = {"splitnn": "embed", "vafl": "embed", "fedbcd": "embed", "agg_vfl": "predict"}
"""The phase that begins a step, by method."""
BATCH, CLIP = 32, 0.5


def party_of(method: str, folder: Path) -> PassiveParty:
    cfg = RunConfig(
        method=method,
        models="linear",
        optimizers="sgd",
        learning_rates="0.1",
        batch_size=BATCH,
        dp_sigma=3.0,
        dp_clip=CLIP,
        blinding="none",
        parties=2,
        loss="binary-cross-entropy",  # whose residuals need not add up to 0
        baselines="off",
    )
    return build_passive(cfg, 1, folder)


def upload(party: PassiveParty, rows: Array) -> Tensor:
    """Return an upload before its clip."""
    E_k = party.embed_rows(torch.from_numpy(rows))
    return party.decide(E_k) if party.cfg.method == "agg_vfl" else E_k


def weights(party: PassiveParty) -> Tensor:
    return torch.cat([each.detach().flatten() for each in party.net.parameters()]).clone()


def stepped(party: PassiveParty, g_k: Tensor) -> Tensor:
    """Return the change of weights by a step on a gradient."""
    before = weights(party)
    assert len(send(party, 1, STEP[party.cfg.method], next_batch(party))[0]) == 1
    assert send(party, 2, "update", g_k.numpy())[0] == []
    return weights(party) - before


@pytest.mark.parametrize("method", STEP)
def test_a_step_goes_through_the_clip(method: str, tmp_path: Path) -> None:
    """Along the upload itself, the gradient is zero."""
    party = party_of(method, tmp_path / "along")
    X = upload(party, next_batch(party)).detach()
    assert X.norm() > CLIP
    across = 1e-4 * torch.randn(X.shape, generator=torch.Generator().manual_seed(0))
    along = X * (across.norm() / X.norm())
    changed = stepped(party_of(method, tmp_path / "across"), across).norm()
    assert changed > 1e-7
    assert stepped(party, along).norm() < 1e-4 * changed
