"""Runs and predictions of tables with the same rows in order."""

from dataclasses import replace
from pathlib import Path

import numpy as np
from torch import Tensor

from vfl_flower.common.names import party_name
from vfl_flower.config.catalog import REGRESSION
from vfl_flower.config.run_config import RunConfig
from vfl_flower.config.validation.tasks import check_tables_here
from vfl_flower.data.alignment_record import Alignment, drawn_nonce
from vfl_flower.data.preprocessing.target import Target
from vfl_flower.data.table_data import aligned_target, table_of
from vfl_flower.data.tables.description import with_tables
from vfl_flower.runs.run_folder import RunFolder
from vfl_flower.workflows.completed_run import check_models
from vfl_flower.workflows.local.predict import asked_here
from vfl_flower.workflows.trained_parties import prediction_of


def align_in_order(cfg: RunConfig, folder: Path) -> None:
    """Record that row i is row i of every table.

    Nothing is exchanged: one owner has cut the tables from one.

    Parameters
    ----------
    cfg : RunConfig
        Names the tables.
    folder : Path
        Of the run; each party gets a folder in it.

    Raises
    ------
    VflError
        If a table cannot be used.
    """
    made = _in_order([cfg] * cfg.parties)
    for rank in reversed(range(cfg.parties)):  # the active party's part says that all are there
        made[rank].save(folder / party_name(rank))


def predict_in_order(run: Path, tables: str, trust_code: bool = False) -> tuple[Target, Tensor]:
    """Predict the rows of new tables.

    Parameters
    ----------
    run : Path
        Of a complete run of own tables.
    tables : str
        Descriptions of the parties' new tables, the active party's first.
    trust_code : bool
        Whether the code of networks that the folder names may be imported.

    Returns
    -------
    target : Target
        What the labels are.
    said : Tensor
        See `asked`; in the order of the rows.

    Raises
    ------
    VflError
        If a table cannot be used, or the models are missing or damaged.
    """
    folder = RunFolder.reopen(run, {}, trust_code)
    check_models(folder)
    now = with_tables(folder.cfg, tables)
    check_tables_here(now)
    cfgs = {rank: prediction_of(now, rank, folder.path, trust_code) for rank in range(now.parties)}
    active, said = asked_here(cfgs, _in_order([*cfgs.values()]))
    return active.target, said


def _in_order(cfgs: list[RunConfig]) -> dict[int, Alignment]:
    """Return each party's part of an alignment of all rows.

    Configurations are the parties' own, the active one's first.
    """
    tables = [table_of(cfg, rank) for rank, cfg in enumerate(cfgs)]
    target = aligned_target(cfgs[0], tables[0])
    whole = Alignment(
        index=np.arange(len(tables[0].ids)),
        parties=len(cfgs),
        classes=1 if target.task == REGRESSION else len(target.classes),
        task=target.task,
        nonce=drawn_nonce(),
        table="",
    )
    return {rank: replace(whole, table=table.digest) for rank, table in enumerate(tables)}
