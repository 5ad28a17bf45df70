"""Defence of gradients on the way out of the active party."""

import os
from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
from torch import Tensor

from vfl_flower.common.codec import Array
from vfl_flower.common.errors import ConfigError, ProtocolError
from vfl_flower.config.run_config import RunConfig
from vfl_flower.crypto.discrete_sampling import Entropy
from vfl_flower.learning.losses import Labels
from vfl_flower.privacy.gradient_defences.defence import Classes, GradientDefence, defence_of
from vfl_flower.protocol.automaton.declaration import Phase
from vfl_flower.protocol.automaton.gradients import is_gradient, is_harmless
from vfl_flower.protocol.automaton.rules import Declared, Several
from vfl_flower.protocol.components import declared_by
from vfl_flower.protocol.exchange import Request

_STREAM = 0x6EAD
"""Keeps the noise of a public run apart from its other draws of the seed."""


class DefendedGradients:
    """Changes the gradients of all requests, and lets no undeclared one pass.

    Noise comes from the operating system where ``party-randomness`` is private. Else it follows
    from the seed, the step and the number of the array in the step, so that the run can be
    repeated and resumed; whoever knows the seed can then take it off.

    Parameters
    ----------
    cfg : RunConfig
        The run's configuration.
    defence : GradientDefence
        The run's.

    Raises
    ------
    ConfigError
        If the method declares no gradient.
    """

    def __init__(self, cfg: RunConfig, defence: GradientDefence) -> None:
        self.cfg, self.defence = cfg, defence
        _, client = cfg.spec.load()
        declared = declared_by(client)
        self._phases = {name: each for name, each in declared.items() if each.training}
        if not any(is_gradient(each) for phase in self._phases.values() for each in phase.takes):
            raise ConfigError(
                f"gradient-defence is {cfg.gradient_defence}, and no phase of {cfg.method} "
                "declares a gradient, with gradient(...) or residual(...); declare it, or use none"
            )
        self._step, self._count = -2, 0  # no step before the first
        self._classes: Classes = np.empty(0, np.int64)

    def begin(self, step: int, labels: Labels) -> None:
        """Begin a step.

        Parameters
        ----------
        step : int
            Its number.
        labels : Tensor or Weighted
            Of its rows, as they teach.

        Raises
        ------
        ProtocolError
            If the step before sent no gradient.
        """
        if step == self._step + 1 and not self._count:
            raise ProtocolError(
                f"step {self._step} of {self.cfg.method} sent no gradient that gradient-defence = "
                f"{self.cfg.gradient_defence} could change"
            )
        y = labels if isinstance(labels, Tensor) else labels.y
        rows = y.argmax(1) if y.dim() == 2 else y
        self._step, self._count = step, 0
        self._classes = rows.cpu().numpy().astype(np.int64)

    def applied(self, request: Request) -> Request:
        """Return a request with its gradients changed.

        Raises
        ------
        ProtocolError
            If it sends a phase of training something that is neither declared as a gradient nor
            harmless, or a gradient that cannot be changed.
        """
        phase = self._phases.get(request.phase)
        if phase is None or all(is_harmless(each) for each in phase.takes):
            return request
        return request.changed(partial(self._changed, request.phase, phase))

    def _changed(self, name: str, phase: Phase, arrays: Sequence[Array]) -> list[Array]:
        takes = [*_spread(phase.takes, len(arrays))]
        if len(takes) != len(arrays):
            raise ProtocolError(
                f"'{name}' is sent {len(arrays)} arrays, and which of them are gradients is not "
                "declared"
            )
        pairs = zip(takes, arrays, strict=True)
        return [self._one(name, declared, array) for declared, array in pairs]

    def _one(self, name: str, declared: Declared, array: Array) -> Array:
        """Change one array, if it is a gradient."""
        if is_harmless(declared):
            return array
        if not is_gradient(declared):
            raise ProtocolError(
                f"'{name}' is sent an array ({declared.text()}) that gradient-defence = "
                f"{self.cfg.gradient_defence} would let pass; declare it with gradient(...), or "
                "with activations(...) if it is of a forward pass"
            )
        if array.dtype != np.float32 or array.ndim != 2 or len(array) != len(self._classes):
            raise ProtocolError(
                f"the gradient of '{name}' is {array.dtype}{array.shape}, and gradient-defence "
                f"changes float32 of {len(self._classes)} rows"
            )
        if not np.isfinite(array).all():
            raise ProtocolError(
                f"the gradient of '{name}' is not finite, and cannot be changed; lower the "
                "learning rate"
            )
        self._count += 1
        return self.defence.changed(array, self._classes, self._entropy())

    def _entropy(self) -> Entropy:
        """Return the source of the next array's noise."""
        if self.cfg.party_randomness == "private":
            return os.urandom
        return np.random.default_rng([_STREAM, self.cfg.seed, self._step, self._count]).bytes


def _spread(takes: Sequence[Declared], arrays: int) -> Iterator[Declared]:
    """Yield each array's declaration; one of several arrays takes the rest."""
    spare = arrays - len(takes) + 1
    for each in takes:
        for _ in range(spare if isinstance(each, Several) else 1):
            yield each


def defended_gradients(cfg: RunConfig, task: str) -> DefendedGradients | None:
    """Return the defence of a training's gradients; None without.

    Parameters
    ----------
    cfg : RunConfig
        The run's configuration.
    task : str
        Of its labels.

    Raises
    ------
    ConfigError
        If it cannot defend labels of this task, or the method declares no gradient.
    """
    defence = defence_of(cfg) if cfg.task == "train" else None
    if defence is None:
        return None
    if task not in defence.tasks:
        raise ConfigError(
            f"gradient-defence is {cfg.gradient_defence}, which defends labels of "
            f"{' and '.join(defence.tasks)} tasks, and this run's task is {task}; use another one"
        )
    return DefendedGradients(cfg, defence)
