"""Noted uploads."""

import pytest
from torch import Tensor

from vfl_flower.privacy.client_dp.component import ClientPrivacy


@pytest.fixture
def uploads(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Tensor, Tensor]]:
    """Record every party's values before and after noise, by kind."""
    noted: list[tuple[str, Tensor, Tensor]] = []
    true = ClientPrivacy.upload

    def upload(self: ClientPrivacy, x: Tensor, repeatable: bool, masked: bool) -> Tensor:
        sent = true(self, x, repeatable, masked)
        noted.append((self.party.received.phase, x, sent))
        return sent

    monkeypatch.setattr(ClientPrivacy, "upload", upload)
    return noted
