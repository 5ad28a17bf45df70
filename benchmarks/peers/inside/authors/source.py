"""Programs that are no packages: their files, and their networks' initial weights."""

import sys
from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor, nn

SOURCE, WEIGHTS = "source", "weights.pt"
"""Folder of the files in an environment, and file of the weights in a work."""


def find_source() -> None:
    """Let the files of this environment's repository be imported."""
    sys.path.insert(0, str(Path(sys.prefix) / SOURCE))


def weights(folder: Path) -> list[dict[str, Tensor]]:
    """Return the weights of all parties by name, the active one's first."""
    states: list[dict[str, Tensor]] = torch.load(folder / WEIGHTS, weights_only=True)
    return states


def copy_weights(network: nn.Module, state: Mapping[str, Tensor], prefix: str) -> None:
    """Give a network the weights of a prefix, in order.

    Raises
    ------
    ValueError
        If their numbers differ.
    """
    found = [value for name, value in state.items() if name.startswith(prefix)]
    with torch.no_grad():
        for own, value in zip(network.parameters(), found, strict=True):
            own.copy_(value)
