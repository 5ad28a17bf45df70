"""Counts of uploads on top of an earlier run's.

A party of a model that others join has a count in the run that trained it. What that count was when
the joining began stands in a file of its own, and is part of every count from then on: also of
those by row, where the most of one row in either run is taken to be of the same row.
"""

from collections.abc import Callable, Mapping
from pathlib import Path

from vfl_flower.common.checksums.records import read_checked, write_checked
from vfl_flower.common.codec import Array
from vfl_flower.common.json_schema import Named
from vfl_flower.privacy.client_dp.budget import Budget
from vfl_flower.privacy.client_dp.upload_log import Counts, Uploads

FILE = "uploads-before.json"
_KEY = "uploads"


def uploads_of(budget: Budget, folder: Path, carried: Counts | None = None) -> Uploads:
    """Return a party's durable count, continued or new.

    Parameters
    ----------
    budget : Budget
        The run's.
    folder : Path
        The party's own.
    carried : Counts, optional
        Of the earlier run, unless the folder holds them.
    """
    made, path = budget.uploads_in(folder), folder / FILE
    if path.is_file():
        carried = Counts(read_checked(path, {_KEY: Named(int)})[_KEY])
    return ContinuedUploads(made, carried) if carried else made


def earlier_counts(budget: Budget, folder: Path, told: Mapping[str, int]) -> Counts:
    """Return a party's count in a complete run.

    Parameters
    ----------
    budget : Budget
        Of a run with the same noise.
    folder : Path
        The party's own in that run.
    told : mapping of str to int
        Counts of its model folder, which are the least that there were.

    Raises
    ------
    PrivacyError
        If the count is missing, cut short or damaged.
    """
    made = uploads_of(budget, folder)
    made.expect(Counts(told))
    return made.counts()


class ContinuedUploads(Uploads):
    """One party's count in a run, on top of an earlier run's.

    Parameters
    ----------
    own : Uploads
        The count of this run alone.
    before : Counts
        That of the earlier one.
    """

    def __init__(self, own: Uploads, before: Counts) -> None:
        self.own, self.before = own, before
        self.path = own.path

    @property
    def known(self) -> Counts | None:  # type: ignore[override]
        """How many uploads there were at least, if anything says so."""
        return None if self.own.known is None else self._with(self.own.known)

    def begin(self) -> None:
        """Write down the earlier count, and make the file of this run's."""
        path = self.path.with_name(FILE)
        if not path.is_file():
            write_checked(path, {_KEY: dict(self.before)})
        self.own.begin()

    def expect(self, counts: Counts) -> None:
        """Raise the lower limit of the number of uploads."""
        self.own.expect(counts - self.before)

    def counts(self) -> Counts:
        """Return the counts so far."""
        return self._with(self.own.counts())

    def after(self, kind: str, rows: Array, uploads: int = 1) -> Counts:
        """Return the counts after rows are sent once."""
        return self._with(self.own.after(kind, rows, uploads))

    def add(self, kind: str, rows: Array, allowed: Callable[[Counts], bool]) -> bool:
        """Count one more upload before it leaves, if that is allowed."""
        self.begin()
        return self.own.add(kind, rows, lambda counts: allowed(self._with(counts)))

    def _with(self, counts: Counts) -> Counts:
        """Add the earlier counts; those that are 0 stay."""
        return Counts({kind: counts[kind] + self.before[kind] for kind in self.own.kinds})
