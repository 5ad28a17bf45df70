"""Use of a column, inferred or stated."""

from typing import NamedTuple

from vfl_flower.data.tables.column_profile import Profile
from vfl_flower.data.tables.uses.inferred import inferred
from vfl_flower.data.tables.uses.stated import check_numbers, detail_of

LEAST = 10
"""Training rows of a category that has a column of its own, where others share one."""


class Use(NamedTuple):
    """Use of a column.

    Attributes
    ----------
    use : str
        One of `USES`.
    why : str
    detail : str
        The order of day and month, the unit of numbers, the least count of categories.
    """

    use: str
    why: str
    detail: str = ""

    @property
    def whole(self) -> str:
        """Use and detail in one text."""
        return f"{self.use}:{self.detail}" if self.detail else self.use


def use_of(profile: Profile) -> Use:
    """Decide on the use of a column.

    Parameters
    ----------
    profile : Profile
        Of all rows.

    Raises
    ------
    DataError
        If it cannot be used as stated, or holds numbers that nothing can be done with.
    """
    if profile.stated:
        use = profile.stated.partition(":")[0]
        return Use(use, "stated", detail_of(profile))
    use, why, detail = inferred(profile)
    if use == "numeric" and not detail and not profile.text:
        check_numbers(profile)
    return Use(use, why, detail)
