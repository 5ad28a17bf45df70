"""Agreement on the split of a run before its training."""

import shutil
from collections.abc import Callable
from pathlib import Path

from vfl_flower.common.errors import RunError
from vfl_flower.common.files import refused
from vfl_flower.common.layout import FOLDS, is_split
from vfl_flower.common.names import party_name
from vfl_flower.config.run_config import RunConfig
from vfl_flower.data.loading import Alignments, SplitData, run_data, split_of
from vfl_flower.data.splitting.record import Split
from vfl_flower.privacy.label_dp.training_labels import NOISED
from vfl_flower.protocol.transport import Transport
from vfl_flower.runs.run_folder import RunFolder
from vfl_flower.splitting.build import build_split_active, build_split_passive, drawn
from vfl_flower.transport.local import LocalTransport
from vfl_flower.workflows.held_out.continued import continued_split


def agreed_split(
    folder: RunFolder, alignments: Alignments, transport: Callable[[SplitData], Transport]
) -> Split | None:
    """Return a run's split, drawn and told if it is new.

    Parameters
    ----------
    folder : RunFolder
        Of the run.
    alignments : mapping of int to Alignment
        See `run_data`.
    transport : callable
        From the run's data to what reaches the passive parties.

    Returns
    -------
    Split or None
        None where every party draws the rows itself.

    Raises
    ------
    VflError
        If the rows cannot be split so, or a party refuses.
    """
    cfg, party = folder.cfg, folder.path / party_name(0)
    _share_with_model(folder)
    if cfg.split_told and not folder.begun and not is_split(party):
        folder.take()
        source = run_data(cfg, alignments)
        active = build_split_active(cfg, folder.path, new_split(cfg, source, alignments, party))
        try:
            transport(source).run(active)
        finally:
            active.close()
    return split_of(cfg, party)


def new_split(
    cfg: RunConfig, source: SplitData, alignments: Alignments, party: Path | None
) -> Split:
    """Return a new run's split: drawn, or the joined model's.

    Parameters
    ----------
    cfg, source, party
        See `drawn`.
    alignments : mapping of int to Alignment
        See `run_data`.
    """
    if cfg.joins and cfg.own_tables:
        return continued_split(cfg, alignments)
    return drawn(cfg, source, party)


def split_here(folder: RunFolder, alignments: Alignments) -> Split | None:
    """Agree on the split with all parties in this process; see `agreed_split`."""

    def local(source: SplitData) -> Transport:
        ranks = range(1, folder.cfg.parties)
        return LocalTransport(
            [build_split_passive(folder.cfg, rank, folder.path, source) for rank in ranks]
        )

    return agreed_split(folder, alignments, local)


def share_labels(folder: RunFolder) -> None:
    """Copy the noised labels that all folds learn.

    Raises
    ------
    RunError
        If the file system refuses.
    """
    if (folder.path.parent / FOLDS).is_file():
        _take_labels(folder, folder.path.parent)


def _share_with_model(folder: RunFolder) -> None:
    """Copy the noised labels of the model that new parties join.

    Labels that were noised once more would cost as much privacy again.
    """
    cfg, run = folder.cfg, Path(folder.cfg.model)
    if not cfg.joins or not cfg.label_noise:
        return
    if not (run / party_name(0) / NOISED).is_file():
        raise RunError(
            f"label-privacy is {cfg.label_noise}, and {run} holds no noised labels, without which "
            "labels would be noised once more; put them back, or use what the model was trained "
            "with"
        )
    _take_labels(folder, run)


def _take_labels(folder: RunFolder, run: Path) -> None:
    """Copy the noised labels of another run, where labels are noised."""
    source = run / party_name(0) / NOISED
    if folder.begun or not folder.cfg.label_noise:
        return
    folder.take()
    place = folder.path / party_name(0)
    with refused(source):
        place.mkdir(mode=0o700, exist_ok=True)
        shutil.copy2(source, place / NOISED)
