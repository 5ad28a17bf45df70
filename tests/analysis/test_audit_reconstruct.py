"""Pictures of others' tiles, better the earlier the cut."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.helpers.outcomes.attacked_runs import (
    NOISED,
    OTHERWISE,
    PASSIVE,
    SMALL,
    attacked,
    sent,
)
from vfl_flower.analysis.audit.feature_reconstruction import (
    Attacker,
    Findings,
    Tiles,
    attack,
)
from vfl_flower.analysis.audit.similarity import likeness
from vfl_flower.analysis.audit.tables import print_reconstruction
from vfl_flower.analysis.audit.wire import Wire
from vfl_flower.common.codec import Array
from vfl_flower.config.run_config import RunConfig
from vfl_flower.data.published_data import PublishedData
from vfl_flower.parties.party import Party
from vfl_flower.workflows.build_parties import build_active
from vfl_flower.workflows.trained_parties import parties_of


def psnr_of(findings: Findings) -> dict[str, float]:
    return {each.party: each.made.psnr for each in findings.found}


def wire_of(cfg: RunConfig) -> tuple[Wire, Attacker]:
    active = build_active(replace(cfg, dp_sigma=0.0, dp_clip=1.0, dp_eval="noised"))
    wire = Wire(cfg, active)
    return wire, Attacker(active, wire, Tiles(cfg))


# What is measured ---------------------------------------------------------------------------------


@pytest.mark.slow
def test_tiles_are_reconstructed_better_than_by_their_mean_and_worse_behind_a_later_cut(
    attacked_root: Path,
) -> None:
    early, late = attacked(attacked_root / "early"), attacked(attacked_root / "late")
    for each in early.found:
        assert each.made.psnr > each.mean.psnr + 3
        assert each.made.ssim is not None
        assert each.mean.ssim is not None
        assert each.made.ssim > each.mean.ssim + 0.2
    assert [each.mean for each in early.found] == [each.mean for each in late.found]
    for party in PASSIVE:
        assert psnr_of(early)[party] > psnr_of(late)[party] + 1
        assert psnr_of(early)["active"] > psnr_of(early)[party]


@pytest.mark.slow
def test_attack_is_told_with_the_run_that_it_was_on(attacked_root: Path) -> None:
    findings = attacked(attacked_root / "late")
    assert (findings.run, findings.cut) == (str(attacked_root / "late"), "2C+1M")
    assert (findings.tile, findings.map) == ((1, 4, 4), (6, 2, 2))
    assert (findings.epochs, findings.learnt, findings.measured) == (20, 1294, 359)
    assert [each.party for each in findings.found] == ["active", *PASSIVE]


@pytest.mark.slow
def test_what_a_message_loses_is_lost_to_the_attacker(attacked_root: Path) -> None:
    psnr, sigma = {}, {}
    for way in OTHERWISE:
        findings, _ = attack(sent(attacked_root / "early", way), epochs=5)
        psnr[way], sigma[way] = psnr_of(findings)["active"], findings.sigma
    assert psnr["noised"] < psnr["coarse"] < psnr["early"] == psnr["noised in training"]
    assert psnr["noised"] < psnr["early"] - 2
    assert sigma == {"early": 0, "coarse": 0, "noised": 1, "noised in training": 0}


@pytest.mark.slow
def test_same_attack_comes_out_each_time(attacked_root: Path) -> None:
    one, other = (attack(sent(attacked_root / "early", "noised"), epochs=1) for _ in range(2))
    assert one[0] == other[0]


@pytest.mark.slow
@pytest.mark.parametrize("way", ["early", "coarse"])
def test_maps_arrive_as_a_party_of_the_run_sends_them(way: str, attacked_root: Path) -> None:
    active, passive = parties_of(sent(attacked_root / "early", way))
    rows, wire = active.rows["test"], Wire(active.cfg, active)
    for party in passive:
        asked = {"exchange": 1, "phases": "embed_only", "arrays": "1"}
        message, *_ = party.fit([rows], asked)  # type: ignore[arg-type]
        expected = wire.compression.restore(message, len(rows))
        assert wire.carried(party, rows).flatten(1).equal(expected)


def test_noise_is_as_large_as_a_partys_and_clipped_first() -> None:
    wire, attacker = wire_of(NOISED)
    arrived = wire.carried(attacker.active, attacker.measured)
    assert arrived.std().item() == pytest.approx(10, rel=0.02)  # sigma C, which hides C / sqrt(n)
    assert wire.mechanism is not None
    assert np.linalg.norm(wire.mechanism.clipped(arrived) * wire.mechanism.step) <= 10


def test_messages_are_as_long_as_the_runs_and_not_all_rows_are_attacked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("vfl_flower.analysis.audit.feature_reconstruction.MOST_LEARNT", 500)
    monkeypatch.setattr("vfl_flower.analysis.audit.feature_reconstruction.MOST_MEASURED", 150)
    wire, attacker = wire_of(replace(SMALL, eval_batch_size=100))
    lengths, carried = [], wire.carried

    def counted(party: Party, message: Array) -> Tensor:
        lengths.append(len(message))
        return carried(party, message)

    monkeypatch.setattr(wire, "carried", counted)
    attacker.learn(1)
    assert attacker.pictures_of(attacker.active).shape == (150, 1, 4, 4)
    assert lengths == [100] * 5 + [100] * 2
    rows = attacker.active.rows
    assert set(attacker.rows) < set(rows["train"])
    assert set(attacker.measured) < set(rows["test"])


def test_true_tiles_are_the_parties_parts_of_the_images() -> None:
    tiles, rows = Tiles(SMALL), np.array([3, 5], np.int32)
    top, bottom = (torch.cat([tiles.of(k, rows), tiles.of(k + 1, rows)], 3) for k in (0, 2))
    assert np.array_equal(torch.cat([top, bottom], 2) * 16, PublishedData(SMALL).stored[rows])


@pytest.mark.parametrize(("side", "window"), [(2, None), (3, 3), (4, 3), (8, 7), (16, 7)])
def test_likeness_is_what_its_definition_says(side: int, window: int | None) -> None:
    random = torch.Generator().manual_seed(side)
    true = torch.rand(5, 3, side, side, generator=random)
    made = (true + 0.1).clamp(0, 1)
    found = likeness(true, made)
    error = (true - made).square().mean().item()
    assert found.psnr == pytest.approx(-10 * np.log10(error), abs=1e-4)
    same = likeness(true, true)
    assert same.psnr == np.inf
    if window is None:
        assert found.ssim is same.ssim is None
        return
    assert found.ssim is not None
    assert same.ssim == 1
    assert found.ssim < 1
    inside = true.flatten(0, 1).unfold(1, window, 1).unfold(2, window, 1).flatten(3)
    flat = torch.full_like(
        true, 0.5
    )  # without variance, SSIM is the means' term and the true one's
    mean, variance = inside.mean(3), inside.var(3)
    terms = (mean + 1e-4) / (mean**2 + 0.25 + 1e-4) * (9e-4 / (variance + 9e-4))
    assert likeness(true, flat).ssim == pytest.approx(terms.mean().item(), abs=1e-4)


@pytest.mark.slow
def test_errors_without_end_are_told_as_text(attacked_root: Path) -> None:
    findings = attacked(attacked_root / "early")
    exact = replace(
        findings.found[0], made=likeness(torch.zeros(1, 1, 2, 2), torch.zeros(1, 1, 2, 2))
    )
    told = replace(findings, found=[exact]).told()
    assert told["found"][0]["made"] == {"psnr": "inf", "ssim": None}


def test_what_is_sent_is_told(attacked_root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    findings = attacked(attacked_root / "early")
    noised = replace(findings, compression="float16", sigma=2.0)
    print_reconstruction([findings, noised])
    [table, *_] = capsys.readouterr().out.split("1: ")
    cells = [[cell.strip() for cell in line.split("│")] for line in table.splitlines()]
    told = [row[3] for row in cells if len(row) > 3 and row[3]]
    assert told == ["float32", "float16,", "sigma 2"]
