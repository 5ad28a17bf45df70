"""Split of a run that joins a model: rows keep their parts.

The rows of own tables are aligned anew with the new parties, and are fewer. Were their split drawn
anew, too, rows that the model has learnt would be test rows.
"""

from pathlib import Path

import numpy as np

from vfl_flower.common.errors import DataError
from vfl_flower.common.names import party_name
from vfl_flower.config.run_config import RunConfig
from vfl_flower.data.alignment_record import Alignment
from vfl_flower.data.loading import Alignments, split_of
from vfl_flower.data.splitting.record import PARTS, Split
from vfl_flower.data.splitting.rows import check_told, rows_of
from vfl_flower.runs.run_folder import RunFolder


def continued_split(cfg: RunConfig, alignments: Alignments) -> Split:
    """Return the split by the parts that the model's run had.

    Rows that the model's run did not have are training rows.

    Parameters
    ----------
    cfg : RunConfig
        The run's configuration, with own tables.
    alignments : mapping of int to Alignment
        By rank, of tables that were aligned just now.

    Raises
    ------
    DataError
        If the active party's table has changed since, or a part has no rows.
    RunError
        If the model's run, or an alignment, is missing or damaged.
    """
    model, active = Path(cfg.model), party_name(0)
    old = RunFolder.reopen(model, {}).cfg
    now = alignments.get(0) or Alignment.load(Path(cfg.alignment) / active)
    then = Alignment.load(Path(old.alignment) / active)
    if now.table != then.table:
        raise DataError(
            "active: its table has changed since the model was trained, whose training rows are "
            "known by their places in it; put it back, or train anew"
        )
    parts = Split.of(rows_of(old, len(then.index), split_of(old, model / active)), len(then.index))
    places = max(now.index.max(), then.index.max()) + 1
    part_of = np.full(places, PARTS.index("train"), np.uint8)
    part_of[then.index] = parts.parts
    split = Split(part_of[now.index])
    check_told(cfg, split, now.classes)
    return split
