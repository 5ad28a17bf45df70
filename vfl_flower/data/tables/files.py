"""Files of tables, read in record batches: in general, and Parquet."""

import unicodedata
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet

from vfl_flower.common.errors import DataError

ROWS = 1 << 16
"""Of a Parquet batch; a CSV batch is of about a mebibyte."""


class TableFile:
    """An open table.

    Attributes
    ----------
    path : Path
    party : str
        Whose it is, for errors.
    names : tuple of str
        The columns, in order; none is there twice.
    """

    def __init__(self, path: Path, party: str) -> None:
        self.path = path
        self.party = party
        self.written = self._names()
        self.names = tuple(plain(name) for name in self.written)
        self._places: dict[str, int] = {}
        for place, name in enumerate(self.names):
            if self._places.setdefault(name, place) != place:
                raise self.refused(f"has two columns of the name '{name}'; rename one")
        if "" in self._places:
            raise self.refused(f"has no name for column {self._places[''] + 1}; name it")

    def __contains__(self, name: object) -> bool:
        return name in self._places

    def _names(self) -> list[str]:
        """Return the columns' names as they are written."""
        raise NotImplementedError

    def type_of(self, name: str) -> pa.DataType | None:
        """Return the declared type of a column, None if there is none."""
        raise NotImplementedError

    def batches(self, wanted: Sequence[str]) -> Iterator[dict[str, pa.Array]]:
        """Give the wanted columns of some rows after the other, by name.

        Raises
        ------
        DataError
            If the file is damaged.
        """
        raise NotImplementedError

    def lacks(self, name: str) -> str:
        """Say that a column is missing."""
        return f"has no column '{name}'; add or rename it"

    def refused(self, why: str, detail: object = "") -> DataError:
        """Return an error that names party and file."""
        return DataError(f"{self.party}: {self.path.name} {why}", str(detail))

    def _as_written(self, wanted: Sequence[str]) -> dict[str, str]:
        return {name: self.written[self._places[name]] for name in wanted}


class ParquetFile(TableFile):
    """A Parquet file."""

    def _names(self) -> list[str]:
        try:
            self._schema = pa.parquet.read_schema(self.path)
        except (OSError, pa.ArrowException) as error:
            raise self._damaged(error) from error
        return list(self._schema.names)

    def type_of(self, name: str) -> pa.DataType | None:
        """Return the declared type of a column."""
        declared = self._schema.field(self._places[name]).type
        return declared.value_type if pa.types.is_dictionary(declared) else declared

    def batches(self, wanted: Sequence[str]) -> Iterator[dict[str, pa.Array]]:
        """Give the wanted columns of up to `ROWS` rows after the other."""
        written = self._as_written(wanted)
        try:
            with pa.parquet.ParquetFile(self.path, page_checksum_verification=True) as file:
                for batch in file.iter_batches(ROWS, columns=list(written.values())):
                    yield {name: batch.column(there) for name, there in written.items()}
        except (OSError, pa.ArrowException) as error:
            raise self._damaged(error) from error

    def _damaged(self, error: Exception) -> DataError:
        return self.refused("is no whole Parquet file; write it again", error)


def plain(text: str) -> str:
    """Return a name as one stripped line of NFC text."""
    return unicodedata.normalize("NFC", " ".join(text.split()))
