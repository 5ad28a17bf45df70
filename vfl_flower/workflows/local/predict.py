"""Predictions with the models of parties that are all on this machine."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
from torch import Tensor

from vfl_flower.common.codec import Array
from vfl_flower.common.errors import ConfigError
from vfl_flower.config.run_config import RunConfig
from vfl_flower.config.schema import choices
from vfl_flower.config.validation.tasks import check_tables_here
from vfl_flower.data.loading import Alignments, run_data
from vfl_flower.data.splitting.presence import usable
from vfl_flower.data.tables.description import described
from vfl_flower.data.truth import truth_of
from vfl_flower.learning.networks.trusted_code import check_trusted
from vfl_flower.parties.active import ActiveParty
from vfl_flower.parties.passive import PassiveParty
from vfl_flower.runs.party_logs import party_logs
from vfl_flower.runs.run_folder import RunFolder
from vfl_flower.runs.seeds import first_run
from vfl_flower.transport.local import LocalTransport
from vfl_flower.workflows.align import align_here
from vfl_flower.workflows.completed_run import check_models
from vfl_flower.workflows.local.new_tables import with_new_tables
from vfl_flower.workflows.local.watch import Watch
from vfl_flower.workflows.prediction import asked, check_out, write, write_missing
from vfl_flower.workflows.trained_parties import (
    predicting_active,
    predicting_parties,
    predicting_passive,
    prediction_of,
)

ROWS = ("test", "validation", "all")


class Prediction(NamedTuple):
    """Outcome of a prediction.

    Attributes
    ----------
    rows : int
        How many were predicted.
    epsilon : float or None
        What the party that has uploaded most has spent by now; None without client-level privacy.
    missing : int
        How many were not, because some party lacks them.
    """

    rows: int
    epsilon: float | None
    missing: int = 0


def predict_rows(
    run: Path,
    rows: str,
    out: Path,
    trust_code: bool = False,
    *,
    truth: bool = False,
    without: str = "",
) -> Prediction:
    """Predict rows of a run's own data, and write the predictions.

    Parameters
    ----------
    run : Path
        The folder of a complete run, of several seeds the first, with the folders of all parties.
    rows : {"test", "validation", "all"}
        Which.
    out : Path
        The file; see `prediction.write`. Ids are the rows' numbers where the data have no others.
    trust_code : bool
        Whether the code of networks that the folder names may be imported.
    truth : bool
        Whether the labels are written, too.
    without : str
        Passive parties that have left, with commas.

    Raises
    ------
    TrustError
        If it names some, and may not.
    ConfigError
        If there are no such rows.
    DataError
        If the file cannot be what it is to be.
    RunError
        If model folders are missing, damaged or do not belong together, or the file cannot be
        written.
    PrivacyError
        If a party's privacy budget does not last for it; then nothing has been sent.
    PartyError
        If a party fails.
    """
    if rows not in ROWS:
        raise ConfigError(f"unknown rows '{rows}'{choices(rows, ROWS)}")
    folder = going_on(first_run(run, trust_code), without)
    check_trusted(folder.cfg)
    check_out(out, _inputs(folder.cfg))
    check_models(folder)
    active, passive = predicting_parties(folder)
    numbers = numbers_of(active, rows)
    if not len(numbers):
        raise ConfigError(f"rows is {rows}, and the run held no such rows out; predict all")
    for party in passive:
        party.privacy.afford(numbers)
    labels = truth_of(folder.cfg) if truth else None
    with party_logs(folder, folder.cfg.parties - 1):
        said = asked(active, numbers, LocalTransport(passive))
    write(out, active, numbers, said, labels)
    return Prediction(len(numbers), _epsilon(active))


def numbers_of(active: ActiveParty, rows: str) -> Array:
    """Return the numbers of a part of the rows, (N,) int32."""
    every, presence = np.arange(len(active.x), dtype=np.int32), active.data.presence
    numbers = every if rows == "all" else active.rows[rows]
    return numbers if presence is None else numbers[usable(active.cfg, presence)[numbers]]


def predict_tables(
    run: Path,
    tables: str,
    out: Path,
    watch: Watch,
    trust_code: bool = False,
    *,
    truth: bool = False,
    keep_missing: bool = False,
    without: str = "",
) -> Prediction:
    """Align new tables by id, and predict their common rows.

    Parameters
    ----------
    run : Path
        As for `predict_rows`; a run of own tables.
    tables : str
        New tables of the parties that are there, described in toml or as at training, the active
        party's first.
    out : Path
        The file; see `prediction.write`. Rows that some party lacks are listed beside it.
    watch : Watch
        How the alignment is followed.
    trust_code, truth, without
        As for `predict_rows`.
    keep_missing : bool
        Whether rows that some party lacks are in the file, too, without a prediction.

    Raises
    ------
    VflError
        As for `predict_rows`; or a table cannot be used, or no row is common.
    """
    folder = run_of_tables(run, trust_code, without)
    others = folder.cfg.parties - 1
    with (
        with_new_tables(folder.cfg, tables) as now,
        TemporaryDirectory() as temporary,
        party_logs(folder, others),
        watch.messages(others),
    ):
        cfgs = cfgs_of(now, folder.path, temporary, trust_code)
        check_out(out, [described(cfg, rank).file for rank, cfg in cfgs.items()])
        labels = truth_of(cfgs[0]) if truth else None
        common, alignments = align_here(cfgs[0], Path(temporary), watch.observer("alignment"))
        active, said = asked_here(cfgs, alignments)
        missing = common.missing if keep_missing else None
        write(out, active, active.rows["test"], said, labels, missing)
        write_missing(out, active.data.ids, common)
    return Prediction(len(common.rows), _epsilon(active), len(common.missing))


def cfgs_of(now: RunConfig, run: Path, alignment: str, trust_code: bool) -> dict[int, RunConfig]:
    """Return each party's configuration of a prediction of new tables, by rank.

    Parameters
    ----------
    now : RunConfig
        The run's, with the new tables; see `with_new_tables`.
    run : Path
        The run's folder.
    alignment : str
        Folder that the alignment is to be kept in.
    trust_code : bool
        See `predict_rows`.

    Raises
    ------
    ConfigError, TrustError, RunError
        See `predict_tables`.
    """
    check_tables_here(now)
    cfgs = {
        rank: replace(prediction_of(now, rank, run, trust_code), alignment=alignment)
        for rank in (0, *now.present)
    }
    for cfg in cfgs.values():
        check_trusted(cfg)
    return cfgs


def asked_here(cfgs: Mapping[int, RunConfig], alignments: Alignments) -> tuple[ActiveParty, Tensor]:
    """Predict the rows of new tables that are aligned.

    Parameters
    ----------
    cfgs : mapping of int to RunConfig
        The parties', by rank; see `prediction_of`.
    alignments : mapping of int to Alignment
        By rank.

    Returns
    -------
    active : ActiveParty
    said : Tensor
        See `asked`; of its test rows, which are all.

    Raises
    ------
    PrivacyError
        If a party's privacy budget does not last for it; then nothing has been sent.
    """
    active, passive = parties_here(cfgs, alignments)
    for party in passive:
        party.privacy.afford()
    return active, asked(active, active.rows["test"], LocalTransport(passive))


def parties_here(
    cfgs: Mapping[int, RunConfig], alignments: Alignments
) -> tuple[ActiveParty, list[PassiveParty]]:
    """Build the parties that predict new tables; see `asked_here`."""
    active = predicting_active(cfgs[0], run_data(cfgs[0], alignments))
    passive = [
        predicting_passive(cfg, rank, data=run_data(cfg, alignments).party(rank))
        for rank, cfg in cfgs.items()
        if rank
    ]
    return active, passive


def going_on(folder: RunFolder, without: str) -> RunFolder:
    """Return a run's folder, to go on without parties that have left."""
    if without:
        folder.cfg = replace(folder.cfg, without=without)
    return folder


def run_of_tables(run: Path, trust_code: bool, without: str = "") -> RunFolder:
    """Return the folder of a complete run of own tables; see `predict_rows`."""
    folder = going_on(first_run(run, trust_code), without)
    if not folder.cfg.own_tables:
        raise ConfigError(
            f"{run} is a run of {folder.cfg.dataset}; say which of its rows, not tables"
        )
    check_models(folder)
    return folder


def _inputs(cfg: RunConfig) -> list[Path]:
    """Return the files of all parties' own tables."""
    return [described(cfg, k).file for k in (0, *cfg.present)] if cfg.own_tables else []


def _epsilon(active: ActiveParty) -> float | None:
    return active.budget.worst(active.uploaded) if active.budget else None
