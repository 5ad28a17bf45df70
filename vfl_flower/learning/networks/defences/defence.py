"""Common base of defences of embeddings, where their penalties join.

A passive party's embedding net h_k is wrapped. Whatever its method does with the embedding, one
backward pass through that adds the penalty's gradient once:

    d(theta_k) = dL/dE_k dE_k/d(theta_k) + L dP(x_k, E_k)/d(theta_k)

L is the weight behind the colon, P a mean over the rows of the batch, as losses are. Methods do not
know of it, and nothing of it is sent. P acts in training alone, before rows are standardised or
clipped, noised and masked.
"""

from abc import ABC, abstractmethod
from typing import Any

import torch
from torch import Tensor, nn

from vfl_flower.common.errors import NetworkError
from vfl_flower.common.names import load_object
from vfl_flower.config.options.defences.embeddings import read_embedding_defence


class EmbeddingDefence(nn.Module, ABC):
    """An embedding net of a passive party under a defence.

    Its class says which attack it answers, and what it costs. It guarantees nothing.

    Parameters
    ----------
    embed : nn.Module
        h_k, (B, ...) -> (B, D).
    width : int
        D.
    argument : float
        The number behind the colon of ``embedding-defence``.
    """

    def __init__(self, embed: nn.Module, width: int, argument: float) -> None:
        super().__init__()
        self.embed, self.argument = embed, argument

    @abstractmethod
    def forward(self, x: Tensor) -> Tensor:
        """Embed columns: (B, ...) -> (B, D)."""


class _Penalised(torch.autograd.Function):
    """Identity of an embedding, through which a penalty has the gradient 1."""

    @staticmethod
    def forward(ctx: Any, E: Tensor, penalty: Tensor) -> Tensor:  # noqa: ANN401
        """Return the embedding."""
        ctx.like = penalty
        return E.view_as(E)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor]:  # noqa: ANN401
        """Return the embedding's gradient, and 1."""
        return gradients[0], torch.ones_like(ctx.like)


def penalised(E: Tensor, penalty: Tensor) -> Tensor:
    """Let backward passes through an embedding descend a penalty too.

    Parameters
    ----------
    E : Tensor
        (B, D).
    penalty : Tensor
        A number, with its graph; its gradient is added once for each backward pass.
    """
    made: Tensor = _Penalised.apply(E, penalty)  # type: ignore[no-untyped-call]
    return made


def defend(net: nn.Module, width: int, text: str) -> None:
    """Put a network's embedding net under a defence.

    Parameters
    ----------
    net : nn.Module
        With `embed` and `decide`.
    width : int
        D, of the embedding.
    text : str
        As ``embedding-defence`` writes it; not none.

    Raises
    ------
    ConfigError
        If it is not written as it must be.
    NetworkError
        If `embed` is a method of the network, which cannot be wrapped.
    """
    spec, argument = read_embedding_defence(text)
    if not isinstance(net.embed, nn.Module):
        raise NetworkError(
            f"embedding-defence is {text}, and `embed` of this network is a method; make it an "
            "nn.Module"
        )
    net.embed = load_object(spec.build)(net.embed, width, argument)
