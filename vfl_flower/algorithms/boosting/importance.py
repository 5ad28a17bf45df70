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


def importance_csv(cfg: RunConfig, data: PartyData, splits: Splits) -> bytes:
    """Write splits and their summed gain of each column.

    One line a column of the party's table, by gain: party, column, splits, gain. Columns that it
    is encoded as count together. In images each pixel is a column.

    Parameters
    ----------
    cfg : RunConfig
        The run's configuration.
    data : PartyData
        The party's.
    splits : Splits
        Its splits, which the gains are of.
    """
    width = data.x[:1].numel()
    encoded = sources_of(cfg, data) or tuple(f"pixel {number}" for number in range(width))
    own = splits.column >= 0
    column, gain = splits.column[own].cpu().numpy(), splits.gain[own].double().cpu().numpy()
    counts, gains = np.bincount(column, minlength=width), np.bincount(column, gain, width)
    found = {name: [0, 0.0] for name in encoded}
    for name, count, gained in zip(encoded, counts.tolist(), gains.tolist(), strict=True):
        found[name][0] += count
        found[name][1] += gained
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["party", "column", "splits", "gain"])
    for name, (count, gained) in sorted(found.items(), key=lambda each: -each[1][1]):
        writer.writerow([party_name(data.rank), name, count, repr(gained)])
    return file.getvalue().encode()
