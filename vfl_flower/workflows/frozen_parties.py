"""Frozen parties: those of a trained model that others join."""

from pathlib import Path
from typing import TypeVar

import numpy as np

from vfl_flower.common.errors import ConfigError, RunError
from vfl_flower.common.layout import NETWORK, model_of
from vfl_flower.common.names import party_log, party_name
from vfl_flower.config.continuation import check_continued
from vfl_flower.config.run_config import RunConfig
from vfl_flower.data.partition.shares import Share
from vfl_flower.data.published_data import PublishedData
from vfl_flower.data.splitting.record import Split
from vfl_flower.parties.party import Party
from vfl_flower.parties.persistence.model_folder import load_frozen, trained_with

P = TypeVar("P", bound=Party)


def freeze(party: P) -> P:
    """Give a party its network of the model that others join.

    A party that joins, or of a run that nobody joins, is left as it is.

    Raises
    ------
    ConfigError
        If the run's options, or its columns, are not those of the model.
    RunError
        If the model folder is missing or damaged, or of another network.
    """
    cfg, rank = party.cfg, party.rank
    if not party.frozen:
        return party
    folder = Path(cfg.model) / party_name(rank)
    if not (model_of(folder) / NETWORK).is_file():
        raise RunError(
            f"{party_name(rank)}: {folder} holds no trained model; name a complete run that this "
            "party took part in"
        )
    trained, sigma = trained_with(folder, cfg)
    check_continued(cfg, trained, rank, sigma)
    if not cfg.own_tables:
        _check_columns(trained, party)
    load_frozen(folder, party)
    joining = " and ".join(map(party_name, cfg.newcomers))
    party_log(rank).info(
        "joined by %s, with the model of %s; the own network stays", joining, Path(cfg.model).name
    )
    return party


def _check_columns(trained: RunConfig, party: Party) -> None:
    """Refuse a partition that gives the party other columns than the model's."""
    split = party.data.split
    before, now = (_share(cfg, party.rank, split) for cfg in (trained, party.cfg))
    if not _same(before, now):
        raise ConfigError(
            f"{party_name(party.rank)}: partition is {party.cfg.partition}, which gives it other "
            f"columns than the model's, {trained.partition}, has; keep shares with @, as in "
            "strips@0-3/5 for the model and strips@0-4/5 for this run"
        )


def _share(cfg: RunConfig, rank: int, split: Split | None) -> Share:
    return PublishedData(cfg, split).shares[rank]


def _same(before: Share, now: Share) -> bool:
    """Tell whether two shares hold the same columns."""
    if isinstance(before, tuple) or isinstance(now, tuple):
        return before == now if isinstance(before, tuple) and isinstance(now, tuple) else False
    return np.array_equal(before, now)
