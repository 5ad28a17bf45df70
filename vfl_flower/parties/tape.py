"""Recorded forward passes of one step, kept between its requests.

A live party keeps the autograd graph. A party that was rebuilt meanwhile runs the passes again,
from the same buffers (BatchNorm statistics) and generator, and comes to the same bits.

Where noise protects single rows, the pass that takes row numbers keeps no graph: it runs again, row
by row, once its gradient is there; see `vfl_flower.privacy.client_dp.row_level.gradients`.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from vfl_flower.common.errors import ProtocolError
from vfl_flower.common.state import State
from vfl_flower.parties.passive import PassiveParty
from vfl_flower.protocol.components import Component

Pass = Callable[[Tensor], Tensor]


class Tape(Component):
    """Records named forward passes, each a function of one small tensor.

    A client says in its constructor what the passes are::

        self.tape.passes = {"embed": lambda rows: net.embed(x[rows]), "predict": net.decide}
    """

    name = "tape"
    party: PassiveParty

    def __init__(self, party: PassiveParty) -> None:
        super().__init__(party)
        self.passes: dict[str, Pass] = {}
        self._buffers = dict(party.net.named_buffers())
        self._before: State = {}
        self._inputs: dict[str, Tensor] = {}
        self._live: dict[str, tuple[Tensor, Tensor]] = {}

    def start(self, name: str, value: Tensor) -> Tensor:
        """Begin a step with its first pass, and return the detached result."""
        buffers = {n: b.clone() for n, b in self._buffers.items()}
        self._before = {"buffers": buffers, "randomness": self.party.randomness.state_dict()}
        self._inputs, self._live = {}, {}
        return self.run(name, value)

    def run(self, name: str, value: Tensor) -> Tensor:
        """Go on with another pass, and return the detached result."""
        self._inputs[name] = value
        self._live[name] = self._forward(name, value)
        return self._live[name][1].detach()

    def __getitem__(self, name: str) -> tuple[Tensor, Tensor]:
        """Return a pass's input and its result with the autograd graph.

        A float input is a leaf.
        """
        if name not in self._inputs:
            raise ProtocolError(f"a gradient came for '{name}', which has not run in this step")
        if name not in self._live:  # the party was rebuilt since
            self._rewind()
            self._live = {n: self._forward(n, value) for n, value in self._inputs.items()}
        return self._live[name]

    def backward(self, name: str, gradient: Tensor) -> Tensor:
        """Run one pass backward from the gradient of its result.

        The network's parameters gather their gradients; the input's is returned (empty if the
        input is no float).
        """
        leaf, result = self[name]
        if self.party.frozen:
            return torch.zeros_like(leaf) if leaf.is_floating_point() else torch.empty(0)
        if self._by_row(leaf):
            self._backward_by_row(name, leaf, gradient)
            return torch.empty(0)
        with self.party.profile.doing("backward"):
            result.backward(gradient)
        return torch.empty(0) if leaf.grad is None else leaf.grad

    def _forward(self, name: str, value: Tensor) -> tuple[Tensor, Tensor]:
        leaf = value.detach().requires_grad_() if value.is_floating_point() else value
        if self._by_row(leaf):
            return leaf, self.party.row_gradients.forward(self.passes[name], leaf)
        return leaf, self.passes[name](leaf)

    def _by_row(self, value: Tensor) -> bool:
        """Tell whether a pass takes rows that noise protects."""
        return self.party.cfg.row_level and not value.is_floating_point()

    def _backward_by_row(self, name: str, rows: Tensor, gradient: Tensor) -> None:
        """Gather noised gradients of the step's first pass, and end it.

        Another draw of the noise would cost again.
        """
        gradients, run = self.party.row_gradients, self.passes[name]
        now = self.party.randomness.state_dict()
        with self.party.profile.doing("backward"):
            self._rewind()
            names = gradients.depended_on(run, rows)
            self._rewind()
            gradients.backward(run, rows, gradient, names)
        self.party.randomness.load_state_dict(now)
        self._inputs, self._live = {}, {}

    def _rewind(self) -> None:
        with torch.no_grad():
            for name, buffer in self._buffers.items():
                buffer.copy_(self._before["buffers"][name])
        self.party.randomness.load_state_dict(self._before["randomness"])

    def state_dict(self) -> State:
        """Return the inputs and starting states of the passes."""
        return {"before": self._before, "inputs": self._inputs}

    def load_state_dict(self, state: State) -> None:
        """Restore the state of `state_dict`."""
        self._before, self._inputs, self._live = state["before"], state["inputs"], {}
