"""Alignments and runs of own tables, complete or stopped."""

from pathlib import Path

import pytest
import torch

from tests.helpers.contract import ClientTransport, carry, passive_parties
from tests.helpers.outcomes.commands import train as run
from tests.helpers.own_data.own import (
    flags,
)
from vfl_flower.alignment.build import build_alignment_active, build_alignment_passive
from vfl_flower.config.run_config import RunConfig
from vfl_flower.workflows.align import carried_out
from vfl_flower.workflows.build_parties import build_active, build_passive


def align(cfg: RunConfig, carrier: str, folder: Path, parties: int = 2) -> None:
    """Align over a carrier with so many passive parties."""
    made = passive_parties(carrier, lambda k: build_alignment_passive(cfg, k, folder), parties)
    active = build_alignment_active(cfg, folder)
    carried_out(active, ClientTransport(carrier, made.clients))


def trained(cfg: RunConfig, carrier: str) -> list[dict[str, torch.Tensor]]:
    """Train over a carrier, and return all parties' weights."""
    parties = passive_parties(carrier, lambda k: build_passive(cfg, k), 2)
    active = build_active(cfg)
    carry(carrier, active, parties.clients)
    return [active.net.state_dict(), *parties.weights()]


def stopped(
    tables: str, out: Path, capsys: pytest.CaptureFixture[str], told: str, *more: str
) -> None:
    """Check that a run fails with an error and leaves nothing."""
    capsys.readouterr()
    assert run(flags(tables, out, *more)) == 2
    err = capsys.readouterr().err
    assert told in err, err
    assert err.startswith("error: ") and err.count("\n") == 1
    assert not out.exists()
