"""Build the parties of a run from its configuration."""

from functools import partial
from pathlib import Path

import torch

from vfl_flower.common.codec import Array
from vfl_flower.common.errors import ConfigError, DataError
from vfl_flower.common.names import party_name
from vfl_flower.config.evaluation.metrics import AUTO, METRICS
from vfl_flower.config.evaluation.threshold import read_threshold
from vfl_flower.config.policy.record import OPEN, Policy
from vfl_flower.config.run_config import RunConfig
from vfl_flower.config.validation.extras import check_extras
from vfl_flower.crypto.identity import Identity
from vfl_flower.data.loading import Alignments, RunData, load_party, run_data
from vfl_flower.data.party_data import PartyData
from vfl_flower.data.preprocessing.long_tail import long_tailed
from vfl_flower.data.splitting.record import Split
from vfl_flower.parties.active import ActiveParty
from vfl_flower.parties.passive import PassiveParty
from vfl_flower.training.session import attempt
from vfl_flower.workflows.build_learner import build_learner
from vfl_flower.workflows.frozen_parties import freeze

UNKNOWN = -1
"""In the place of every label of a party that has none: no class, so that none can be learnt."""


def build_parties(
    cfg: RunConfig,
    folder: Path | None = None,
    alignments: Alignments | None = None,
    *,
    labelled: bool = True,
    split: Split | None = None,
) -> tuple[ActiveParty, list[PassiveParty]]:
    """Build all parties of a run, whose data are read once.

    Parameters
    ----------
    cfg : RunConfig
        The run's configuration.
    folder : Path, optional
        Of the run; each party has a folder in it.
    alignments : mapping of int to Alignment, optional
        See `run_data`.
    labelled : bool
        Whether the active party has labels.
    split : Split, optional
        See `split_of`.

    Raises
    ------
    VflError
        As `build_active` and `build_passive` do.
    """
    check_extras(cfg, 0)
    data = run_data(cfg, alignments, split)
    passive = [build_passive(cfg, rank, folder, data=data.party(rank)) for rank in cfg.present]
    active = build_active(cfg, folder, labelled=labelled, source=data)
    return freeze(active), [freeze(each) for each in passive]


def build_active(
    cfg: RunConfig,
    folder: Path | None = None,
    *,
    labelled: bool = True,
    source: RunData | None = None,
) -> ActiveParty:
    """Build the active party of a run, with or without labels.

    Errors are those of `load_party` and `build_learner`.
    """
    check_extras(cfg, 0)
    strategy, _ = cfg.spec.load()
    source = source or run_data(cfg)
    pools = cfg.spec.pools
    data = source.pooled(labelled=labelled) if pools else source.party(0, labelled=labelled)
    folder = folder and folder / party_name(0)
    layers = cfg.top_layers or strategy.layers
    net = strategy.own_network(cfg, data)
    made = build_learner(cfg, data, folder, top_input=strategy.top_input, layers=layers, net=net)
    y = torch.full((len(data.x),), UNKNOWN) if data.y is None else data.y
    if data.y is not None:
        _check_validation(cfg, data, y)
    party: ActiveParty = strategy(made, y, data.rows | {"train": _training_rows(cfg, data)})
    party.task = partial(attempt, party)
    return party


def _check_validation(cfg: RunConfig, data: PartyData, y: torch.Tensor) -> None:
    """Refuse validation rows that lack a class that metric or threshold needs."""
    rows = data.rows["validation"]
    every = cfg.metric != AUTO and METRICS[cfg.metric].every_class
    if (
        not len(rows)
        or y.is_floating_point()
        or not (every or read_threshold(cfg.threshold).chosen)
    ):
        return
    absent = set(range(data.classes)) - set(y[torch.from_numpy(rows)].tolist())
    if absent and data.target:
        raise DataError(
            "active: no validation row is of one of the classes, which metric or threshold need; "
            "hold more rows out, or take another seed",
            data.target.classes[min(absent)],
        )


def _training_rows(cfg: RunConfig, data: PartyData) -> Array:
    """Return the training rows that `long_tailed` leaves; enough for a batch."""
    if cfg.long_tail == 1 or data.y is None:
        return data.rows["train"]
    kept = long_tailed(data.rows["train"], data.y.numpy(), data.classes, cfg.long_tail, cfg.seed)
    if cfg.rows_of_step(len(kept)) > len(kept):
        raise DataError(
            f"active: batch-size {cfg.batch_size} is more than the {len(kept)} training rows that "
            f"long-tail {cfg.long_tail:g} leaves; use batch-size = {len(kept)} or less"
        )
    return kept


def build_passive(
    cfg: RunConfig,
    rank: int,
    folder: Path | None = None,
    identity: Identity | None = None,
    data: PartyData | None = None,
    policy: Policy = OPEN,
) -> PassiveParty:
    """Build the passive party of a rank.

    Parameters
    ----------
    cfg : RunConfig
        The run's configuration.
    rank : int
        1 to K.
    folder : Path, optional
        Of the run; the party has a folder in it.
    identity : Identity, optional
        The party's long-term key, and the keys that it pins.
    data : PartyData, optional
        The party's, if they are loaded already.
    policy : Policy
        Of the party's owner; open where all parties share one process.

    Raises
    ------
    ConfigError
        If there is no such party.
    VflError
        As `load_party` and `build_learner` do.
    """
    if not 1 <= rank < cfg.parties:
        raise ConfigError(f"there is no {party_name(rank)} in a run with parties = {cfg.parties}")
    check_extras(cfg, rank)
    _, client = cfg.spec.load()
    data, folder = data or load_party(cfg, rank), folder and folder / party_name(rank)
    net = client.own_network(cfg, data)
    made = build_learner(cfg, data, folder, top_input=client.top_input, net=net)
    made.identity, made.policy = identity, policy
    party: PassiveParty = client(made)
    return party
