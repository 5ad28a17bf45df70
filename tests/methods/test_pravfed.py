"""PraVFed: its joint program, its two exchanges, its weights."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.nn.functional import one_hot

from strategies.pravfed import PraVFed
from strategies.specs.pravfed import PraVFedOptions
from tests.helpers.data import labels_of
from tests.helpers.joint.reference import GRID, parties_of, within_bound
from tests.helpers.outcomes.attempts import Attempt
from vfl_flower.algorithms.integer_weights import MOST_PARTIES, TOTAL, integer_weights
from vfl_flower.common.codec import Array
from vfl_flower.common.errors import BlindingError, ConfigError, Interrupted, PartyError
from vfl_flower.common.layout import steps_kept
from vfl_flower.config.run_config import RunConfig
from vfl_flower.data.loading import load_party
from vfl_flower.data.splitting.rows import rows_of
from vfl_flower.learning.batching import batches
from vfl_flower.learning.losses import Weighted, loss_of
from vfl_flower.parties.party import Party
from vfl_flower.parties.passive import PassiveParty
from vfl_flower.privacy.label_dp.class_weights import balanced_weights, weights_by_class
from vfl_flower.privacy.label_dp.training_labels import noise_of
from vfl_flower.protocol.exchange import Protocol, Purpose
from vfl_flower.transport.local import run_local
from vfl_flower.workflows.build_learner import build_learner
from vfl_flower.workflows.build_parties import build_active, build_passive

CFG = RunConfig(method="pravfed", models="mlp", epochs=2, batch_size=52, local_epochs=2)


def parties(cfg: RunConfig) -> tuple[PraVFed, list[PassiveParty]]:
    active = build_active(cfg)
    assert isinstance(active, PraVFed)
    return active, [build_passive(cfg, k) for k in range(1, cfg.parties)]


def trained(cfg: RunConfig, released: Tensor | None = None) -> tuple[PraVFed, list[PassiveParty]]:
    active, passive = parties(cfg)
    if released is not None:
        active.training_labels.labels = released
    run_local(active, passive)
    return active, passive


# The joint program ------------------------------------------------------------------------------


def joint(cfg: RunConfig, released: Tensor) -> list[Party]:
    """Run Algorithms 1 and 2 over all parties' columns, without any message."""
    torch.set_num_threads(cfg.threads)
    _, *passive = parties_of(cfg)
    active, y = build_learner(cfg, load_party(cfg, 0), layers=3), labels_of(cfg)
    train = torch.from_numpy(rows_of(cfg, len(y))["train"])
    accuracies = [pretrained(cfg, party, train, released[train]) for party in passive]
    W = integer_weights(
        [1.0] * 3 if cfg.own(PraVFedOptions).aggregation == "average" else accuracies
    )
    E_p = torch.zeros(len(y), cfg.embedding_dim)
    E_p[train] = pooled(passive, W, train, rounded=cfg.blinded)
    deviation, mean = torch.std_mean(E_p[train], 0, correction=0)
    E_p = (E_p - mean) / deviation
    active.net.train()
    weights = weights_of(cfg, released[train])
    for epoch in range(cfg.epochs):
        for batch in batches(cfg.seed, epoch, train.numpy(), cfg.batch_size):
            rows = torch.from_numpy(batch)
            R = active.decide(active.embed_rows(rows) + E_p[rows])
            labels = y[rows] if weights is None else Weighted(y[rows], weights[y[rows]])
            active.optimizer.down(loss_of("cross-entropy")(R, labels))
    return [active, *passive]


def weights_of(cfg: RunConfig, labels: Tensor) -> Tensor | None:
    """Return class weights by the labels that all parties have."""
    if cfg.class_weights == "none":
        return None
    return balanced_weights(labels if cfg.label_noise else labels.argmax(1), 10)


