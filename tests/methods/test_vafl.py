"""VAFL: weights that are learnt and kept, and parties that take turns."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from strategies.specs.vafl import VAFLOptions
from strategies.vafl import VAFL
from tests.helpers.outcomes.attempts import Attempt
from vfl_flower.common.layout import steps_kept
from vfl_flower.config.run_config import RunConfig
from vfl_flower.transport.local import run_local
from vfl_flower.workflows.build_parties import build_active, build_passive

CFG = RunConfig(method="vafl", models="mlp", epochs=2, batch_size=200, baselines="off")
IN_TURNS = CFG.changed(vafl_mode="asynchronous")


def trained(cfg: RunConfig) -> VAFL:
    active = build_active(cfg)
    assert isinstance(active, VAFL)
    run_local(active, [build_passive(cfg, k) for k in range(1, cfg.parties)])
    return active


@pytest.mark.parametrize("parties", [2, 4])
def test_weights_start_alike_and_are_learnt(parties: int) -> None:
    cfg = replace(CFG, parties=parties)
    start = build_active(cfg).figures()
    assert list(start) == ["weight_of_active", *(f"weight_of_party-{k}" for k in range(1, parties))]
    assert set(start.values()) == {1 / parties}
    learnt = trained(cfg).figures()
    assert len(set(learnt.values())) == parties
    assert all(0 < abs(learnt[name] - start[name]) < 0.5 for name in start)


def test_weights_are_in_the_result_and_in_the_model(tmp_path: Path) -> None:
    attempt = Attempt(CFG, tmp_path / "run")
    attempt.run()
    model = load_file(tmp_path / "run" / "active" / "model/weights.safetensors")
    figures = attempt.active.figures()
    assert model["aggregation_weights"].tolist() == list(figures.values())


@pytest.mark.parametrize("parties", [2, 3, 5])
def test_turns_are_shared_out_evenly(parties: int) -> None:
    cfg = replace(IN_TURNS, parties=parties)
    uploads = trained(cfg).ledger.uploads
    assert len(uploads) == parties - 1
    assert max(uploads.values()) - min(uploads.values()) <= 1


def test_with_one_passive_party_both_modes_are_the_same() -> None:
    ours, theirs = (trained(replace(cfg, parties=2)) for cfg in (CFG, IN_TURNS))
    for p, q in zip(ours.net.parameters(), theirs.net.parameters(), strict=True):
        assert torch.equal(p, q)


def test_embeddings_are_kept_in_turns_only(tmp_path: Path) -> None:
    """Every training row of some party, and no other; in checkpoints too."""
    sizes = []
    for cfg in (CFG, IN_TURNS):
        folder = tmp_path / cfg.own(VAFLOptions).vafl_mode
        attempt = Attempt(cfg, folder)
        attempt.run()
        known = attempt.active.known.values  # type: ignore[attr-defined]
        step = steps_kept(folder / "active")[-1]
        sizes.append((folder / "active" / f"checkpoint-{step:09d}.safetensors").stat().st_size)
        if cfg is CFG:
            assert known.numel() == 0
        else:
            rows = torch.from_numpy(attempt.active.rows["train"])
            told = known.any(2)  # (K, N)
            assert told[:, rows].any(1).all()
            told[:, rows] = False
            assert not told.any()
    assert sizes[1] - sizes[0] > 4 * 3 * 1797 * 64 * 0.9
