"""Public randomness: a function of the seed, for each party alone."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from vfl_flower.config.run_config import RunConfig
from vfl_flower.data.loading import load_party
from vfl_flower.learning.batching import batches, turn
from vfl_flower.learning.dropout import Dropout
from vfl_flower.learning.networks.base import SplitNet
from vfl_flower.learning.randomness import Randomness, public_origin
from vfl_flower.workflows.build_learner import build_learner

FEWER = settings(max_examples=50)
ONES = torch.ones(4, 25)
X = torch.zeros(1797, 1, 8, 2)


@pytest.fixture(autouse=True)
def global_state() -> Iterator[None]:
    """Leave torch's global generator as it was."""
    before = torch.get_rng_state()
    yield
    torch.set_rng_state(before)


# Batches ------------------------------------------------------------------------------------------


@FEWER
@given(
    st.integers(0, 2**40),
    st.integers(0, 100),
    st.lists(st.integers(0, 2**31 - 1), min_size=1, max_size=80, unique=True),
    st.integers(1, 90),
)
def test_batches_hold_every_row_once(seed: int, epoch: int, rows: list[int], size: int) -> None:
    train = np.array(rows, np.int32)
    made = batches(seed, epoch, train, size)
    assert sorted(np.concatenate(made).tolist()) == sorted(rows)
    assert {batch.dtype for batch in made} == {np.dtype(np.int32)}
    assert [len(batch) for batch in made[:-1]] == [size] * (len(made) - 1)
    assert 1 <= len(made[-1]) <= size
    assert train.tolist() == rows  # the argument is left alone


@FEWER
@given(st.integers(0, 2**40), st.integers(0, 10**6), st.integers(1, 40))
def test_turns_come_to_everybody_once_before_they_come_again(
    seed: int, n: int, parties: int
) -> None:
    steps = range(n * parties, (n + 1) * parties)
    assert sorted(turn(seed, step, parties) for step in steps) == list(range(1, parties + 1))


def test_turns_follow_from_the_seed_and_are_in_no_fixed_order() -> None:
    def order(seed: int) -> list[int]:
        return [turn(seed, step, 5) for step in range(50)]

    assert order(3) == order(3) != order(4)
    assert len({tuple(order(3)[n : n + 5]) for n in range(0, 50, 5)}) > 5


def flat(seed: int, epoch: int) -> list[int]:
    made: list[int] = np.concatenate(
        batches(seed, epoch, np.arange(50, dtype=np.int32), 7)
    ).tolist()
    return made


def test_batches_are_a_pure_function() -> None:
    first = flat(3, 4)
    np.random.seed(1)
    torch.manual_seed(1)
    flat(9, 9)
    assert flat(3, 4) == first


def test_batches_differ_by_epoch_and_seed() -> None:
    orders = {tuple(flat(seed, epoch)) for seed in range(4) for epoch in range(5)}
    assert len(orders) == 20
    assert tuple(range(50)) not in orders


# Dropout ------------------------------------------------------------------------------------------


def test_dropout_draws_from_its_generator_only() -> None:
    dropout = Dropout(0.5)
    sequences = []
    for noise in (0, 1):
        torch.manual_seed(noise)
        dropout.generator = torch.Generator().manual_seed(5)
        before = torch.get_rng_state()
        sequences.append(torch.stack([dropout(ONES) for _ in range(3)]))
        assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(*sequences)
    assert not torch.equal(sequences[0][0], sequences[0][1])


def test_dropout_zeroes_a_share_and_keeps_the_mean() -> None:
    dropout = Dropout(0.25)
    dropout.generator = torch.Generator().manual_seed(0)
    y = dropout(torch.ones(100_000))
    assert y.unique().tolist() == pytest.approx([0.0, 1 / 0.75])
    assert (y == 0).double().mean().item() == pytest.approx(0.25, abs=0.01)
    assert y.mean().item() == pytest.approx(1, abs=0.02)


def test_dropout_does_nothing_in_evaluation() -> None:
    dropout = Dropout(0.5).eval()
    generator = torch.Generator().manual_seed(0)
    dropout.generator = generator
    before = generator.get_state()
    assert torch.equal(dropout(ONES), ONES)
    assert torch.equal(generator.get_state(), before)


def test_attach_reaches_every_dropout() -> None:
    net = nn.Sequential(Dropout(0.5), nn.Sequential(nn.ReLU(), Dropout(0.1)))
    randomness = Randomness(public_origin(0, 1))
    randomness.attach(net)
    found = [module.generator for module in net.modules() if isinstance(module, Dropout)]
    assert len(found) == 2
    assert all(generator is randomness.generator for generator in found)


# Torch's global generator -------------------------------------------------------------------------


def test_running_swaps_the_global_state_and_puts_it_back() -> None:
    randomness = Randomness(public_origin(3, 1))
    net = nn.Dropout(0.5)
    torch.manual_seed(11)
    expected = torch.rand(4)
    torch.manual_seed(11)
    with randomness.running(net):
        first = net(ONES)
    assert torch.equal(torch.rand(4), expected)  # as if nothing had been drawn
    with randomness.running(net):
        second = net(ONES)
    assert not torch.equal(first, second)  # its own sequence goes on

    torch.manual_seed(99)
    again = Randomness(public_origin(3, 1))
    for earlier in (first, second):
        with again.running(net):
            assert torch.equal(net(ONES), earlier)


