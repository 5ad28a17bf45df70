"""Cross-validation: a run for each fold, under one alignment."""

from dataclasses import replace
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
from vfl_flower.runs.seeds import begin_folds, first_fold, seeds_in
from vfl_flower.splitting.build import drawn
from vfl_flower.workflows.build_parties import build_parties
from vfl_flower.workflows.local.train import prepared, train_in
from vfl_flower.workflows.local.watch import Watch


def begun_folds(folder: RunFolder, folds: int, watch: Watch) -> list[RunFolder]:
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
    with prepared(folder, watch) as alignments:
        folder.take()
        source = run_data(cfg, alignments)
        _noise(cfg, folder.path, source)
        split = _first_of_all(cfg, folds, folder.path, source)
        build_parties(cfg, folder.path, alignments, split=split)
        begin_folds(folder.path, folder.cfg, folds)
    folder.end()
    return seeds_in(folder.path, {}, trust_code=True)  # right here, and built above


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


def trained_folds(folders: list[RunFolder], watch: Watch) -> list[dict[str, Any]]:
    """Train all folds, or their rest, and return the results."""
    return [folder.result() or train_in(folder, watch) for folder in folders]
