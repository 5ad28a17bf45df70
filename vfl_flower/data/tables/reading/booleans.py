"""Booleans written as text."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

YES = ("true", "t", "yes", "y", "on", "1", "1.0")
NO = ("false", "f", "no", "n", "off", "0", "0.0")


def as_booleans(text: pa.Array) -> NDArray[np.float64]:
    """Read text in any case as 1 or 0.

    (N,) -> (N,): NaN for null and for any other text.
    """
    lower = pc.utf8_lower(text)
    yes, no = (pc.is_in(lower, pa.array(words)) for words in (YES, NO))
    made: NDArray[np.float64] = np.where(yes, 1.0, np.where(no, 0.0, np.nan))
    return made
