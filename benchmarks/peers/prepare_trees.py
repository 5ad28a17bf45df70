"""Write the work of contenders on trees: rules, rows, encoded columns."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers.inside.table import PARTS
from benchmarks.peers.inside.work import OPTIONS, SPEC
from vfl_flower.common.codec import to_array
from vfl_flower.config.run_config import RunConfig
from vfl_flower.workflows.build_parties import build_parties

SHARED: dict[str, Any] = {
    "method": "boosted_trees",
    "partition": "columns",
    "tree-depth": 6,
    "leaf-l2": 1.0,
    "least-child": 0.001,
    "learning-rates": "0.1",
    "keep": "last",
    "metric": "auc",
    "baselines": "off",
    "device": "cpu",
    "download": False,
}
"""Options of every work, those of `benchmarks.trees`."""


def prepare_trees(folder: Path, options: Mapping[str, Any], warm_up: int) -> None:
    """Write a work.

    Parameters
    ----------
    folder : Path
        Where it goes.
    options : mapping
        Of the run, beside `SHARED`; the data sets' folder is absolute.
    warm_up : int
        Rounds that are not timed: always the first one.
    """
    given = {**SHARED, **options}
    cfg = RunConfig.from_mapping(given)
    active, passive = build_parties(cfg)
    for part in PARTS:
        rows = active.rows[part]
        np.save(folder / f"y-{part}.npy", active.y.numpy()[rows].astype(np.float32))
        for party in (active, *passive):
            columns = to_array(party.columns(rows).flatten(1)).astype(np.float32)
            np.save(folder / f"x-{party.rank}-{part}.npy", columns)
    rules = {
        "parties": cfg.parties,
        "rounds": cfg.epochs,
        "depth": given["tree-depth"],
        "rate": cfg.rate_of(0),
        "bins": given["bins"],
        "l2": given["leaf-l2"],
        "least_child": given["least-child"],
        "base": float(np.load(folder / "y-train.npy").mean()),
    }
    (folder / SPEC).write_text(json.dumps(rules))
    (folder / OPTIONS).write_text(json.dumps(given))
