"""Chosen residuals that make a blinded sum one party's embedding.

A deviating active party trains one passive party alone, so that its embedding outgrows the others'
in the sum that no mask hides.
"""

from collections.abc import Callable, Sequence

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.helpers.blinding import agree, answer, send
from vfl_flower.common.codec import Array
from vfl_flower.config.run_config import RunConfig
from vfl_flower.crypto.fixed_point import decode_ring
from vfl_flower.data.splitting.rows import rows_of
from vfl_flower.learning.batching import batches
from vfl_flower.learning.losses import loss_of, residuals
from vfl_flower.parties.passive import PassiveParty
from vfl_flower.workflows.build_parties import build_passive

CFG = RunConfig(
    method="easter",
    models="mlp",
    embedding_dim=8,
    batch_size=200,
    epochs=6,
    optimizers="sgd",
    learning_rates="0.5",
    loss="cross-entropy",
    baselines="off",
)
STEPS = 12
Residual = Callable[[Tensor], Tensor]


def parties_of(cfg: RunConfig) -> list[PassiveParty]:
    """Build three passive parties that share pair keys."""
    parties = [build_passive(cfg, rank) for rank in (1, 2, 3)]
    agree(parties)
    return parties


def summed(parties: Sequence[PassiveParty], phase: str, rows: Array) -> Tensor:
    """Return the sum that the active party decodes."""
    exchange = parties[0].exchange + 1
    words = [answer(party, exchange, phase, rows) for party in parties]
    return decode_ring(np.add.reduce(words, dtype=np.uint32))


def attack(parties: Sequence[PassiveParty], steps: int, chosen: Residual) -> str:
    """Train party 1 on chosen residuals; return the first refusal."""
    cfg = parties[0].cfg
    train = rows_of(cfg, 1797)["train"]
    plan = [b for epoch in range(cfg.epochs) for b in batches(0, epoch, train, cfg.batch_size)]
    for rows in plan[:steps]:
        E = summed(parties, "embed", rows) / 4
        exchange = parties[0].exchange + 1
        R = [torch.tensor(answer(p, exchange, "predict", E.numpy())) for p in parties]
        g = [chosen(R[0]), *(own_label(each) for each in R[1:])]
        for party, each in zip(parties, g, strict=True):
            _, metrics = send(party, exchange + 1, "update", each.numpy())
            if metrics:
                return str(metrics["message"])
    return ""


def residual(R: Tensor, y: Tensor) -> Tensor:
    (g,), _ = residuals(loss_of("cross-entropy"), [R], y)
    return g


def growing(R: Tensor) -> Tensor:
    """Let outputs grow up to a limit, whatever they are."""
    return torch.zeros_like(R) if R.abs().max() > 1e3 else -R / R.abs().max() / len(R)


def own_label(R: Tensor) -> Tensor:
    """Teach the label that is predicted already, which changes little."""
    return residual(R, R.argmax(1))


def worst_label(R: Tensor) -> Tensor:
    """Teach the least likely label, whose residual is the largest."""
    return residual(R, R.argmin(1))


def random_label(R: Tensor) -> Tensor:
    return residual(R, torch.arange(len(R)) % R.shape[1])


def share_of_one(parties: Sequence[PassiveParty]) -> float:
    """Return R^2 of party 1's embedding in the decoded sum."""
    rows = parties[0].data.rows["test"]
    total = summed(parties, "embed_only", rows)
    with torch.no_grad():
        E_1 = parties[0].embed_rows(rows)
    known, sought = total - total.mean(0), E_1 - E_1.mean(0)
    off = sought - known @ torch.linalg.lstsq(known, sought).solution
    return 1 - float(off.square().sum() / sought.square().sum())


def test_residuals_of_no_label_are_refused_at_the_first_step() -> None:
    parties = parties_of(CFG)
    refusal = attack(parties, STEPS, growing)
    shown = "" if refusal else f"the sum shows party 1: R^2 = {share_of_one(parties):.5f}"
    assert "array 1 of phase 'update' has residuals" in refusal, shown


@pytest.mark.parametrize("chosen", [own_label, worst_label, random_label])
def test_residuals_of_chosen_labels_are_allowed_and_show_less(chosen: Residual) -> None:
    """The protocol cannot tell them from true ones."""
    parties = parties_of(CFG)
    assert attack(parties, 3 * STEPS, chosen) == ""
    assert share_of_one(parties) < 0.9


def test_a_bound_on_embeddings_limits_what_chosen_labels_show() -> None:
    """No row outweighs the other parties' rows by more than the bound."""
    shown = []
    for bound in ("none", "4"):
        parties = parties_of(CFG.changed(embedding_bound=bound))
        assert attack(parties, 3 * STEPS, worst_label) == ""
        shown.append(share_of_one(parties))
    assert shown[1] < 0.5 < shown[0]
