"""How a party goes downhill: its optimiser, its learning rate and how that decays."""

import math
from collections.abc import Callable, Iterable
from typing import Any

from torch import Tensor, nn
from torch.optim import SGD, Adagrad, Adam, Optimizer

OPTIMIZERS: dict[str, Callable[[Iterable[nn.Parameter], float], Optimizer]] = {
    "sgd": lambda parameters, lr: SGD(parameters, lr),
    "momentum": lambda parameters, lr: SGD(parameters, lr, momentum=0.9),
    "adagrad": lambda parameters, lr: Adagrad(parameters, lr),
    "adam": lambda parameters, lr: Adam(parameters, lr),
}

DEFAULT_RATES = {"sgd": 0.05, "momentum": 0.01, "adagrad": 0.02, "adam": 0.003}

SCHEDULES: dict[str, Callable[[float], float]] = {
    "constant": lambda done: 1.0,
    "cosine": lambda done: 0.5 * (1 + math.cos(math.pi * min(done, 1.0))),
}
"""Factor of the learning rate by the share of the run's steps that is done."""


class Descent:
    """An optimiser and its schedule.

    Parameters
    ----------
    net : nn.Module
        Whose parameters it changes.
    optimizer : str
        A key of `OPTIMIZERS`.
    rate : float
        The initial learning rate.
    schedule : str
        A key of `SCHEDULES`.
    steps : int
        How many steps the whole run takes.
    """

    def __init__(
        self, net: nn.Module, optimizer: str, rate: float, schedule: str, steps: int
    ) -> None:
        self.optimizer = OPTIMIZERS[optimizer](net.parameters(), rate)
        self.rate, self.schedule, self.steps = rate, SCHEDULES[schedule], max(steps, 1)
        self.taken = 0.0

    def add(self, parameter: nn.Parameter) -> None:
        """Change a parameter that the network has got since, too."""
        self.optimizer.add_param_group({"params": [parameter]})

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
            group["lr"] = self.rate * factor
        self.optimizer.step()
        self.taken += 1 / of

    def state_dict(self) -> dict[str, Any]:
        """Return the optimiser's state and the steps taken."""
        return {"optimizer": self.optimizer.state_dict(), "taken": self.taken}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take back what `state_dict` gave."""
        self.optimizer.load_state_dict(state["optimizer"])
        self.taken = state["taken"]
