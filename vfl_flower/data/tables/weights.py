"""The weights of rows in an active party's table."""

import numpy as np
from numpy.typing import NDArray

from vfl_flower.data.tables.column_profile import Profile
from vfl_flower.data.tables.description import Description
from vfl_flower.data.tables.files import TableFile, plain
from vfl_flower.data.tables.uses.encoding import cells_of, column_of
from vfl_flower.data.tables.uses.trained import chosen


def weights_of(
    file: TableFile, description: Description, learnt: bool
) -> NDArray[np.float64] | None:
    """Read the weights of all rows, if there are some.

    A table to be predicted, of which all is `learnt`, needs none.

    Raises
    ------
    DataError
        If a row has none, or one that is no number, negative, infinite or beyond float32, or if all
        are 0.
    """
    name = plain(description.weight)
    if learnt or not name:
        return None
    profile = Profile(name, file.party, file.type_of(name), description, "numeric")
    for batch in file.batches([name]):
        profile.see(batch[name])
    cells = cells_of(column_of(profile, chosen(profile, None), None), description)
    weights = np.concatenate([cells(batch[name]) for batch in file.batches([name])])
    for wrong, what in ((np.isnan(weights), "has no weight"), (weights < 0, "weighs less than 0")):
        if wrong.any():
            raise file.refused(
                f"has a row that {what}, row {int(wrong.argmax()) + 1} the first of {wrong.sum()}; "
                f"write a number that is 0 or more in the column {name} of each"
            )
    if not weights.any():
        raise file.refused(f"has no row that weighs anything: all of the column {name} is 0")
    return weights
