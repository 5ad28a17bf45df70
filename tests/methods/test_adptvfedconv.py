"""AdptVFedConv: stages, model transfer, and uploads."""

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.helpers.contract import Tap
from tests.helpers.outcomes.attempts import Attempt
from tests.methods.test_joint_conv import TINY as TINIER
from vfl_flower.algorithms.feature_map_store import MAPS, Maps
from vfl_flower.common.errors import ConfigError, Interrupted, RunError
from vfl_flower.config.run_config import RunConfig
from vfl_flower.learning.networks.cut_network import halves
from vfl_flower.parties.passive import PassiveParty
from vfl_flower.privacy.client_dp.component import ClientPrivacy
from vfl_flower.transport.endpoint import Endpoint
from vfl_flower.transport.local import run_local, serve
from vfl_flower.workflows.build_parties import build_active, build_passive

TINY = TINIER | {"train_rows": 0}  # all of them, in several messages
CFG = RunConfig(**TINY, baselines="off")
TRAIN, VALIDATION, TEST = 1294, 144, 359


def trained(cfg: RunConfig) -> tuple[Any, list[PassiveParty]]:
    active, passive = build_active(cfg), [build_passive(cfg, k) for k in range(1, cfg.parties)]
    run_local(active, passive)
    return active, passive


STAGES = {"pre-training": 2, "fine-tuning": 3, "upload": 8}  # 500 rows a message, two views


@cache
def two_views() -> RunConfig:
    return CFG.changed(views=2)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Tensor]:
    attempt = Attempt(two_views(), tmp_path_factory.mktemp("whole") / "run")
    attempt.run()
    assert attempt.folder
    result = attempt.folder.result()
    assert result
    assert [(s["name"], s["done"]) for s in result["stages"]] == [
        (name, done + 1) for name, total in STAGES.items() for done in range(total)
    ]
    assert set(result["stages"][2]["figures"]) == {"party-1", "party-2", "party-3"}
    return attempt.active.net.state_dict()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("stage", "done"), [("pre-training", 1), ("fine-tuning", 2), ("upload", 3), ("upload", 8)]
)
def test_a_run_resumes_in_the_middle_of_every_stage(
    stage: str, done: int, whole: dict[str, Tensor], tmp_path: Path
) -> None:
    first = Attempt(two_views(), tmp_path / "run")
    with pytest.raises(Interrupted, match=f"{done} of {STAGES[stage]} of {stage}; resume"):
        first.run(stage=stage, done=done)
    second = Attempt(two_views(), tmp_path / "run")
    second.run()
    ours = second.active.net.state_dict()
    assert all(ours[name].equal(tensor) for name, tensor in whole.items())
    assert second.active.ledger.exchanges["training"] == 3 + 3 + 3
    assert not (tmp_path / "run" / "active" / MAPS).exists()


def test_maps_that_are_gone_are_told_of(tmp_path: Path) -> None:
    with pytest.raises(Interrupted):
        Attempt(CFG, tmp_path / "run").run(stop_at=3)
    (tmp_path / "run" / "active" / MAPS).unlink()
    with pytest.raises(RunError, match=rf"{MAPS} is missing or damaged; put it back, or start"):
        Attempt(CFG, tmp_path / "run").run()


@pytest.mark.slow
def test_maps_lie_in_a_file_of_the_active_party_alone(tmp_path: Path) -> None:
    with pytest.raises(Interrupted):
        Attempt(two_views(), tmp_path / "run").run(stop_at=1)
    (file,) = tmp_path.rglob(MAPS)
    assert file.parent.name == "active"
    assert file.stat().st_mode & 0o777 == 0o600
    numbers = 8 * 4 * 4  # of a map, float32
    assert file.stat().st_size == (TRAIN * 2 + VALIDATION + TEST) * numbers * 4


