"""Randomness of training: batches, initial weights and dropout.

Batches derive from ``seed``, which every party knows. A party's initial weights and dropout do too,
so that a run can be repeated, unless ``party-randomness`` is private: whoever knows a network's
weights can work out its input from its output. Keys and noise never come from here.
"""

import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from itertools import chain
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from vfl_flower.learning.dropout import Drawing

_GLOBAL_STATE = threading.RLock()
WORDS, _WORDS_AT = 624, 24  # of the Mersenne Twister, in a state of torch's generator


def public_origin(seed: int, rank: int) -> int:
    """Derive a party's public seed, which everybody can compute."""
    return int(np.random.SeedSequence([seed, rank]).generate_state(1, np.uint64)[0]) >> 1


def _private_state() -> Tensor:
    """Return a generator's state that only its party knows.

    A seed would not do: torch's generator takes 32 bits of it, which can be tried one by one. All
    of the Mersenne Twister's 624 words come from the operating system.
    """
    state = torch.Generator().manual_seed(0).get_state()
    words = state.numpy()[_WORDS_AT : _WORDS_AT + 8 * WORDS].view(np.uint64)
    words[:] = np.frombuffer(secrets.token_bytes(4 * WORDS), np.uint32)
    return state


class Randomness:
    """One party's source of randomness in training.

    Networks of this package draw from `generator`. A network that may draw from torch's global
    generator instead (anything without ``own_randomness = True``) runs alone, with the global
    state swapped for this party's, so that parties in threads do not disturb each other.

    Parameters
    ----------
    origin : int or None
        What everything drawn here derives from, see `public_origin`; None is private.
    """

    def __init__(self, origin: int | None) -> None:
        self._origin = origin
        self.generator = torch.Generator()
        self.generator.set_state(self._fresh())
        self.global_state = self._fresh()

    def _fresh(self, purpose: str = "") -> Tensor:
        if self._origin is None:
            return _private_state()
        origin = self._origin
        if purpose:
            digest = sha256(f"{purpose} {origin}".encode()).digest()
            origin = int.from_bytes(digest[:7], "little")
        return torch.Generator().manual_seed(origin).get_state()

    @contextmanager
    def building(self, purpose: str = "") -> Iterator[None]:
        """Make a network's initial weights a function of the origin, or private.

        Those of another purpose, such as a defence's, are independent of them.
        """
        with _GLOBAL_STATE, torch.random.fork_rng(devices=[]):
            torch.set_rng_state(self._fresh(purpose))
            yield

    def attach(self, net: nn.Module) -> None:
        """Let every `Drawing` module of a network draw from this generator."""
        for module in net.modules():
            if isinstance(module, Drawing):
                module.generator = self.generator

    @contextmanager
    def running(self, net: nn.Module) -> Iterator[None]:
        """Enclose a forward pass of a network."""
        if getattr(net, "own_randomness", False):
            yield
            return
        with _GLOBAL_STATE:
            others = torch.get_rng_state()
            torch.set_rng_state(self.global_state)
            if _on_gpu(net):  # whose own generator follows from this party's, each time
                torch.cuda.manual_seed(int(torch.randint(2**62, ())))
            try:
                yield
            finally:
                self.global_state = torch.get_rng_state()
                torch.set_rng_state(others)

    def state_dict(self) -> dict[str, Any]:
        """Return both generators' states."""
        return {"generator": self.generator.get_state(), "global_state": self.global_state.clone()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore the state of `state_dict`."""
        self.generator.set_state(state["generator"])
        self.global_state = state["global_state"]


def _on_gpu(net: nn.Module) -> bool:
    """Tell whether a network computes on a GPU."""
    return any(tensor.is_cuda for tensor in chain(net.parameters(), net.buffers()))
