"""Write the work of all contenders into a folder: networks, data, batches."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.peers.inside.work import OPTIONS, SPEC
from vfl_flower.config.run_config import RunConfig
from vfl_flower.data.byte_rows import ByteRows
from vfl_flower.learning.batching import batches
from vfl_flower.parties.active import ActiveParty
from vfl_flower.parties.party import Party
from vfl_flower.parties.passive import PassiveParty
from vfl_flower.workflows.build_parties import build_parties

SHARED: dict[str, Any] = {
    "method": "splitnn",
    "active-columns": "none",
    "optimizers": "adam",
    "eval-every": 10**6,
    "baselines": "off",
    "device": "cpu",
    "download": False,
    "party-randomness": "public",
}
"""Options of every work: split learning in which one party has no more than labels."""


def prepare(folder: Path, options: Mapping[str, Any], warm_up: int) -> None:
    """Write a work with its networks; see `prepare_rows`."""
    active, passive = prepare_rows(folder, options, warm_up)
    torch.save(active.net.decide, folder / "top.pt")
    for party in passive:
        torch.save(party.net.embed, folder / f"bottom-{party.rank}.pt")


def prepare_rows(
    folder: Path, options: Mapping[str, Any], warm_up: int
) -> tuple[ActiveParty, list[PassiveParty]]:
    """Write data and batches of a work; return its parties.

    Parameters
    ----------
    folder : Path
        Where it goes.
    options : mapping
        Of the run, beside `SHARED`; a batch size of 0 is all training rows, and the data sets'
        folder is absolute.
    warm_up : int
        Steps that are not timed.
    """
    given = {**SHARED, **options}
    if not given["batch-size"]:
        cfg = RunConfig.from_mapping(given | {"batch-size": 1})
        given["batch-size"] = len(build_parties(cfg)[0].rows["train"])
    cfg = RunConfig.from_mapping(given)
    active, passive = build_parties(cfg)
    _write_active(folder, active)
    for party in (active, *passive):
        _write_columns(folder, party)
    spec = {"rate": active.optimizer.rate, "passive": len(passive), "warm_up": warm_up}
    spec |= {"batch": cfg.batch_size}
    (folder / SPEC).write_text(json.dumps(spec))
    (folder / OPTIONS).write_text(json.dumps(given))
    return active, passive


def _write_active(folder: Path, active: ActiveParty) -> None:
    """Write labels and rows."""
    cfg, train = active.cfg, active.rows["train"]
    orders = [
        np.concatenate(batches(cfg.seed, e, train, cfg.batch_size)) for e in range(cfg.epochs)
    ]
    np.save(folder / "order.npy", np.stack(orders))
    np.save(folder / "test.npy", active.rows["test"])
    np.save(folder / "y.npy", active.y.numpy())


def _write_columns(folder: Path, party: Party) -> None:
    """Write columns."""
    x, rank = party.data.x, party.rank
    if isinstance(x, ByteRows):
        np.save(folder / f"x-{rank}.npy", x.pixels.numpy())
        np.save(folder / f"moments-{rank}.npy", np.stack([x.mean.numpy(), x.deviation.numpy()]))
    else:
        np.save(folder / f"x-{rank}.npy", x.numpy())
