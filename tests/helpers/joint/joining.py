"""A small trained model, and runs in which new parties join it."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.helpers.contract import Parties, carry, passive_parties
from vfl_flower.config.run_config import RunConfig
from vfl_flower.parties.active import ActiveParty
from vfl_flower.parties.party import Party
from vfl_flower.transport.local import run_local
from vfl_flower.workflows.build_parties import build_active, build_parties, build_passive
from vfl_flower.workflows.frozen_parties import freeze

SHARES = 5
SMALL: dict[str, Any] = {
    "models": "mlp",
    "epochs": 2,
    "batch_size": 100,
    "embedding_dim": 12,
    "train_rows": 390,
}


def trained(folder: Path, method: str, **changes: Any) -> RunConfig:
    """Train the first parties of five, in a folder; return their run."""
    values = {"parties": 3, "partition": f"strips@0-2/{SHARES}", "blinding": "none"}
    cfg = RunConfig(method=method, **{**SMALL, **values, **changes})
    run_local(*build_parties(cfg, folder))
    return cfg


def joining(model: Path, old: RunConfig, new: int = 2, **changes: Any) -> RunConfig:
    """Return the run in which the next parties join."""
    parties = old.parties + new
    values = {"parties": parties, "partition": f"strips@0-{parties - 1}/{SHARES}"}
    values |= {"model": str(model), "new_parties": new, "blinding": "auto"}
    return replace(old, **{**values, **changes})


def joined(cfg: RunConfig, folder: Path | None = None) -> list[Party]:
    """Join in process; return all parties, the active one first."""
    active, passive = build_parties(cfg, folder)
    run_local(active, passive)
    return [active, *passive]


def joined_by(carrier: str, cfg: RunConfig) -> tuple[ActiveParty, Parties]:
    """Join over a transport of the contract suite."""
    active = freeze(build_active(cfg))
    others = passive_parties(carrier, lambda k: freeze(build_passive(cfg, k)), cfg.parties - 1)
    carry(carrier, active, others.clients)
    return active, others
