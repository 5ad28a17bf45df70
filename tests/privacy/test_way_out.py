"""Guards of a passive party's uploads, metrics, facts and components."""

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from flwr.common import Scalar

from clients.easter import EasterClient
from clients.splitnn import SplitNNClient
from tests.helpers.blinding import ROWS_I, agreed, client, embeddings, refusal, send
from tests.helpers.contract import configured
from vfl_flower.alignment.passive import AlignmentPassive
from vfl_flower.analysis.audit.wire import Wire
from vfl_flower.common.errors import ConfigError, ProtocolError
from vfl_flower.crypto.fixed_point import decode_ring
from vfl_flower.data.loading import load_party
from vfl_flower.learning.compression import compression_of
from vfl_flower.parties.party import Party
from vfl_flower.parties.passive import PassiveParty
from vfl_flower.parties.uploads.compression import Compressor
from vfl_flower.parties.uploads.registry import MECHANISMS
from vfl_flower.privacy.client_dp.component import ClientPrivacy
from vfl_flower.privacy.client_dp.upload_log import Counts
from vfl_flower.privacy.secure_aggregation import Masker
from vfl_flower.protocol.automaton.arrays import floats, rows
from vfl_flower.protocol.components import Component, Phase, phase
from vfl_flower.protocol.uploads import Upload, UploadMechanism
from vfl_flower.workflows.build_learner import build_learner
from vfl_flower.workflows.build_parties import build_active, build_passive


class Shifted(UploadMechanism):
    """Adds one to every upload."""

    name = "shifted"

    def apply(self, upload: Upload, declared: Phase) -> Upload:
        return replace(upload, values=upload.values + 1)


class Heavier(Shifted):
    """Changes the weight."""

    def apply(self, upload: Upload, declared: Phase) -> Upload:
        return replace(upload, weight=3)


class Rewritten(Shifted):
    """Writes the message anew."""

    def apply(self, upload: Upload, declared: Phase) -> Upload:
        return replace(upload, message=(upload.values.numpy(),))


def party_of(method: str, **options: Any) -> PassiveParty:
    return build_passive(replace(configured(method), **options), 1)


def with_mechanisms(monkeypatch: pytest.MonkeyPatch, *mechanisms: type[UploadMechanism]) -> None:
    monkeypatch.setattr("vfl_flower.parties.passive.MECHANISMS", mechanisms)


# Masks --------------------------------------------------------------------------------------------


def test_two_uploads_of_one_phase_have_masks_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Equal values leave as different words, and each position sums up."""

    def embed_only(self: EasterClient, rows: torch.Tensor) -> object:
        return self.embed_rows(rows), self.embed_rows(rows)

    both: Any = ("embedding", "embedding")
    monkeypatch.setattr(
        EasterClient,
        "embed_only",
        phase(training=False, takes=rows("held-out"), gives=2 * (floats("B", "D"),), sends=both)(
            embed_only
        ),
    )
    parties = agreed(2)
    true = torch.stack([embeddings(party, ROWS_I) for party in parties]).sum(0)
    for exchange in (3, 4):  # positions count from 0 in each request
        replies = [send(party, exchange, "embed_only", ROWS_I)[0] for party in parties]
        for first, second in replies:
            assert (first != second).mean() > 0.9
        for position in range(2):
            words = np.add.reduce([reply[position] for reply in replies], dtype=np.uint32)
            assert torch.allclose(decode_ring(words), true, atol=2**-14)


def test_a_first_upload_has_the_mask_of_position_0() -> None:
    party = client(agreed(2)[0])
    E = embeddings(party, ROWS_I)
    masker: Masker = party.masker  # type: ignore[attr-defined]
    before = masker.state_dict()
    (sent,), _ = send(party, 3, "embed_only", ROWS_I)
    masker.load_state_dict(before)
    assert np.array_equal(sent, masker.mask(E))
    assert not np.array_equal(sent, masker.mask(E, position=1))


# Order of mechanisms ------------------------------------------------------------------------------


@pytest.mark.parametrize("late", [Shifted, Heavier, Rewritten])
@pytest.mark.parametrize(("method", "before"), [("c_vfl", "compressor"), ("easter", "masker")])
def test_a_mechanism_after_the_message_is_refused(
    method: str, before: str, late: type[UploadMechanism], monkeypatch: pytest.MonkeyPatch
) -> None:
    with_mechanisms(monkeypatch, *MECHANISMS, late)
    party = agreed(2)[0] if before == "masker" else party_of(method)
    assert hasattr(party, before)
    error, message = refusal(party, 3, "embed_only", ROWS_I)
    assert error == "ProtocolError"
    assert "'shifted' changes an upload whose message is written already" in message


def test_masks_are_not_compressed_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compression after masking would write the values without masks."""

    class Late(Compressor):
        wanted = classmethod(lambda cls, cfg: True)

        def apply(self, upload: Upload, declared: Phase) -> Upload:
            made = compression_of("float16", upload.values.shape[1])
            return replace(upload, message=made.compress(upload.values))

    with_mechanisms(monkeypatch, ClientPrivacy, Masker, Late)
    error, message = refusal(agreed(2)[0], 3, "embed_only", ROWS_I)
    assert (error, "'compressor' changes" in message) == ("ProtocolError", True)


