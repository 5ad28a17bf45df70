"""Common base of encodings of labels."""

from abc import ABC, abstractmethod
from collections.abc import Collection
from typing import ClassVar

import torch
from torch import Tensor, nn

from vfl_flower.common.errors import ConfigError
from vfl_flower.common.names import load_object
from vfl_flower.config.catalog import BINARY, LOSSES, MULTI_CLASS
from vfl_flower.config.options.defences.labels import read_encoding
from vfl_flower.config.run_config import RunConfig
from vfl_flower.learning.device import threads
from vfl_flower.learning.losses import SOFTMAX, Link

_WHY = {
    BINARY: "codes of two classes differ in one direction only, and a residual's sign there tells "
    "the class but for its name"
}
"""Reasons against tasks, where they are not that labels are no classes."""


class LabelEncoding(nn.Module, ABC):
    """Soft codes of classes, and their decoder.

    Its class says which attack it answers, and what it costs. It guarantees nothing. All that it
    has learnt is buffers: optimizers pass it by, and a network that it is a part of saves it.

    Parameters
    ----------
    classes : int
        C.
    argument : float
        The number behind the colon of ``label-encoding``.
    link : Link
        Of the run's loss.

    Attributes
    ----------
    tasks : collection of str
        Those whose labels it can encode.
    codes : Tensor
        (C, C), the code of each class: a distribution. Zeros before `learn`.
    """

    tasks: ClassVar[Collection[str]] = (BINARY, MULTI_CLASS)
    codes: Tensor

    def __init__(self, classes: int, argument: float, link: Link) -> None:
        super().__init__()
        self.classes, self.argument, self.link = classes, argument, link
        self.register_buffer("codes", torch.zeros(classes, classes))

    @abstractmethod
    def learn(self) -> None:
        """Make codes and decoder, from torch's global generator alone.

        Neither columns nor labels of any row are used.

        Raises
        ------
        ConfigError
            If no code that can be decoded was found.
        """

    @abstractmethod
    def probabilities(self, means: Tensor) -> Tensor:
        """Decode mixtures of codes to probabilities of classes, (B, C) each."""

    def encoded(self, target: Tensor) -> Tensor:
        """Encode labels, (B,), or distributions over classes, (B, C).

        A distribution becomes the mixture of codes: the minimiser of a cross-entropy against
        codes is the one of the classes' probabilities. Returns (B, C), float32.
        """
        return self.codes[target] if target.dim() == 1 else target @ self.codes

    def decoded(self, outputs: Tensor) -> Tensor:
        """Return the logarithms of the classes' probabilities: (B, C) -> (B, C)."""
        return SOFTMAX.outputs(self.probabilities(self.link.means(outputs)))

    def plain(self, decoded: Tensor) -> Tensor:
        """Return outputs as of a network that learnt plain labels.

        (B, C), of `decoded` -> (B, C): the loss's means of the result are the classes'
        probabilities.
        """
        return self.link.outputs(decoded.softmax(1))


def encoding_of(cfg: RunConfig, task: str, classes: int, loss: str) -> LabelEncoding | None:
    """Make the run's encoding of labels; None without.

    It is learnt if the run trains, from torch's global generator; a model folder has it otherwise.

    Parameters
    ----------
    cfg : RunConfig
        The run's configuration.
    task : str
        Of its labels.
    classes : int
        C.
    loss : str
        Name of the run's loss.

    Raises
    ------
    ConfigError
        If it cannot encode labels of this task.
    """
    if not cfg.encoded:
        return None
    spec, argument = read_encoding(cfg.label_encoding)
    kind: type[LabelEncoding] = load_object(spec.build)
    if task not in kind.tasks:
        why = _WHY.get(task, "it encodes classes, one of each row")
        raise ConfigError(
            f"label-encoding is {cfg.label_encoding}, and this run's task is {task}: {why}; use "
            "label-encoding = none"
        )
    made = kind(classes, argument, load_object(LOSSES[loss].link))
    if cfg.task == "train":
        with threads(1):  # sums, and so codes, depend on their number
            made.learn()
    return made
