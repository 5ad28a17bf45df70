"""The upload pipeline: declarations of phases, and mechanisms."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from clients.easter import EasterClient
from clients.splitnn import SplitNNClient
from tests.helpers.blinding import ROWS_I, agreed, answer, masker_of, refusal, send
from tests.helpers.contract import configured
from vfl_flower.common.codec import Array
from vfl_flower.common.errors import BlindingError, PrivacyError
from vfl_flower.config.registry import METHODS, spec_of
from vfl_flower.config.run_config import RunConfig
from vfl_flower.crypto.fixed_point import decode_ring
from vfl_flower.parties.passive import PassiveParty
from vfl_flower.parties.persistence.checkpoint_component import CheckpointComponent
from vfl_flower.parties.uploads import registry
from vfl_flower.protocol.automaton.arrays import floats, rows
from vfl_flower.protocol.components import UPLOADS, Phase, declared_by, phase
from vfl_flower.protocol.uploads import Upload, UploadMechanism
from vfl_flower.workflows.build_parties import build_passive


def redeclared(monkeypatch: pytest.MonkeyPatch, owner: type, name: str, **declared: Any) -> None:
    """Let a phase declare something else than it does."""
    plain: Callable[..., object] = getattr(owner, name)

    def method(self: object, *arrays: torch.Tensor) -> object:
        return plain(self, *arrays)

    takes = declared_by(owner)[name].takes
    monkeypatch.setattr(owner, name, phase(training=False, takes=takes, **declared)(method))


def party_of(method: str, **options: Any) -> PassiveParty:
    """Build the first passive party of a contract run."""
    return build_passive(replace(configured(method), **options), 1)


def test_a_phase_that_returns_something_and_declares_nothing_sends_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    redeclared(monkeypatch, SplitNNClient, "embed_only")
    error, message = refusal(party_of("splitnn"), 1, "embed_only", ROWS_I)
    assert error == "ProtocolError"
    assert "phase 'embed_only' of SplitNNClient returns 1 values and declares none" in message


def test_a_component_fails_closed_too(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = CheckpointComponent.keep

    def keep(self: CheckpointComponent) -> torch.Tensor:
        plain(self)
        return next(self.party.net.parameters())

    monkeypatch.setattr(CheckpointComponent, "keep", phase(training=False)(keep))
    error, message = refusal(party_of("splitnn"), 1, "keep")
    assert (error, "nothing was sent" in message) == ("ProtocolError", True)


@pytest.mark.parametrize("sends", [("embedding",), ("embedding", "figure", "figure")])
def test_a_phase_sends_as_many_values_as_it_declares(
    sends: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    def embed_only(self: SplitNNClient, rows: torch.Tensor) -> object:
        return self.embed_rows(rows), torch.zeros(1)

    declared: Any = sends
    monkeypatch.setattr(
        SplitNNClient,
        "embed_only",
        phase(
            training=False,
            takes=rows("held-out"),
            gives=len(sends) * (floats("B", "D"),),
            sends=declared,
        )(embed_only),
    )
    error, _ = refusal(party_of("splitnn"), 1, "embed_only", ROWS_I)
    assert error == "ProtocolError"


class Doubled(UploadMechanism):
    """Doubles every upload."""

    name = "doubled"

    def apply(self, upload: Upload, declared: Phase) -> Upload:
        return replace(upload, values=2 * upload.values)


class Unwanted(Doubled):
    """Applies to no run."""

    name = "unwanted"

    @classmethod
    def wanted(cls, cfg: RunConfig) -> bool:
        return False


def with_mechanisms(monkeypatch: pytest.MonkeyPatch, *mechanisms: type[UploadMechanism]) -> None:
    monkeypatch.setattr("vfl_flower.parties.passive.MECHANISMS", mechanisms)


@pytest.mark.parametrize("method", ["splitnn", "agg_vfl", "c_vfl"])
def test_a_made_mechanism_is_one_line_of_the_registry(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It applies to every upload of every method, in order."""
    name = "predict_only" if method == "agg_vfl" else "embed_only"
    options: dict[str, Any] = {"blinding": "none"} if method == "agg_vfl" else {}
    options |= {"compression": "none"} if method == "c_vfl" else {}
    plain = answer(party_of(method, **options), 1, name, ROWS_I)
    with_mechanisms(monkeypatch, Doubled, Unwanted, *registry.MECHANISMS)
    assert np.array_equal(answer(party_of(method, **options), 1, name, ROWS_I), 2 * plain)


