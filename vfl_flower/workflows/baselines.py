"""Baselines of a result: local and central training.

Both are methods of their own, `strategies.local` and `strategies.central`, run here with the active
party's network, optimizer, loss and batches, on the true labels. `central` needs everybody's
columns and exists in simulation only.
"""

from typing import Any

import torch

from vfl_flower.common.errors import ProtocolError, TrainingError
from vfl_flower.config.catalog import FLOAT32
from vfl_flower.config.dataset_specs import DATASETS
from vfl_flower.config.registry import spec_of
from vfl_flower.config.run_config import RunConfig
from vfl_flower.config.settings import UNNOISED
from vfl_flower.data.loading import run_data
from vfl_flower.data.splitting.record import Split
from vfl_flower.learning.metrics.judge import guess
from vfl_flower.parties.active import ActiveParty
from vfl_flower.protocol.exchange import Protocol
from vfl_flower.training.evaluation import finish
from vfl_flower.training.loop import train
from vfl_flower.workflows.build_parties import build_active

_BASELINES = ("local", "central")
_UNPROTECTED: dict[str, Any] = {
    "label_privacy": "none",
    "gradient_defence": "none",
    "embedding_defence": "none",
    "label_encoding": "none",
    "score_digits": 0,
    "blinding": "auto",
    "colluding_share": 1.0,
    "embedding_bound": "auto",
    "embedding_scale": "raw",
    "share_check": "off",
    "subset_training": "off",
    "without": "",
    "on_leave": "refuse",
    "wire_precision": FLOAT32,
    **UNNOISED,
}
"""Options of protections, as they are where nothing is sent."""

_ANEW: dict[str, Any] = {"new_parties": 0, "model": ""}
"""Options of a run that begins with no model."""


def wanted(cfg: RunConfig) -> bool:
    """Tell whether a run is to train its baselines."""
    automatic = DATASETS[cfg.dataset].small and cfg.test_share > 0 and cfg.trains_networks
    return cfg.baselines == "on" or (cfg.baselines == "auto" and automatic)


def baselines_of(active: ActiveParty) -> dict[str, float]:
    """Train both baselines of a run.

    Returns
    -------
    dict of str to float
        Test accuracy of ``local`` (the active party's columns) and ``central`` (all columns). Where
        the active party has no columns, ``local`` is what guessing the most frequent class reaches.
    """
    told = active.cfg.split_told
    split = Split.of(active.data.rows, len(active.x)) if told else None
    alone = {
        method: _reached(build_active(cfg, source=run_data(cfg, split=split)))
        for method, cfg in configurations(active).items()
    }
    guessed = guess(active.y[torch.from_numpy(active.rows["test"])])
    return {"local": guessed} | alone


def configurations(active: ActiveParty) -> dict[str, RunConfig]:
    """Return the configurations of a run's baselines.

    There is none of a method without networks, nor `local` where the active party has no columns.
    """
    cfg = active.cfg
    if not cfg.trains_networks:
        return {}
    return {
        method: cfg.changed(
            method=method,
            models=cfg.spec.network or cfg.models,
            loss=active.loss_name,
            least_parties=cfg.least_present if cfg.uses_missing else 0,
            partition=cfg.partition_text,
            cut=cfg.options.cut_at or "auto",
            padding="zeros",
            column_noise="" if spec_of(method).pools else cfg.column_noise,
            eval_every=0,
            top_layers=0 if cfg.options.cut_at else cfg.top_layers or active.layers,
            **_UNPROTECTED,
            **(_ANEW if cfg.joins else {}),
        )
        for method in _BASELINES
        if cfg.active_columns == "own" or spec_of(method).pools
    }


def _reached(party: ActiveParty) -> float:
    """Train a party that asks for nothing, and return its test accuracy."""
    party.use_threads()
    try:
        _run(train(party))
    except TrainingError:  # a baseline that diverges is a bad one, no reason to lose the result
        _run(finish(party))
    return party.progress.test["score"]["active"]


def _run(protocol: Protocol) -> None:
    for request in protocol:
        raise ProtocolError(f"'{request.phase}' was asked, where nobody is to answer")
