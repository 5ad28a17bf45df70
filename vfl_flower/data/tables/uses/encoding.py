"""Columns of features, and the numbers that stand for their cells."""

from collections.abc import Callable
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from vfl_flower.data.columns import BOOLEAN, Column
from vfl_flower.data.preprocessing.encoder import Encoder
from vfl_flower.data.preprocessing.encoder_dates import hour_of
from vfl_flower.data.tables.cells import as_codes, as_numbers, as_text, known
from vfl_flower.data.tables.column_profile import Profile
from vfl_flower.data.tables.description import Description
from vfl_flower.data.tables.reading.booleans import as_booleans
from vfl_flower.data.tables.reading.dates import DAY_FIRST, hours_of
from vfl_flower.data.tables.reading.hashing import as_buckets
from vfl_flower.data.tables.reading.marked_numbers import marked_numbers
from vfl_flower.data.tables.uses.use import LEAST, Use


def column_of(profile: Profile, use: Use, trained: Encoder | None) -> Column:
    """Describe a column of features, with known categories."""
    if use.use in ("categorical", "grouped"):
        if trained is not None:
            learnt = trained.categories[profile.name]
            values, type_ = learnt.known, learnt.type
        else:
            values, type_ = tuple(sorted(profile.values)), profile.type
        least = "" if use.use == "categorical" else f"grouped:{use.detail or LEAST}"
        return Column(profile.name, values, type=type_, use=least)
    if use.use == "numeric" and profile.text is None and not use.detail:
        return Column(profile.name)
    day = profile.description.reference_date
    reference = hour_of(day) if use.use == "date" and day else None
    return Column(profile.name, type=profile.type, use=use.whole, reference=reference)


def cells_of(column: Column, description: Description) -> Callable[[pa.Array], NDArray[np.float64]]:
    """Return a function that encodes a column's cells."""
    missing, decimal = description.missing, description.decimal
    if column.values is not None:
        values = pa.array(column.values, pa.string())
        codes = partial(as_codes, missing=missing, values=values)
        if column.type == BOOLEAN:  # which others write as True, or TRUE
            return lambda cells: codes(pc.utf8_lower(as_text(cells)))
        return codes
    kind, _, detail = column.use.partition(":")
    if kind == "date":
        return partial(hours_of, missing=missing, order=detail or DAY_FIRST)
    if kind == "hashed":
        return lambda cells: as_buckets(known(cells, missing))
    if kind == "boolean":
        return lambda cells: as_booleans(known(cells, missing))
    if kind == "numeric" and column.use:
        return lambda cells: marked_numbers(known(cells, missing), decimal)
    return partial(as_numbers, missing=missing, decimal=decimal)
