"""Derived uploads do not depend on columns."""

from pathlib import Path

import pytest
import torch
from flwr.common import FitIns, FitRes

from tests.helpers.client_privacy import configured
from tests.helpers.contract import Tap, carry, passive_parties
from vfl_flower.common.codec import from_parameters
from vfl_flower.config.registry import specs
from vfl_flower.protocol.components import declared_by
from vfl_flower.transport.endpoint import Endpoint
from vfl_flower.workflows.build_parties import build_active, build_passive

DERIVING = {
    method: [name for name, each in declared_by(spec.load()[1]).items() if each.derived]
    for method, spec in specs().items()
}
DERIVING = {method: names for method, names in DERIVING.items() if names}


def answered(sent: tuple[FitIns, FitRes], names: list[str]) -> bool:
    return str(sent[0].config["phases"]).split(",")[-1] in names


def test_some_uploads_are_derived() -> None:
    assert "easter" in DERIVING


@pytest.mark.parametrize("method", DERIVING)
def test_a_party_with_other_columns_derives_the_same(method: str, tmp_path: Path) -> None:
    """Asked alike, it answers alike, bit for bit; its own uploads differ."""
    cfg = configured(method)
    parties = passive_parties("local", lambda k: build_passive(cfg, k, tmp_path / "true"))
    taps = [Tap(client) for client in parties.clients]
    carry("local", build_active(cfg), taps)
    other = build_passive(cfg, 1, tmp_path / "other")
    other.data.numbers.copy_(torch.randn(other.data.numbers.shape))
    endpoint, names = Endpoint(other), DERIVING[method]
    derived = 0
    for sent in taps[0].sent:
        replayed = from_parameters(endpoint.fit(sent[0]).parameters)
        if answered(sent, names):
            [before], [now] = from_parameters(sent[1].parameters), replayed
            assert (before == now).all()
            derived += 1
    assert derived > 10