def test_mechanisms_apply_in_the_order_of_the_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Doubling before masking doubles the sum."""

    def total() -> Array:
        words = [answer(party, 3, "embed_only", ROWS_I) for party in agreed(3)]
        return decode_ring(np.add.reduce(words, dtype=np.uint32)).numpy()

    plain = total()
    with_mechanisms(monkeypatch, Doubled, *registry.MECHANISMS)
    assert np.allclose(total(), 2 * plain, atol=3 * 2**-15)


def test_masks_and_noise_leave_control_traffic_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    with_mechanisms(monkeypatch, Doubled, *registry.MECHANISMS)
    key = answer(party_of("easter"), 1, "public_key")
    assert key.dtype == np.uint8


def test_what_is_declared_unmasked_travels_as_it_is() -> None:
    party = agreed(2)[0]
    E = np.ones((8, party.cfg.embedding_dim), np.float32)
    assert answer(party, 3, "embed_only", ROWS_I).dtype == np.uint32
    assert answer(party, 4, "predict_only", E).dtype == np.float32


def test_a_message_cannot_be_masked() -> None:
    party = agreed(2)[0]
    declared = declared_by(EasterClient)["embed"]
    with pytest.raises(BlindingError, match="compressed"):
        masker_of(party).apply(Upload(torch.zeros(2, 2), message=()), declared)


def test_what_is_compressed_is_noised_already(tmp_path: Path) -> None:
    """The noise has its width in the array that travels."""
    cfg = configured("adptvfedconv").changed(compression="float16")
    some = build_passive(cfg, 1).data.rows["test"][:40]
    noised = replace(cfg, dp_sigma=0.5, dp_clip=100.0)
    (plain,), _ = send(build_passive(cfg, 1), 1, "embed_only", some)
    (sent,), _ = send(build_passive(noised, 1, tmp_path), 1, "embed_only", some)
    assert plain.dtype == sent.dtype == np.float16
    noise = sent.astype(np.float64) - plain
    assert noise.size > 1000
    assert noise.std() == pytest.approx(50, rel=0.2)


def test_a_message_cannot_be_noised(tmp_path: Path) -> None:
    """Values that another mechanism has written already would leave without noise."""
    party = build_passive(replace(configured("splitnn"), dp_sigma=1.0), 1, tmp_path)
    declared = declared_by(SplitNNClient)["embed"]
    with pytest.raises(PrivacyError, match="party-1 would noise an upload that is compressed"):
        party.privacy.apply(Upload(torch.zeros(2, 2), message=()), declared)
    assert party.privacy.counts().total() == 0


@pytest.mark.parametrize("method", METHODS)
def test_methods_declare_what_they_send(method: str) -> None:
    """Uploads of columns are of equal kinds in training and evaluation."""
    _, client = spec_of(method).load()
    kinds = {True: set[str](), False: set[str]()}
    for declared in declared_by(client).values():
        kinds[declared.training] |= {*declared.sends} & {*UPLOADS}
    assert spec_of(method).alone == (not kinds[False])
    assert kinds[True] - {"histogram"} <= kinds[False]  # which are of training alone


def test_a_refused_upload_leaves_nothing_behind() -> None:
    """No keys were agreed: the party says so, and sends nothing."""
    party = party_of("easter")
    reply, metrics = send(party, 1, "embed_only", ROWS_I)
    assert reply == []
    assert metrics["error"] == "BlindingError"
