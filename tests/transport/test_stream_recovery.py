"""Parties that are killed come back, or end the run."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import torch

from tests.helpers.connections.sessions import CFG, assert_equal, kill, nodes
from tests.helpers.connections.streams import FakeGrid, run_stream
from vfl_flower.common.errors import PartyAway, PartyError, RosterError
from vfl_flower.transport.local import run_local
from vfl_flower.workflows.build_parties import build_active, build_passive

pytestmark = pytest.mark.usefixtures("soon")


@pytest.mark.slow
@pytest.mark.parametrize("moments", [(1,), (2,), (9,), (40,), (12, 30, 31)])
def test_a_killed_party_comes_back_and_the_weights_are_the_same(
    moments: tuple[int, ...],
    tmp_path: Path,
    undisturbed: dict[str, torch.Tensor],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cfg = replace(CFG, run_name="one", baselines="off")
    cfg = replace(cfg, party_randomness="public", embedding_bound="none")  # as in one process
    left = kill(monkeypatch, moments, lambda: None)
    active = build_active(cfg, tmp_path)
    grid = FakeGrid(nodes(tmp_path, cfg))
    facts = run_stream(active, grid, "127.0.0.1:0", cfg.to_mapping())
    assert left == []
    assert_equal(active, undisturbed)
    assert facts["returns_to_a_checkpoint"] == len(moments)


@pytest.mark.slow
def test_a_party_killed_in_a_check_of_shares_comes_back(
    tmp_path: Path, undisturbed: dict[str, torch.Tensor], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before it seals its variance, and before it compares it."""
    cfg = replace(CFG, run_name="one", baselines="off", share_check="on")
    cfg = replace(cfg, party_randomness="public", embedding_bound="none")  # as in one process
    whole = build_active(cfg)
    run_local(whole, [build_passive(cfg, k) for k in range(1, cfg.parties)])
    phases = list[str]()

    def note() -> None:
        asked = active.strategy._open
        phases.append(asked.phase if asked else "")

    left = kill(monkeypatch, (21, 44), note)
    active = build_active(cfg, tmp_path)
    run_stream(active, FakeGrid(nodes(tmp_path, cfg)), "127.0.0.1:0", cfg.to_mapping())
    assert (left, phases) == ([], ["seal_variances", "check_share"])
    assert_equal(active, undisturbed)
    assert active.progress.shares == whole.progress.shares


@pytest.mark.slow
def test_a_party_that_stays_away_is_named_and_checkpoints_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cfg = replace(CFG, run_name="one", stream_grace=0.5, return_timeout=2.0, baselines="off")
    grid = FakeGrid(nodes(tmp_path, cfg))
    kill(monkeypatch, (30,), partial(grid.nodes.__delitem__, 101))
    with pytest.raises(RosterError, match="missing after 2 s: party-2"):
        run_stream(
            build_active(cfg, tmp_path),
            grid,
            "127.0.0.1:0",
            cfg.to_mapping(),
        )
    assert list((tmp_path / "active").glob("checkpoint-*"))
    assert list((tmp_path / "node1" / "one" / "party-2").glob("checkpoint-*"))


@pytest.mark.slow
def test_a_party_that_dies_again_and_again_ends_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cfg = replace(CFG, run_name="one", baselines="off")
    left = kill(monkeypatch, tuple(range(1, 100)), lambda: None)
    with pytest.raises(PartyAway, match="killed"):
        run_stream(
            build_active(cfg, tmp_path),
            FakeGrid(nodes(tmp_path, cfg)),
            "127.0.0.1:0",
            cfg.to_mapping(),
        )
    assert 90 < len(left) < 99


@pytest.mark.slow
def test_a_run_name_that_another_run_has_is_refused(tmp_path: Path) -> None:
    def attempt(epochs: int) -> None:
        cfg = replace(CFG, epochs=epochs, run_name="one", baselines="off")
        run_stream(
            build_active(cfg, tmp_path / f"active-{epochs}"),
            FakeGrid(nodes(tmp_path, cfg)),
            "127.0.0.1:0",
            cfg.to_mapping(),
        )

    attempt(1)
    before = {path: path.read_bytes() for path in tmp_path.rglob("node*/**/*.safetensors")}
    with pytest.raises(PartyError, match="holds another run's checkpoints"):
        attempt(2)
    assert before == {p: p.read_bytes() for p in tmp_path.rglob("node*/**/*.safetensors")}
    assert before
