"""Gradients and top models of a lying active party are refused."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from strategies.c_vfl import CVFL
from tests.helpers.contract import configured
from vfl_flower.common.codec import Array
from vfl_flower.common.errors import PartyError
from vfl_flower.parties.passive import PassiveParty
from vfl_flower.transport.local import run_local
from vfl_flower.workflows.build_parties import build_active, build_passive

Lie = Callable[[tuple[Array, ...]], Sequence[Array]]


def no_point(told: tuple[Array, ...]) -> list[Array]:
    return [told[0], np.full_like(told[1], 255), *told[2:]]


LIES: dict[str, tuple[Lie, str]] = {
    "a point that is none": (no_point, "no lattice point 1023"),
    "a range upside down": (lambda t: [t[0][::-1].copy(), *t[1:]], "least number is above"),
    "a range without end": (
        lambda t: [np.array([0, np.inf], np.float32), *t[1:]],
        "number that is not finite",
    ),
    "too few bytes": (lambda t: [t[0], t[1][:-1], *t[2:]], "array . of phase .* is uint8"),
    "as it is": (lambda t: [np.zeros((200, 16), np.float32), *t[1:]], "array . of phase"),
}


def lied_to(lie: Lie, monkeypatch: pytest.MonkeyPatch, **options: Any) -> list[PassiveParty]:
    """Run until the lie is found out, and return the passive parties."""
    honest = CVFL.sent_down

    def sent_down(self: CVFL, tensors: Sequence[Tensor]) -> tuple[Array, ...]:
        return tuple(lie(honest(self, tensors)))

    monkeypatch.setattr(CVFL, "sent_down", sent_down)
    cfg = configured("c_vfl").changed(downlink="lattice:5", **options)
    parties = [build_passive(cfg, k) for k in range(1, 4)]
    run_local(build_active(cfg), parties)
    return parties


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("name", LIES)
def test_what_was_not_compressed_as_agreed_is_refused(
    name: str, shared: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    lie, message = LIES[name]
    with pytest.raises(PartyError, match=message):
        lied_to(lie, monkeypatch, share_labels=shared)


def test_the_truth_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    parties = lied_to(lambda told: told, monkeypatch, epochs=1)
    assert all(torch.isfinite(p).all() for party in parties for p in party.net.parameters())
