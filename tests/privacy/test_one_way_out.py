"""No reply leaves a party but through the pipeline that noises."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from clients.splitnn import SplitNNClient
from tests.helpers.client_privacy import NONCE, asked, asks, configured, each_method
from tests.helpers.data import next_batch, rows_for
from tests.helpers.outcomes.attempts import Attempt
from vfl_flower.common.errors import ConfigError, PartyError, PrivacyError, TrainingError
from vfl_flower.config.registry import spec_of
from vfl_flower.privacy.client_dp.component import ClientPrivacy
from vfl_flower.privacy.client_dp.upload_log import Counts
from vfl_flower.protocol.automaton.arrays import floats, rows
from vfl_flower.protocol.components import phase
from vfl_flower.workflows.build_parties import build_passive


@each_method
def test_a_repeated_request_gets_the_same_noise_and_costs_nothing(
    method: str, tmp_path: Path
) -> None:
    party = build_passive(configured(method), 1, tmp_path)
    for name in asks(party):
        exchange = party.exchange + 1
        named = rows_for(party, name)
        replies = [asked(party, exchange, name, named) for _ in range(2)]
        assert np.array_equal(replies[0][0][0], replies[1][0][0])
        assert replies[0][2] == replies[1][2]
    assert party.privacy.counts() == Counts(training=1, evaluation=1)
    other = asked(party, party.exchange + 1, asks(party)[1], named)
    assert not np.array_equal(other[0][0], replies[0][0][0])  # asked anew, noised anew
    assert party.privacy.counts() == Counts(training=1, evaluation=2)


def embedded(self: SplitNNClient, rows: Tensor) -> Tensor:
    return self.tape.start("embed", rows)


def twice(self: SplitNNClient, rows: Tensor) -> tuple[Tensor, Tensor]:
    E_k = self.tape.start("embed", rows)
    return E_k, E_k


@pytest.mark.parametrize(
    ("method", "sends", "text", "counted"),
    [
        (embedded, "figure", "answer 'embed' without noise", 0),
        (embedded, (), "returns 1 values and declares none", 0),
        (twice, "embedding", "returns 2 values and declares embedding", 0),
        (twice, ("embedding", "embedding"), "answer one request with two uploads", 1),
    ],
)
def test_a_reply_leaves_through_the_one_door_or_not_at_all(
    method: Callable[..., object],
    sends: Any,
    text: str,
    counted: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    method.__name__ = "embed"
    gives = len((sends,) if isinstance(sends, str) else sends) * (floats("B", "D"),)
    monkeypatch.setattr(
        SplitNNClient, "embed", phase(takes=rows("batch"), gives=gives, sends=sends)(method)
    )
    party = build_passive(configured("splitnn"), 1, tmp_path)
    reply, _, metrics = asked(party, 1, "embed", next_batch(party))
    assert reply == []
    assert metrics["error"] in ("PrivacyError", "ProtocolError")
    assert text in metrics["message"]
    assert party.privacy.counts() == Counts(training=counted)


@each_method
def test_keys_and_control_traffic_need_no_noise(method: str, tmp_path: Path) -> None:
    party = build_passive(configured(method, blinding="auto"), 1, tmp_path)
    assert "error" not in asked(party, 1, "save", NONCE)[2]
    if spec_of(method).blinds:
        assert "error" not in asked(party, 2, "public_key")[2]
    assert party.privacy.counts().total() == 0


@each_method
@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_is_not_finite_is_sent_as_noise_and_counted(
    method: str, value: float, tmp_path: Path
) -> None:
    party = build_passive(configured(method), 1, tmp_path)
    with torch.no_grad():
        for parameter in party.net.parameters():
            parameter.fill_(value)
    for exchange, name in enumerate(asks(party), 1):
        (reply,), _, metrics = asked(party, exchange, name, rows_for(party, name))
        assert np.isfinite(reply).all()
        assert reply.std() == pytest.approx(2.0, rel=0.3)
        assert sum(metrics.values()) == exchange
    assert party.privacy.counts() == Counts(training=1, evaluation=1)


class UnfitForNegative(torch.nn.Module):
    """Raises an error of its own on some values."""

    def forward(self, x: Tensor) -> Tensor:
        if (x < 0).any():
            raise ValueError(f"negative: {x.min()}")
        raise TrainingError(f"not negative: {x.min()}")


@each_method
def test_a_network_that_fails_on_values_fails_with_one_text(method: str, tmp_path: Path) -> None:
    told = []
    for shift in (0, 100):
        party = build_passive(configured(method), 1, tmp_path)
        party.net.embed = UnfitForNegative()
        party.data.numbers.add_(shift)
        told.append(asked(party, 1, asks(party)[0], next_batch(party)))
        party.data.numbers.sub_(shift)
    assert told[0] == told[1]
    assert told[0][2]["message"].startswith("party-1 noises what it sends, and could not answer")


@each_method
def test_a_party_without_a_folder_cannot_count(method: str) -> None:
    with pytest.raises(PrivacyError, match="party-1 has no folder to count its uploads in"):
        build_passive(configured(method), 1)


def test_a_run_without_a_folder_is_refused_before_it_starts(tmp_path: Path) -> None:
    run = Attempt(configured("splitnn"), tmp_path / "run")
    run.folder = None
    with pytest.raises(ConfigError, match="no folder to count in; set out"):
        run.run()


def test_a_party_that_does_not_tell_its_count_is_not_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Attempt(configured("splitnn"), tmp_path / "run")
    monkeypatch.setattr(ClientPrivacy, "counts", lambda self: Counts())
    with pytest.raises(PartyError, match="party-1 noises its uploads and does not tell how many"):
        run.run()
