"""Cross-validation: a run for each fold, under one alignment."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch

from vfl_flower.common.names import party_name
from vfl_flower.config.run_config import RunConfig
from vfl_flower.config.validation.tasks import check_tables_here
from vfl_flower.data.loading import SplitData, run_data
from vfl_flower.data.splitting.record import Split
from vfl_flower.privacy.label_dp.training_labels import learnt_classes
from vfl_flower.runs.run_folder import RunFolder
from vfl_flower.runs.seeds import Repeated, begin_folds, first_fold
from vfl_flower.splitting.build import drawn
from vfl_flower.workflows.build_parties import build_parties
from vfl_flower.workflows.local.train import prepared, train_in
from vfl_flower.workflows.local.watch import Watch


def begin_all(folder: RunFolder, folds: int, watch: Watch) -> None:
    """Begin a new run of all folds; whatever is wrong shows first.

    Parameters
    ----------
    folder : RunFolder
        Has a folder for each of them.
    folds : int
        How many there are.
    watch : Watch
        How the alignment is followed.

    Raises
    ------
    VflError
        See `prepared` and `build_parties`.
    """
    cfg = first_fold(folder.cfg, folds)
    check_tables_here(cfg)
    first = partial(begin_folds, folder.path, folder.cfg, folds)
    with prepared(folder, watch, first) as alignments:
        source = run_data(cfg, alignments)
        _noise(cfg, folder.path, source)
        split = _first_of_all(cfg, folds, folder.path, source)
        build_parties(cfg, folder.path, alignments, split=split)
    folder.end()


def finish_preparing(again: Repeated, watch: Watch) -> None:
    """Finish the common alignment and labels of interrupted runs.

    Parameters
    ----------
    again : Repeated
        The runs.
    watch : Watch
        How the alignment is followed.

    Raises
    ------
    VflError
        See `prepared`.
    """
    if any(each.begun for each in again.runs):
        return
    folder = again.folder
    with prepared(folder, watch) as alignments:
        if again.folds:
            cfg = first_fold(folder.cfg, again.folds)
            _noise(cfg, folder.path, run_data(cfg, alignments))
    folder.end()


def _first_of_all(cfg: RunConfig, folds: int, folder: Path, source: SplitData) -> Split | None:
    """Draw the splits of all folds, and return the first."""
    if not cfg.split_told:
        return None
    party = folder / party_name(0)
    each = [replace(cfg, fold=f"{number}/{folds}") for number in range(folds)]
    first, *_ = [drawn(fold, source, party) for fold in each]  # each may have too few rows
    return first


def _noise(cfg: RunConfig, folder: Path, source: SplitData) -> None:
    """Noise the labels once for all folds."""
    if cfg.label_noise:
        y, names = source.classes()
        party = folder / party_name(0)
        learnt_classes(cfg, torch.from_numpy(y), len(names), party)


def trained_folds(again: Repeated, watch: Watch) -> list[dict[str, Any]]:
    """Train all folds, or their rest, and return the results."""
    finish_preparing(again, watch)
    return [folder.result() or train_in(folder, watch) for folder in again.runs]