def pretrained(cfg: RunConfig, party: Party, train: Tensor, labels: Tensor) -> float:
    """Train one party on noisy labels; return its agreement with them."""
    noise, every = noise_of(cfg, 10), np.arange(len(train), dtype=np.int32)
    weights = weights_of(cfg, labels)
    party.optimizer.steps = cfg.own(PraVFedOptions).local_epochs * -(-len(train) // cfg.batch_size)
    party.net.train()
    for epoch in range(cfg.own(PraVFedOptions).local_epochs):
        for at in map(torch.from_numpy, batches(cfg.seed, epoch, every, cfg.batch_size)):
            f = party.decide(within_bound(party, party.embed_rows(train[at])))
            target = noise.target(labels[at], f) if noise else labels[at]
            softmax = (
                cfg.own(PraVFedOptions).local_output == "softmax" or cfg.label_privacy == "alibi"
            )
            error = (f.softmax(1) if softmax else f) - target
            if weights is None:
                party.optimizer.down(error.square().sum() / (2 * len(at)))
                continue
            belief = noise.posterior(labels[at], f) if noise else labels[at]
            weighted = error.square().sum(1) * weights_by_class(belief, weights)
            party.optimizer.down(weighted.sum() / (2 * len(at)))
    party.net.eval()
    with torch.no_grad():
        said = party.decide(within_bound(party, party.embed_rows(train))).argmax(1)
    return (said == labels.argmax(1)).float().mean().item()


def pooled(passive: list[Party], W: list[int], rows: Tensor, *, rounded: bool) -> Tensor:
    """Return the weighted mean of embeddings, on the grid or as floats."""
    with torch.no_grad():
        E = [within_bound(party, party.embed_rows(rows)) for party in passive]
    if rounded:
        words = [w * torch.round(e * GRID).to(torch.int64) for w, e in zip(W, E, strict=True)]
        return torch.stack(words).sum(0).to(torch.float32) / GRID / TOTAL
    first, *others = (w * e for w, e in zip(W, E, strict=True))
    for other in others:
        first = first + other
    return first / TOTAL


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"optimizers": "sgd"},
        {"optimizers": "momentum", "schedule": "cosine"},
        {"optimizers": "adagrad", "aggregation": "average"},
        {"models": "mixed", "local_output": "softmax"},
        {"embedding_bound": "0.5"},
        {"embedding_defence": "nopeek:1", "embedding_scale": "standardized"},
        {"label_privacy": "laplace"},
        {"label_privacy": "alibi"},
        {"label_privacy": "none"},
        {"blinding": "none"},
        *({"class_weights": "balanced", "label_privacy": each} for each in ("none", "laplace")),
        {"class_weights": "balanced", "label_privacy": "randomized-response"},
    ],
    ids=str,
)
def test_equals_the_joint_program(changes: dict[str, object]) -> None:
    """Bit for bit, at every party."""
    cfg = replace(CFG, train_rows=500, **changes)  # type: ignore[arg-type]
    noise, y = noise_of(cfg, 10), labels_of(cfg)
    released = noise.release(y) if noise else one_hot(y, 10).float()
    active, passive = trained(cfg, released if noise else None)
    for ours, theirs in zip([active, *passive], joint(cfg, released), strict=True):
        for (name, p), q in zip(
            ours.net.state_dict().items(), theirs.net.state_dict().values(), strict=True
        ):
            assert torch.equal(p, q), f"place {ours.rank}: {name}"


# What travels -----------------------------------------------------------------------------------


@pytest.mark.parametrize("epochs", [0, 1, 7])
def test_training_is_two_exchanges_however_long(epochs: int) -> None:
    active, _ = trained(CFG.changed(epochs=epochs, local_epochs=1))
    assert active.ledger.exchanges["training"] == 2
    assert set(active.ledger.by_phase()) == {"pretrain", "embed"}