def test_maps_that_are_not_what_was_put_there_are_not_learnt_from(tmp_path: Path) -> None:
    with pytest.raises(Interrupted):
        Attempt(CFG, tmp_path / "run").run(stop_at=3)
    (file,) = tmp_path.rglob(MAPS)
    content = bytearray(file.read_bytes())
    content[len(content) // 2 :] = bytes(len(content) - len(content) // 2)
    file.write_bytes(content)
    with pytest.raises(RunError, match=rf"{MAPS} is missing or damaged"):
        Attempt(CFG, tmp_path / "run").run()


def test_fine_tuning_ends_when_it_gets_no_better(monkeypatch: pytest.MonkeyPatch) -> None:
    """After two worse epochs, the best epoch's weights count."""
    cfg = CFG.changed(local_epochs=9, local_patience=2)
    errors = iter([0.5, 0.4, 0.45, 0.44, 0.1] * 3)
    active, passive = build_active(cfg), [build_passive(cfg, k) for k in range(1, 4)]
    at_best: list[Tensor] = []

    def judged(rows: Tensor) -> float:
        error = next(errors)
        if error == 0.4:
            at_best.append(next(passive[0].net.parameters()).detach().clone())
        return error

    for party in passive[1:]:
        monkeypatch.setattr(party, "error", lambda rows: 1.0)
    monkeypatch.setattr(passive[0], "error", judged)
    run_local(active, passive)
    tuned = [each for each in active.progress.stages if each.name == "fine-tuning"]
    assert len(tuned) == 4
    assert tuned[-1].figures == pytest.approx({"party-1": 0.4, "party-2": 1.0, "party-3": 1.0})
    assert tuned[-1].ended
    assert next(passive[0].net.parameters()).equal(at_best[0])


def test_without_patience_it_takes_all_epochs(monkeypatch: pytest.MonkeyPatch) -> None:
    cfg = CFG.changed(local_epochs=5, local_patience=0)
    active, passive = build_active(cfg), [build_passive(cfg, k) for k in range(1, 4)]
    for party in passive:
        monkeypatch.setattr(party, "error", lambda rows: 1.0)
    run_local(active, passive)
    assert sum(each.name == "fine-tuning" for each in active.progress.stages) == 5


def test_maps_before_the_extractor_are_refused() -> None:
    party = build_passive(CFG, 1)
    config = {"exchange": 1, "phases": "finetune", "arrays": "1"}
    answer = party.fit([np.array(0)], config)[2]  # type: ignore[arg-type]
    assert answer["error"] == "ProtocolError"
    assert "before the extractor was sent" in str(answer["message"])


# Model transfer, padding ------------------------------------------------------------------------


@pytest.mark.slow
def test_extractors_start_from_the_active_one_only_with_model_transfer() -> None:
    """At 1e-5 they stay close to it; alone, they are far apart."""
    distances = {}
    for transfer in (True, False):
        active, passive = trained(CFG.changed(model_transfer=transfer))
        ours, theirs = (
            torch.cat([p.detach().flatten() for p in halves(party.net)[0].parameters()])
            for party in (active, passive[0])
        )
        distances[transfer] = ((ours - theirs).norm() / ours.norm()).item()
        sent = active.ledger.payload["party-1", "training", "adapt", "down"]
        extractor = sum(
            t.numel() * t.element_size() for t in halves(active.net)[0].state_dict().values()
        )
        assert sent == 4 * (TRAIN + VALIDATION) + (extractor if transfer else 0)
    assert distances[True] < 0.02 < 0.5 < distances[False]


# What is sent -----------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(("compression", "share"), [("float16", 0.5), ("quantize:8", 0.25)])
def test_maps_in_fewer_bytes_predict_alike(compression: str, share: float) -> None:
    exact, rough = (trained(CFG.changed(compression=c))[0] for c in ("none", compression))
    sizes = [a.ledger.payload["party-1", "training", "embed", "up"] for a in (exact, rough)]
    assert sizes[0] == 4 * TRAIN * 8 * 2 * 2
    assert sizes[1] == pytest.approx(share * sizes[0], rel=0.001)
    assert abs(accuracy(exact) - accuracy(rough)) < 0.05


def accuracy(active: Any) -> float:
    reached: float = active.progress.test["score"]["active"]
    return reached


@pytest.mark.parametrize("views", [1, 3])
def test_the_ledger_has_the_price_of_views(views: int) -> None:
    active, _ = trained(CFG.changed(views=views))
    ledger = active.ledger
    assert ledger.payload["party-1", "training", "embed", "up"] == views * 4 * TRAIN * 32
    held_out = ledger.payload["party-1", "evaluation", "embed_only", "up"]
    assert held_out == 4 * (VALIDATION + TEST) * 32
    assert ledger.exchanges["training"] == 3 + 3 * views


def test_a_party_noises_maps_and_says_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No error of reconstruction is sent, and every upload counts."""
    uploads, true = dict[bytes, Tensor](), ClientPrivacy.upload

    def noted(self: ClientPrivacy, x: Tensor, repeatable: bool, masked: bool) -> Tensor:
        sent = true(self, x, repeatable, masked)
        uploads[sent.numpy().tobytes()] = x
        return sent

    monkeypatch.setattr(ClientPrivacy, "upload", noted)
    cfg = replace(CFG, dp_sigma=1.0)
    active, passive = build_active(cfg), [build_passive(cfg, k, tmp_path) for k in range(1, 4)]
    taps = [Tap(Endpoint(party)) for party in passive]
    serve(active, taps)
    replies = [array for tap in taps for array in tap.replies()]
    assert {reply.tobytes() for reply in replies} == set(uploads)
    assert all(x.numpy().tobytes() != sent for sent, x in uploads.items())
    assert active.ledger.payload["party-1", "training", "finetune", "up"] == 0
    assert {name: dict(c) for name, c in active.uploaded.items()} == {
        f"party-{k}": {"training": 3, "evaluation": 2} for k in (1, 2, 3)
    }
    assert active.budget
    assert active.budget.planned == {"training": 3, "evaluation": 2}
    assert sum(each.name == "fine-tuning" for each in active.progress.stages) == 3


@pytest.mark.slow
def test_a_message_that_is_asked_for_again_costs_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The active party dies before its checkpoint; the target allows no more."""
    cfg = replace(CFG, target_epsilon=6.0)
    true, times = Maps.put, iter(range(100))

    def dies(self: Maps, number: int, rows: Tensor, maps: Tensor) -> None:
        if next(times) == 3:
            raise KeyboardInterrupt
        true(self, number, rows, maps)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Maps, "put", dies)
        Attempt(cfg, tmp_path / "run").run()
    again = Attempt(cfg, tmp_path / "run")
    again.run()
    assert again.active.budget
    assert {counts.total() for counts in again.active.uploaded.values()} == {5}


def test_a_target_that_the_uploads_exceed_is_refused_before_work_starts() -> None:
    with pytest.raises(ConfigError, match=r"^target-epsilon 1 allows \d noised uploads"):
        build_active(replace(CFG, dp_sigma=1.0, target_epsilon=1.0))


@pytest.mark.slow
def test_noised_labels_teach_the_extractor_that_is_sent_and_nothing_else() -> None:
    cfg = replace(CFG, label_privacy="randomized-response", label_epsilon=1.0)
    noised, bare = (trained(each)[0] for each in (cfg, CFG))
    losses = [each.progress.stages[1].figures["loss"] for each in (noised, bare)]
    assert losses[0] > losses[1]  # it learns less
    assert noised.progress.records[-1].train_loss["active"] < 2.0  # and W_s, on true labels, more


def test_label_privacy_without_model_transfer_has_nothing_to_hide() -> None:
    with pytest.raises(
        ConfigError, match="label-privacy is laplace, and with adptvfedconv nothing"
    ):
        CFG.changed(label_privacy="laplace", model_transfer=False)
