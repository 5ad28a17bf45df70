"""Learning-rate schedules, and optimizers that resume exactly."""

from itertools import pairwise
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from vfl_flower.common.state import read_state, write_state
from vfl_flower.config.optimization.optimizers import OPTIMIZERS
from vfl_flower.config.optimization.schedules import SCHEDULES
from vfl_flower.learning.optimizer import ScheduledOptimizer, cosine

STEPS = 8


def small_net() -> nn.Linear:
    net = nn.Linear(3, 2)
    with torch.no_grad():
        net.weight.copy_(torch.arange(6.0).reshape(2, 3) / 10)
        net.bias.zero_()
    return net


def loss_of(net: nn.Linear, step: int) -> Tensor:
    x = torch.tensor([[1.0, step, -0.5 * step]])
    output: Tensor = net(x)
    return ((output - 1) ** 2).sum() / 10


def descend(net: nn.Linear, scheduled: ScheduledOptimizer, steps: range) -> None:
    for step in steps:
        scheduled.down(loss_of(net, step))


def rates(schedule: str, steps: int) -> list[float]:
    """Return the learning rate of each step, as the optimizer has it."""
    net = small_net()
    scheduled = ScheduledOptimizer({net: 0.2}, "sgd", schedule, steps)
    seen = []
    for step in range(steps):
        scheduled.down(loss_of(net, step))
        seen.append(scheduled.optimizer.param_groups[0]["lr"])
    return seen


def test_constant_stays() -> None:
    assert rates("constant", 20) == [0.2] * 20


def test_cosine_starts_at_the_rate_and_ends_near_zero() -> None:
    seen = rates("cosine", 100)
    assert seen[0] == 0.2
    assert seen[50] == pytest.approx(0.1)
    assert 0 < seen[-1] < 0.2 * 0.001
    assert all(later < earlier for earlier, later in pairwise(seen))


def test_cosine_never_rises_again_nor_turns_negative() -> None:
    factors = [cosine(done) for done in (0.0, 1.0, 1.5, 100.0)]
    assert factors == [1.0, 0.0, 0.0, 0.0]


def test_a_run_of_one_or_no_step_works() -> None:
    assert rates("cosine", 1) == [0.2]
    ScheduledOptimizer({small_net(): 0.2}, "sgd", "cosine", 0)


@pytest.mark.parametrize("warmup", ["8%", "8"])
def test_a_warm_up_rises_in_equal_steps_and_the_schedule_follows(warmup: str) -> None:
    seen = rates(f"linear:warmup={warmup}", 100)
    rise = [0.2 * (n + 1) / 8 for n in range(8)]
    assert seen == pytest.approx([*rise, *(0.2 * (1 - n / 92) for n in range(92))])


def test_a_warm_up_longer_than_the_run_only_rises() -> None:
    assert rates("cosine:warmup=40", 2) == pytest.approx([0.005, 0.01])
    assert rates("constant:warmup=100%", 2) == pytest.approx([0.1, 0.2])


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_the_loss_falls(optimizer: str) -> None:
    net = small_net()
    before = loss_of(net, 2).item()
    scheduled = ScheduledOptimizer({net: 0.01}, optimizer, "constant", STEPS)
    for _ in range(STEPS):
        scheduled.down(loss_of(net, 2))
    assert loss_of(net, 2).item() < before


def test_momentum_is_not_plain_descent() -> None:
    ends = []
    for optimizer in ("sgd", "momentum"):
        net = small_net()
        descend(net, ScheduledOptimizer({net: 0.01}, optimizer, "constant", STEPS), range(STEPS))
        ends.append(net.weight.detach())
    assert not torch.equal(*ends)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_a_parameter_that_is_added_learns_as_the_others_do(optimizer: str) -> None:
    """Two halves of one network, the second added, equal the whole."""
    whole, part = small_net(), small_net()
    bias, part.bias = part.bias, None  # type: ignore[assignment]
    descents = [ScheduledOptimizer({net: 0.1}, optimizer, "cosine", STEPS) for net in (whole, part)]
    part.register_parameter("bias", bias)
    descents[1].add(bias)
    for net, scheduled in zip((whole, part), descents, strict=True):
        descend(net, scheduled, range(STEPS))
    assert whole.weight.equal(part.weight)
    assert whole.bias.equal(part.bias)
    assert whole.bias.all()


def test_zero_forgets_gradients() -> None:
    net = small_net()
    scheduled = ScheduledOptimizer({net: 0.1}, "sgd", "constant", STEPS)
    loss_of(net, 1).backward()
    scheduled.zero()
    before = net.weight.clone()
    scheduled.step()
    assert torch.equal(net.weight, before)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_it_continues_from_a_checkpoint_bit_for_bit(
    optimizer: str, schedule: str, tmp_path: Path
) -> None:
    half = STEPS // 2
    net = small_net()
    scheduled = ScheduledOptimizer({net: 0.05}, optimizer, schedule, STEPS)
    descend(net, scheduled, range(half))
    write_state(tmp_path / "state", {"net": net.state_dict(), "optimizer": scheduled.state_dict()})
    descend(net, scheduled, range(half, STEPS))

    ends = {}
    for restored in (True, False):
        state = read_state(tmp_path / "state")
        again = small_net()
        again.load_state_dict(state["net"])
        fresh = ScheduledOptimizer({again: 0.05}, optimizer, schedule, STEPS)
        if restored:
            fresh.load_state_dict(state["optimizer"])
            assert fresh.taken == half
        descend(again, fresh, range(half, STEPS))
        ends[restored] = again.weight.detach()
    assert torch.equal(ends[True], net.weight)
    stateless = (optimizer, schedule) == ("sgd", "constant")
    assert torch.equal(ends[False], net.weight) == stateless  # the state matters