def test_rows_are_embedded_once_more_for_evaluation_and_never_again() -> None:
    active, _ = trained(CFG.changed(epochs=4, eval_batch_size=100, local_epochs=1))
    asked = sum(-(-len(active.rows[part]) // 100) for part in ("validation", "test"))
    assert active.ledger.exchanges["evaluation"] == asked
    assert not active.E_p.isnan().any()


def test_noisy_classes_cost_a_byte_each_and_noisy_rows_four_a_class() -> None:
    sizes = {}
    for mechanism in ("randomized-response", "laplace"):
        active, _ = trained(CFG.changed(epochs=1, local_epochs=1, label_privacy=mechanism))
        sizes[mechanism] = active.ledger.payload["party-1", "training", "pretrain", "down"]
    n = len(active.rows["train"])
    assert sizes == {"randomized-response": (4 + 1) * n, "laplace": (4 + 40) * n}


@pytest.mark.slow
@pytest.mark.parametrize("epochs", [2, 6])
def test_passive_parties_write_no_checkpoint_while_nothing_is_asked(
    epochs: int, tmp_path: Path
) -> None:
    """Step 0, keys (2), first epoch, weights: however many epochs follow.

    The active party's first checkpoint stays, as it belongs to the parties' first.
    """
    attempt = Attempt(CFG.changed(epochs=epochs, local_epochs=1), tmp_path / "run")
    attempt.run()
    assert attempt.active.ledger.exchanges["control"] == 5
    assert steps_kept(tmp_path / "run" / "party-1") == [0, 25]
    kept = steps_kept(tmp_path / "run" / "active")
    assert kept == [0, 25 * (epochs - 1), 25 * epochs]


# Weights ----------------------------------------------------------------------------------------


@given(st.lists(st.floats(0, 1), min_size=2, max_size=MOST_PARTIES))
def test_weights_sum_to_the_total_and_nobody_stands_alone(scores: list[float]) -> None:
    weights = integer_weights(scores)
    assert sum(weights) == TOTAL
    assert min(weights) >= TOTAL // (3 * len(scores)) >= 1


@given(st.lists(st.floats(0.5, 0.9), min_size=2, max_size=8))
def test_weights_follow_accuracies_that_are_not_far_apart(scores: list[float]) -> None:
    exact = TOTAL * np.array(scores) / sum(scores)
    assert np.abs(integer_weights(scores) - exact).max() <= 1


@pytest.mark.parametrize("scores", [[0.0] * 3, [float("nan")] * 3])
def test_parties_without_any_useful_accuracy_count_alike(scores: list[float]) -> None:
    assert sorted(integer_weights(scores)) == [85, 85, 86]


def test_a_party_of_no_use_counts_little() -> None:
    """Half an even share, before all shares are scaled to one."""
    assert integer_weights([0.5, 0.0, 0.5]) == [110, 36, 110]
    assert integer_weights([0.9, 0.0]) == [205, 51]


def test_more_parties_than_can_be_weighted_are_refused() -> None:
    cfg = replace(
        CFG, dataset="digits", partition="columns", parties=MOST_PARTIES + 2, models="mlp"
    )
    with pytest.raises(ConfigError, match="up to 64 passive parties"):
        PraVFed(build_learner(cfg, data := load_party(CFG, 0)), labels_of(CFG), data.rows)


def test_results_name_accuracies_and_weights() -> None:
    active, passive = trained(replace(CFG, epochs=0))
    figures = active.figures()
    assert sum(figures[f"weight_of_party-{k}"] for k in (1, 2, 3)) == 1
    for k, party in enumerate(passive, 1):
        assert figures[f"local_accuracy_of_party-{k}"] == party.accuracy.item()  # type: ignore[attr-defined]


def test_embeddings_too_large_for_their_weights_are_refused() -> None:
    """A sum of 256 counts stays below 2**15: embeddings below 128."""
    active, passive = parties(CFG.changed(epochs=0, local_epochs=1))
    with torch.no_grad():
        for parameter in passive[1].net.embed.parameters():  # type: ignore[union-attr]
            parameter *= 50
    with pytest.raises(PartyError, match=f"party-2 .*{BlindingError.__name__}.* ±128"):
        run_local(active, passive)


def test_accuracies_that_are_not_the_partys_own_are_refused() -> None:
    active, passive = parties(CFG)
    forge(active)
    with pytest.raises(PartyError, match=r"party-1 .* do not hold this party's own"):
        run_local(active, passive)


def forge(active: PraVFed) -> None:
    """Let the active party share other accuracies than it was told."""
    gather = active.gather

    def lie(phase: str, rows: Array, purpose: Purpose) -> Protocol:
        active.accuracies = active.accuracies.flip(0) + 0.01
        return gather(phase, rows, purpose)

    active.gather = lie  # type: ignore[method-assign]


def test_local_training_that_diverges_says_so_at_once() -> None:
    active, passive = parties(replace(CFG, optimizers="sgd", learning_rates="auto,1e9,0.1,0.1"))
    with pytest.raises(PartyError, match=r"party-1 .*local epoch 1 of 2 is not finite"):
        run_local(active, passive)


# Resume -----------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("stop_at", [1, 6, 12])
def test_a_resumed_run_asks_for_no_second_upload(stop_at: int, tmp_path: Path) -> None:
    cfg = replace(CFG, label_privacy="none", epochs=4, batch_size=260)  # five steps an epoch
    whole = Attempt(cfg, tmp_path / "whole")
    whole.run()
    cut = Attempt(cfg, tmp_path / "cut")
    with pytest.raises(Interrupted):
        cut.run(stop_at)
    rest = Attempt(cfg, tmp_path / "cut")
    rest.run()
    assert rest.active.ledger.exchanges["training"] == 2
    for ours, theirs in zip(
        [rest.active, *rest.passive], [whole.active, *whole.passive], strict=True
    ):
        for p, q in zip(ours.net.parameters(), theirs.net.parameters(), strict=True):
            assert torch.equal(p, q)
