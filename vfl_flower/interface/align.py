"""Alignment of tables, for several runs."""

import os
from pathlib import Path
from typing import Any

from vfl_flower.interface.checks import check_tables
from vfl_flower.interface.data.source import OwnTables, Tables, begun, columns_in
from vfl_flower.interface.folders import Place, in_full
from vfl_flower.interface.progress import watch_of
from vfl_flower.workflows.local.train import align_in


class Alignment:
    """Rows that the tables of all parties share.

    ``train(tables, alignment=...)`` takes it, as often as wanted; without it each run aligns its
    tables itself. A private temporary folder goes with it; runs have copies of what is in it.

    Attributes
    ----------
    rows : int
        How many there are.
    """

    def __init__(self, place: Place, rows: int) -> None:
        self._place, self.rows = place, rows

    @property
    def path(self) -> Path:
        """Its folder."""
        return self._place.path

    @property
    def lasts(self) -> bool:
        """Whether the folder stays when this object goes."""
        return self._place.lasts

    def __fspath__(self) -> str:
        return str(self.path)

    def __repr__(self) -> str:
        return f"Alignment({self.rows} rows, {str(self.path)!r})"


def align(
    tables: Tables,
    *,
    out: str | os.PathLike[str] | None = None,
    progress: bool | None = None,
    **options: Any,  # noqa: ANN401
) -> Alignment:
    """Find the rows that the tables of all parties share.

    No party sees an id of another one's.

    Parameters
    ----------
    tables : sequence of Table
        Of all parties, the active one's first.
    out : str or Path, optional
        Folder of the alignment; without it, a private temporary one.
    progress : bool, optional
        See `vfl_flower.train`.
    **options
        Those of ``vfl-flower align``.

    Raises
    ------
    VflError
        If a table cannot be used, or no row is common.
    """
    check_tables(tables)
    with in_full():
        source, place = OwnTables(tables, columns=columns_in(options)), Place(out)
        folder = begun(source, place, task="align", options=options)
        made = align_in(folder, watch_of(progress))
        return Alignment(place, made["rows"])
