"""Optimizers and learning-rate schedules."""

import math
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from inspect import unwrap
from typing import Any

from torch import Tensor, nn, no_grad
from torch.optim import Optimizer

from vfl_flower.common.errors import ConfigError, last_line
from vfl_flower.common.names import load_object
from vfl_flower.config.optimization.optimizers import read_optimizer
from vfl_flower.config.optimization.schedules import read_schedule

Groups = Iterable[dict[str, Any]]
_INITIAL = "initial_lr"  # as torch's own schedules call it
_TOLD = ("step", "add_param_group", "state_dict", "load_state_dict")


def optimizer_of(text: str, groups: Groups, rate: float) -> Optimizer:
    """Build an optimizer for groups of parameters.

    Raises
    ------
    ConfigError
        If the optimizer refuses its arguments, or this torch does not have it.
    """
    spec, arguments = read_optimizer(text)
    try:
        build: Callable[..., Optimizer] = _uncompiled(load_object(spec.build))
        return build(groups, lr=rate, **arguments)
    except (AttributeError, TypeError, ValueError) as error:
        raise ConfigError(f"optimizers: torch refuses '{text}': {last_line(error)}") from error


@cache
def _uncompiled(optimizer: type[Optimizer]) -> type[Optimizer]:
    """Derive an optimizer that does not tell torch's compiler of itself.

    Torch wraps these methods to keep its compiler out of them, and imports it for that, which costs
    a process 74 MiB and a second. Nothing is compiled here.
    """
    plain = {name: unwrap(getattr(optimizer, name)) for name in _TOLD}
    return type(optimizer.__name__, (optimizer,), plain | {"step": no_grad()(plain["step"])})


def constant(done: float) -> float:
    """Leave the learning rate as it is."""
    return 1.0


def cosine(done: float) -> float:
    """Lower the learning rate to 0 along half a cosine."""
    return 0.5 * (1 + math.cos(math.pi * min(done, 1.0)))


def linear(done: float) -> float:
    """Lower the learning rate to 0 along a line."""
    return 1 - min(done, 1.0)


def schedule_of(text: str) -> Callable[[float, int], float]:
    """Build a learning-rate schedule.

    It maps the steps that are done, and those of the whole run, to a factor of the rate. In
    a warm-up of W steps the n-th has n / W of the rate; the schedule then runs over the steps that
    are left.
    """
    spec = read_schedule(text)
    schedule: Callable[[float], float] = load_object(spec.factor)

    def factor(taken: float, steps: int) -> float:
        warmup = spec.warmup_steps or math.ceil(spec.warmup_share * steps)
        if taken < warmup:
            return min((taken + 1) / warmup, 1.0)
        return schedule((taken - warmup) / max(steps - warmup, 1))

    return factor


class ScheduledOptimizer:
    """An optimizer and its schedule.

    Parameters
    ----------
    rates : mapping of nn.Module to float
        The networks whose parameters it changes, and the initial learning rate of each.
    optimizer : str
        As `vfl_flower.config.optimization.optimizers.read_optimizer` reads it.
    schedule : str
        As `vfl_flower.config.optimization.schedules.read_schedule` reads it.
    steps : int
        How many steps the whole run takes.

    Attributes
    ----------
    frozen : bool
        Whether steps change no parameter.
    """

    def __init__(
        self, rates: Mapping[nn.Module, float], optimizer: str, schedule: str, steps: int
    ) -> None:
        groups = [{"params": [*net.parameters()], _INITIAL: rate} for net, rate in rates.items()]
        self.rate = next(iter(rates.values()))
        self._text = optimizer
        self.optimizer = optimizer_of(optimizer, groups, self.rate)
        self.schedule, self.steps = schedule_of(schedule), max(steps, 1)
        self.taken = 0.0
        self.frozen = False

    def add(self, parameter: nn.Parameter) -> None:
        """Add a parameter to the first network's, before any step."""
        groups = [*self.optimizer.param_groups, {"params": [parameter], _INITIAL: self.rate}]
        # anew: in older versions of torch some make a parameter's state when they are built
        self.optimizer = optimizer_of(self._text, groups, self.rate)

    def down(self, loss: Tensor, of: int = 1) -> None:
        """Take one step down a scalar loss; see `step`."""
        self.zero()
        loss.backward()
        self.step(of)

    def zero(self) -> None:
        """Forget the gradients.

        Torch's own `zero_grad` also tells its profiler, which takes longer.
        """
        for group in self.optimizer.param_groups:
            for parameter in group["params"]:
                parameter.grad = None

    def step(self, of: int = 1) -> None:
        """Apply the gradients that are there and move the schedule on.

        Parameters
        ----------
        of : int
            Of how many that the schedule counts as one of the run's steps this is one.
        """
        factor = self.schedule(self.taken, self.steps)
        for group in self.optimizer.param_groups:
            group["lr"] = group[_INITIAL] * factor
        if not self.frozen:
            self.optimizer.step()
        self.taken += 1 / of

    def state_dict(self) -> dict[str, Any]:
        """Return the optimizer's state and the steps taken."""
        return {"optimizer": self.optimizer.state_dict(), "taken": self.taken}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore the state of `state_dict`."""
        self.optimizer.load_state_dict(state["optimizer"])
        self.taken = state["taken"]