def test_compression_keeps_the_weight() -> None:
    party = party_of("c_vfl")
    values = torch.arange(12.0).reshape(3, 4)
    compressor: Compressor = party.compressor  # type: ignore[attr-defined]
    declared = party.declared("embed_only")
    assert declared is not None
    heavy = compressor.apply(Upload(values, weight=3), declared).arrays()
    plain = compressor.apply(Upload(3 * values), declared).arrays()
    assert [a.tobytes() for a in heavy] == [a.tobytes() for a in plain]


# Metrics and facts --------------------------------------------------------------------------------


@pytest.mark.parametrize("base", [SplitNNClient, AlignmentPassive])
@pytest.mark.parametrize("name", ["metrics", "released", "fit", "get_properties"])
def test_no_method_overrides_what_decides_what_leaves(base: type, name: str) -> None:
    with pytest.raises(ProtocolError, match=f"Leaky overrides '{name}'"):
        type("Leaky", (base,), {name: lambda *_: {}})
    with pytest.raises(ProtocolError, match=f"Leaky overrides '{name}'"):
        type("Leaky", (type("Mixin", (), {name: lambda *_: {}}), base), {"sealed": ()})


@pytest.mark.parametrize("told", [{"mean": 0.5}, {"training": 0.5}, {"training": True}])
def test_metrics_are_counts(told: dict[str, Scalar], monkeypatch: pytest.MonkeyPatch) -> None:
    party = party_of("splitnn")
    monkeypatch.setattr(party.privacy, "counts", lambda: told)
    error, message = refusal(party, 1, "embed_only", ROWS_I)
    assert (error, "undeclared metrics" in message) == ("ProtocolError", True)
    monkeypatch.setattr(party.privacy, "counts", lambda: Counts(training=1, evaluation=2))
    assert send(party, 2, "embed_only", ROWS_I)[1] == {"training": 1, "evaluation": 2}


@pytest.mark.parametrize("more", [{"mean": 0.5}, {"rows": 3.5}, {"rows": "a value"}])
def test_facts_are_declared(more: dict[str, Scalar], monkeypatch: pytest.MonkeyPatch) -> None:
    party = party_of("splitnn")
    plain = party.facts()
    rules = {"policy": party.policy.name, "rules": party.policy.digest}
    assert party.get_properties({}) == {"rank": 1, **plain, **rules}
    monkeypatch.setattr(SplitNNClient, "facts", lambda _: plain | more)
    told = party.get_properties({})
    assert told["error"] == "ProtocolError"
    assert not told.keys() & plain.keys()


# Names of components ------------------------------------------------------------------------------


class Greedy(Component):
    """Answers a phase that the method has."""

    name = "greedy"

    @phase(training=False, takes=rows("held-out"), gives=floats("B"), sends="control")
    def embed_only(self, rows: torch.Tensor) -> torch.Tensor:
        return rows


def plain_party() -> Party:
    cfg = configured("splitnn")
    return build_learner(cfg, load_party(cfg, 1))


def with_component(kind: type[Component]) -> type[SplitNNClient]:
    class Client(SplitNNClient):
        components: ClassVar[Any] = (*SplitNNClient.components, kind)

    return Client


def test_no_component_answers_a_phase_of_the_method() -> None:
    with pytest.raises(ProtocolError, match="phases of Greedy are Client's already: embed_only"):
        with_component(Greedy)(plain_party())


@pytest.mark.parametrize("name", ["net", "privacy", "tape", "received", "fit"])
def test_no_component_takes_an_attributes_place(name: str) -> None:
    kind = type("Named", (Component,), {"name": name})
    with pytest.raises(ProtocolError, match=f"a '(privacy|{name})' already"):
        with_component(kind)(plain_party())


# The audit of feature maps ------------------------------------------------------------------------


@pytest.mark.parametrize("mechanisms", [(*MECHANISMS, Shifted), MECHANISMS[::-1]])
def test_the_audit_refuses_mechanisms_that_it_does_not_recompute(
    mechanisms: tuple[type[UploadMechanism], ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    cfg = configured("adptvfedconv").changed(compression="float16")
    active = build_active(cfg)
    Wire(cfg, active)
    monkeypatch.setattr("vfl_flower.analysis.audit.wire.MECHANISMS", mechanisms)
    with pytest.raises(ConfigError, match="the audit recomputes noise and then compression only"):
        Wire(cfg, active)
