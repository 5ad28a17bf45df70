"""Build the two sides of a split's agreement."""

from pathlib import Path

import torch

from vfl_flower.common.errors import RunError
from vfl_flower.common.names import party_name
from vfl_flower.config.policy.record import OPEN, Policy
from vfl_flower.config.run_config import RunConfig
from vfl_flower.crypto.identity import Identity
from vfl_flower.data.loading import SplitData, run_data
from vfl_flower.data.splitting.record import Split
from vfl_flower.data.splitting.rows import draw_split
from vfl_flower.data.splitting.splitter import Values
from vfl_flower.privacy.label_dp.training_labels import NOISED, learnt_classes
from vfl_flower.splitting.active import SplitActive
from vfl_flower.splitting.passive import SplitPassive


def drawn(cfg: RunConfig, source: SplitData, party: Path | None) -> Split:
    """Draw the split of a run at the active party.

    Under label privacy, classes are those of the noised labels, which are kept in the folder: what
    others see of the split depends on no label otherwise.

    Parameters
    ----------
    cfg : RunConfig
        The run's configuration.
    source : SplitData
        Its data.
    party : Path or None
        The active party's folder; None keeps nothing, and the split is for checks alone.

    Raises
    ------
    VflError
        If the data cannot be read, or not be split so.
    """
    if cfg.split_spec.column:
        return draw_split(cfg, source.column(cfg.split_spec.column))
    y, names = source.classes()
    if cfg.label_noise:
        _check_fold(cfg, party)
        y = learnt_classes(cfg, torch.from_numpy(y), len(names), party).numpy()
    values: Values = y
    return draw_split(cfg, values, names)


def build_split_active(cfg: RunConfig, folder: Path, split: Split) -> SplitActive:
    """Build the active party of a split's agreement, given the split."""
    return SplitActive(cfg, split, folder / party_name(0))


def build_split_passive(
    cfg: RunConfig,
    rank: int,
    folder: Path | None,
    source: SplitData | None = None,
    identity: Identity | None = None,
    policy: Policy = OPEN,
) -> SplitPassive:
    """Build the passive party of a rank.

    Parameters
    ----------
    cfg, rank
        See `SplitPassive`.
    folder : Path or None
        Of the run; the party has a folder in it.
    source : SplitData, optional
        The data, if they are open already.
    identity, policy
        See `SplitPassive`.
    """
    size = (source or run_data(cfg)).size(rank)
    return SplitPassive(cfg, rank, size, folder and folder / party_name(rank), identity, policy)


def _check_fold(cfg: RunConfig, party: Path | None) -> None:
    """Refuse a fold of labels that no other fold has seen."""
    if cfg.fold_of and party is not None and not (party / NOISED).is_file():
        raise RunError(
            f"fold is {cfg.fold}, and label-privacy is {cfg.label_noise}: each run would noise the "
            "labels anew, and folds would overlap; use --folds, or split = random"
        )
