"""Weight decay by party, and that of the baselines."""

from dataclasses import replace

import pytest
import torch

from vfl_flower.config.run_config import RunConfig
from vfl_flower.parties.party import Party
from vfl_flower.transport.local import run_local
from vfl_flower.workflows.baselines import configurations
from vfl_flower.workflows.build_parties import build_active, build_passive

RATE, DECAY = 0.1, 0.5
ONE_STEP = RunConfig(
    models="mlp",
    parties=3,
    train_rows=100,
    batch_size=100,
    epochs=1,
    learning_rates=f"{RATE}",
    blinding="none",
    baselines="off",
)
Weights = list[dict[str, torch.Tensor]]


def weights_of(parties: list[Party]) -> Weights:
    return [{n: p.detach().clone() for n, p in each.net.named_parameters()} for each in parties]


def before_and_after(cfg: RunConfig) -> tuple[Weights, Weights]:
    """Return all parties' parameters before and after one step."""
    active = build_active(cfg)
    passive = [build_passive(cfg, k) for k in range(1, cfg.parties)]
    first = weights_of([active, *passive])
    run_local(active, passive)
    return first, weights_of([active, *passive])


@pytest.mark.parametrize("method", ["easter", "splitnn", "local", "central"])
def test_it_shrinks_the_weights_of_its_party_alone(method: str) -> None:
    """By hand: SGD subtracts rate times decay times the weights before."""
    plain = replace(ONE_STEP, method=method, optimizers="sgd")
    first, without = before_and_after(plain)
    place = 0 if plain.spec.alone else 1
    optimizers = ["sgd"] * 3
    optimizers[place] = f"sgd:weight_decay={DECAY}"
    _, found = before_and_after(replace(plain, optimizers=",".join(optimizers)))
    for rank, (start, old, new) in enumerate(zip(first, without, found, strict=True)):
        for name, weights in new.items():
            learns = not old[name].equal(start[name])  # SplitNN's passive parties decide nothing
            shrunk = RATE * DECAY * start[name] if learns and rank == place else 0
            assert torch.allclose(weights, old[name] - shrunk, atol=1e-6), f"{rank}: {name}"
    assert any(each.abs().max() > 0.1 for each in first[place].values())


def test_baselines_have_the_active_party_s() -> None:
    optimizers = "adamw:weight_decay=0.1,sgd,sgd"
    cfg = replace(ONE_STEP, method="splitnn", optimizers=optimizers)
    for baseline in configurations(build_active(cfg)).values():
        decay = build_active(baseline).optimizer.optimizer.param_groups[0]["weight_decay"]
        assert (baseline.optimizer_of(0), decay) == ("adamw:weight_decay=0.1", 0.1)
