"""Placeholder for the parties' own tables, which nobody has all of."""

from typing import NoReturn

from vfl_flower.common.errors import DataError
from vfl_flower.data.datasets import DataSet

OWN_TABLES_ONLY = (
    "with dataset own, columns and labels are in the parties' own tables, and nobody has them all; "
    "this needs another data set"
)


def _refused(*_: object) -> NoReturn:
    """Refuse to read the columns of all parties."""
    raise DataError(OWN_TABLES_ONLY)


OWN = DataSet(0, 0, _refused, _refused)
