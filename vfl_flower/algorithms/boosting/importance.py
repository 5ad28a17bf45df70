"""Importance of one party's columns as CSV, for its own eyes."""

import csv
import io

import numpy as np

from vfl_flower.algorithms.boosting.forest import Splits
from vfl_flower.common.names import party_name
from vfl_flower.config.run_config import RunConfig
from vfl_flower.data.held_columns import sources_of
from vfl_flower.data.party_data import PartyData

IMPORTANCE = "importance.csv"
"""In a party's model folder."""


def importance_csv(
    cfg: RunConfig, data: PartyData, splits: Splits, *, gained: bool = True
) -> bytes:
    """Write splits and their summed gain of each column.

    One line a column of the party's table, by gain and splits: party, column, splits, gain.
    Columns that it is encoded as count together. In images each pixel is a column.

    Parameters
    ----------
    cfg : RunConfig
        The run's configuration.
    data : PartyData
        The party's.
    splits : Splits
        Its splits, which the gains are of.
    gained : bool
        Whether it knows gains; otherwise their cells are empty.
    """
    width = data.x[:1].numel()
    encoded = sources_of(cfg, data) or tuple(f"pixel {number}" for number in range(width))
    at = splits.column >= 0
    column, gain = splits.column[at].cpu().numpy(), splits.gain[at].double().cpu().numpy()
    counts, gains = np.bincount(column, minlength=width), np.bincount(column, gain, width)
    found = {name: [0, 0.0] for name in encoded}
    for name, *own in zip(encoded, counts.tolist(), gains.tolist(), strict=True):
        found[name] = [a + b for a, b in zip(found[name], own, strict=True)]
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["party", "column", "splits", "gain"])
    for name, (count, total) in sorted(found.items(), key=lambda each: each[1][::-1], reverse=True):
        writer.writerow([party_name(data.rank), name, count, repr(total) if gained else ""])
    return file.getvalue().encode()
