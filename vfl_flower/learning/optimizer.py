"""How a party goes downhill: its optimiser, its learning rate and how that decays."""

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from torch import Tensor, nn
from torch.optim import SGD, Adagrad, Adam, Optimizer

Groups = Iterable[dict[str, Any]]
INITIAL = "initial_lr"  # as torch's own schedules call it

OPTIMIZERS: dict[str, Callable[[Groups, float], Optimizer]] = {
    "sgd": lambda parameters, lr: SGD(parameters, lr),
    "momentum": lambda parameters, lr: SGD(parameters, lr, momentum=0.9),
    "adagrad": lambda parameters, lr: Adagrad(parameters, lr),
    "adam": lambda parameters, lr: Adam(parameters, lr),
}


SCHEDULES: dict[str, Callable[[float], float]] = {
    "constant": lambda done: 1.0,
    "cosine": lambda done: 0.5 * (1 + math.cos(math.pi * min(done, 1.0))),
}
"""Factor of the learning rate by the share of the run's steps that is done."""


class ScheduledOptimizer:
    """An optimiser and its schedule.

    Parameters
    ----------
    rates : mapping of nn.Module to float
        The networks whose parameters it changes, and the initial learning rate of each.
    optimizer : str
        A key of `OPTIMIZERS`.
    schedule : str
        A key of `SCHEDULES`.
    steps : int
        How many steps the whole run takes.
    """

    def __init__(
        self, rates: Mapping[nn.Module, float], optimizer: str, schedule: str, steps: int
    ) -> None:
        groups = [{"params": [*net.parameters()], INITIAL: rate} for net, rate in rates.items()]
        self.rate = next(iter(rates.values()))
        self.optimizer = OPTIMIZERS[optimizer](groups, self.rate)
        self.schedule, self.steps = SCHEDULES[schedule], max(steps, 1)
        self.taken = 0.0

    def add(self, parameter: nn.Parameter) -> None:
        """Change a parameter that the first network has got since, too."""
        self.optimizer.add_param_group({"params": [parameter], INITIAL: self.rate})

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
            group["lr"] = group[INITIAL] * factor
        self.optimizer.step()
        self.taken += 1 / of

    def state_dict(self) -> dict[str, Any]:
        """Return the optimiser's state and the steps taken."""
        return {"optimizer": self.optimizer.state_dict(), "taken": self.taken}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take back what `state_dict` gave."""
        self.optimizer.load_state_dict(state["optimizer"])
        self.taken = state["taken"]