def test_running_puts_the_global_state_back_after_a_failure() -> None:
    before = torch.get_rng_state()
    with pytest.raises(ZeroDivisionError), Randomness(public_origin(0, 1)).running(nn.Dropout(0.5)):
        torch.rand(1)
        raise ZeroDivisionError
    assert torch.equal(torch.get_rng_state(), before)


def test_a_network_with_own_randomness_runs_without_the_swap() -> None:
    randomness = Randomness(public_origin(0, 1))
    before = torch.get_rng_state()
    with randomness.running(SplitNet(nn.ReLU(), nn.ReLU())):
        assert torch.equal(torch.get_rng_state(), before)


def test_parties_and_seeds_have_sequences_of_their_own() -> None:
    firsts = []
    for seed in range(3):
        for rank in range(3):
            randomness = Randomness(public_origin(seed, rank))
            firsts.append(tuple(torch.rand(4, generator=randomness.generator).tolist()))
            with randomness.running(nn.Dropout(0.5)):
                assert tuple(torch.rand(4).tolist()) == firsts[-1]
    assert len(set(firsts)) == 9


def test_its_state_round_trips() -> None:
    randomness, net = Randomness(public_origin(0, 1)), nn.Dropout(0.5)

    def draw(source: Randomness) -> Tensor:
        with source.running(net):
            return torch.cat([net(ONES).flatten(), torch.rand(9, generator=source.generator)])

    draw(randomness)
    state = randomness.state_dict()
    expected = draw(randomness)
    other = Randomness(public_origin(8, 8))
    other.load_state_dict(state)
    assert torch.equal(draw(other), expected)
    assert not torch.equal(draw(Randomness(public_origin(0, 1))), expected)  # the state matters


def test_a_kept_state_does_not_move_on() -> None:
    """A saved state stays the same when the party draws again."""
    randomness = Randomness(public_origin(0, 1))
    state = randomness.state_dict()
    kept = {name: value.clone() for name, value in state.items()}
    torch.rand(9, generator=randomness.generator)
    with randomness.running(nn.Dropout(0.5)):
        torch.rand(9)
    assert all(torch.equal(state[name], kept[name]) for name in kept)


# Initial weights ----------------------------------------------------------------------------------


def weights(cfg: RunConfig, rank: int) -> Tensor:
    return nn.utils.parameters_to_vector(
        build_learner(cfg, replace(load_party(cfg, rank), x=X)).net.parameters()
    ).detach()


@pytest.mark.parametrize("models", ["mlp", "cnn", "lenet"])
def test_initial_weights_are_a_function_of_seed_and_place(models: str) -> None:
    cfg = RunConfig(models=models)
    torch.manual_seed(1)
    first = weights(cfg, 1)
    torch.manual_seed(2)
    weights(cfg, 2)
    busy = RunConfig(models=models, epochs=3, optimizers="sgd", parties=6, blinding="none")
    assert torch.equal(weights(cfg, 1), first)
    assert torch.equal(weights(busy, 1), first)
    assert not torch.equal(weights(cfg, 2), first)
    assert not torch.equal(weights(RunConfig(models=models, seed=1), 1), first)


def test_building_does_not_disturb_torchs_global_generator() -> None:
    before = torch.get_rng_state()
    weights(RunConfig(models="lenet"), 1)
    assert torch.equal(torch.get_rng_state(), before)


# Threads ------------------------------------------------------------------------------------------

FORWARDS = 60


def with_torchs_dropout() -> nn.Module:
    """Return a user's network, which draws from the global generator."""
    return nn.Sequential(nn.Dropout(0.5), nn.Dropout(0.1))


def with_our_dropout() -> nn.Module:
    return SplitNet(nn.Sequential(Dropout(0.5), Dropout(0.1)), nn.ReLU()).train()


def sequence(make: Callable[[], nn.Module], rank: int, start: Barrier) -> Tensor:
    """Run one party's network many times."""
    randomness, net = Randomness(public_origin(0, rank)), make()
    randomness.attach(net)
    passes = net.embed if isinstance(net, SplitNet) else net
    start.wait(timeout=60)
    outputs = []
    for _ in range(FORWARDS):
        with randomness.running(net):
            outputs.append(passes(ONES))
    return torch.stack(outputs)


@pytest.mark.parametrize("make", [with_torchs_dropout, with_our_dropout])
def test_parties_in_threads_draw_as_if_alone(make: Callable[[], nn.Module]) -> None:
    places = range(1, 5)
    alone = [sequence(make, rank, Barrier(1)) for rank in places]
    together = Barrier(len(places))
    with ThreadPoolExecutor(len(places)) as pool:
        running = [pool.submit(sequence, make, rank, together) for rank in places]
        beside = [future.result(timeout=60) for future in running]
    for mine, same in zip(alone, beside, strict=True):
        assert torch.equal(mine, same)
    assert len({mine.numpy().tobytes() for mine in alone}) == len(places)


def test_networks_are_built_alike_in_threads() -> None:
    cfg, places = RunConfig(models="mlp"), [0, 1, 2, 3] * 3
    alone = [weights(cfg, rank) for rank in places]
    with ThreadPoolExecutor(4) as pool:
        beside = list(pool.map(weights, [cfg] * len(places), places))
    assert all(torch.equal(a, b) for a, b in zip(alone, beside, strict=True))
