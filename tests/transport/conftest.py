"""Fixtures of tests of sessions."""

import pytest
import torch

from tests.helpers.connections.sessions import CFG, K
from vfl_flower.transport.local import run_local
from vfl_flower.transport.stream import session_opener as opening
from vfl_flower.workflows.build_parties import build_active, build_passive


@pytest.fixture(scope="session")
def undisturbed() -> dict[str, torch.Tensor]:
    """Return the active party's weights after a local run."""
    active = build_active(CFG)
    run_local(active, [build_passive(CFG, k) for k in range(1, K + 1)])
    return active.net.state_dict()


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nodes be looked at and invited again sooner than in earnest."""
    monkeypatch.setattr(opening, "POLL", 0.1)
    monkeypatch.setattr(opening, "AGAIN", 0.3)
