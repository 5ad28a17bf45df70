"""Optimizers and learning-rate schedules."""

import math
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from torch import Tensor, nn
from torch.optim import SGD, Adagrad, Adam, Optimizer

from vfl_flower.common.names import load_object
from vfl_flower.config.catalog import OPTIMIZERS, SCHEDULES

Groups = Iterable[dict[str, Any]]
Build = Callable[[Groups, float], Optimizer]
_INITIAL = "initial_lr"  # as torch's own schedules call it

sgd: Build = SGD
momentum: Build = partial(SGD, momentum=0.9)
adagrad: Build = Adagrad
adam: Build = Adam


def optimizer_of(name: str, groups: Groups, rate: float) -> Optimizer:
    """Build an optimizer by name for groups of parameters."""
    build: Build = load_object(OPTIMIZERS[name].build)
    return build(groups, rate)


def constant(done: float) -> float:
    """Leave the learning rate as it is."""
    return 1.0


def cosine(done: float) -> float:
    """Lower the learning rate to 0 along half a cosine."""
    return 0.5 * (1 + math.cos(math.pi * min(done, 1.0)))


def schedule_of(name: str) -> Callable[[float], float]:
    """Import a learning-rate schedule.

    It maps the share of steps that is done to a factor of the rate.
    """
    schedule: Callable[[float], float] = load_object(SCHEDULES[name])
    return schedule


class ScheduledOptimizer:
    """An optimizer and its schedule.

    Parameters
    ----------
    rates : mapping of nn.Module to float
        The networks whose parameters it changes, and the initial learning rate of each.
    optimizer : str
        A key of `vfl_flower.config.catalog.OPTIMIZERS`.
    schedule : str
        A key of `vfl_flower.config.catalog.SCHEDULES`.
    steps : int
        How many steps the whole run takes.
    """

    def __init__(
        self, rates: Mapping[nn.Module, float], optimizer: str, schedule: str, steps: int
    ) -> None:
        groups = [{"params": [*net.parameters()], _INITIAL: rate} for net, rate in rates.items()]
        self.rate = next(iter(rates.values()))
        self.optimizer = optimizer_of(optimizer, groups, self.rate)
        self.schedule, self.steps = schedule_of(schedule), max(steps, 1)
        self.taken = 0.0

    def add(self, parameter: nn.Parameter) -> None:
        """Change a parameter that the first network has got since, too."""
        self.optimizer.add_param_group({"params": [parameter], _INITIAL: self.rate})

    def down(self, loss: Tensor, of: int = 1) -> None:
        """Take one step down a scalar loss; see `step`."""
        self.zero()
        loss.backward()
        self.step(of)

    def zero(self) -> None:
        """Forget the gradients."""
        self.optimizer.zero_grad()

    def step(self, of: int = 1) -> None:
        """Apply the gradients that are there and move the schedule on.

        Parameters
        ----------
        of : int
            Of how many that the schedule counts as one of the run's steps this is one.
        """
        factor = self.schedule(self.taken / self.steps)
        for group in self.optimizer.param_groups:
            group["lr"] = group[_INITIAL] * factor
        self.optimizer.step()
        self.taken += 1 / of

    def state_dict(self) -> dict[str, Any]:
        """Return the optimizer's state and the steps taken."""
        return {"optimizer": self.optimizer.state_dict(), "taken": self.taken}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore the state of `state_dict`."""
        self.optimizer.load_state_dict(state["optimizer"])
        self.taken = state["taken"]
