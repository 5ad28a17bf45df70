"""Build the two sides of an alignment."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from vfl_flower.alignment.active import AlignmentActive
from vfl_flower.alignment.messages import alignment_log
from vfl_flower.alignment.passive import AlignmentPassive
from vfl_flower.common.errors import RunError
from vfl_flower.common.names import party_name
from vfl_flower.config.choices import REGRESSION
from vfl_flower.config.run_config import RunConfig
from vfl_flower.crypto.hashed_ids import Ids, normalised
from vfl_flower.data.alignment_record import ALIGNMENT, Alignment, drawn_nonce
from vfl_flower.data.party_data import PartyData
from vfl_flower.data.preprocessing.target import Target, task_of
from vfl_flower.data.table_data import described, table_of, trained_target
from vfl_flower.data.tables.reader import OwnTable
from vfl_flower.learning.networks.base import blank
from vfl_flower.learning.optimizer import ScheduledOptimizer
from vfl_flower.learning.randomness import Randomness
from vfl_flower.parties.party import Party


def build_alignment_active(
    cfg: RunConfig, folder: Path, enough: Callable[[int], None] = lambda rows: None
) -> AlignmentActive:
    """Build the active party of an alignment.

    Parameters
    ----------
    cfg : RunConfig
        Names the tables.
    folder : Path
        Of the run; the party gets a folder in it.
    enough : callable
        See `AlignmentActive`.

    Raises
    ------
    ConfigError
        If the description of the table cannot be used, or the run cannot learn such labels.
    DataError
        If the table cannot be read.
    RunError
        If the folder holds an alignment already.
    """
    table, description, out = table_of(cfg, 0), described(cfg, 0), folder / party_name(0)
    if (out / ALIGNMENT).exists():
        raise RunError(f"{out} holds an alignment already; choose another")
    target = _target(cfg, table)
    kept = Alignment(
        index=np.empty(0, np.int64),
        parties=cfg.parties,
        classes=1 if target.task == REGRESSION else len(target.classes),
        task=target.task,
        nonce=drawn_nonce(),
        table=table.digest,
    )
    ids, label = normalised(table.ids, description.duplicates), table.label
    name = label.name if label else ""
    alignment_log(0, table, ids)
    return AlignmentActive(_bare(cfg, 0, ids, None), kept, name, out, enough)


def _target(cfg: RunConfig, table: OwnTable) -> Target:
    """Return the task, and the classes, of labels: the table's, or those that the model learnt."""
    if cfg.task == "predict":
        return trained_target(cfg)
    assert table.label is not None  # noqa: S101  the description names it
    return Target(task_of(table.label), table.label.values or ())


def build_alignment_passive(cfg: RunConfig, index: int, folder: Path | None) -> AlignmentPassive:
    """Build the passive party with one roster index; see `build_alignment_active`."""
    rank = index + 1
    table, out = table_of(cfg, rank), folder and folder / party_name(rank)
    ids = normalised(table.ids, described(cfg, rank).duplicates)
    return AlignmentPassive(_bare(cfg, rank, ids, out), cfg, table)


def _bare(cfg: RunConfig, rank: int, ids: Ids, folder: Path | None) -> Party:
    """Return a party that has ids, and a network that does nothing."""
    bare = RunConfig(
        method="local",
        parties=cfg.parties,
        threads=cfg.threads,
        party_timeout=cfg.party_timeout,
        answer_timeout=cfg.answer_timeout,
        return_timeout=cfg.return_timeout,
        stream_advertise=cfg.stream_advertise,
        stream_grace=cfg.stream_grace,
    )
    net, randomness = blank(1), Randomness(None)
    randomness.attach(net)
    optimizer = ScheduledOptimizer({net: 1.0}, "sgd", "constant", 1)
    data = PartyData(rank, torch.empty(0, 0), {}, 1, Target(REGRESSION, ()))
    return Party(bare, data, net, optimizer, randomness, folder, ids=ids)
