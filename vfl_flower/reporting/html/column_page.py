"""Self-contained HTML page of the columns of a party's own table."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from vfl_flower.common.files import write_atomically
from vfl_flower.data.tables.description import Description
from vfl_flower.data.tables.distributions.distribution import distributions
from vfl_flower.data.tables.prediction_file import check_path
from vfl_flower.data.tables.reader import OwnTable
from vfl_flower.data.tables.row_ids import id_columns, type_of_ids
from vfl_flower.reporting.html.templates import environment

_WIDTH, _HEIGHT = 240, 48
"""Of a histogram, in its own units."""

_LONGEST = 60
"""Characters of a cell that are shown."""

_LONGEST_LINE = 600
"""Characters of a name or of advice that are shown."""


def check_column_page(page: Path, inputs: Sequence[Path]) -> None:
    """Refuse a page that cannot be written, or is an input.

    Raises
    ------
    DataError
        Says why.
    """
    check_path(page, inputs, (".html", ".htm"), "this page")


def write_columns_page(description: Description, table: OwnTable, party: str, page: Path) -> None:
    """Write the page of a table's columns.

    Parameters
    ----------
    description : Description
        Of the table.
    table : OwnTable
        As it was read from there. Its ids are counted and not shown.
    party : str
        Whose it is, for the title and errors.
    page : Path
        Its owner alone may read it. A file that is there is replaced.

    Raises
    ------
    DataError
        If the table cannot be read, or was changed meanwhile.
    RunError
        If the page cannot be written.
    """
    templates = environment()
    templates.filters |= {"cut": cut, "line": lambda text: cut(text, _LONGEST_LINE)}
    written = templates.get_template("columns.html").render(
        title=description.file.name,
        rows=len(table.ids),
        ids=[*id_columns(description)],
        kind=type_of_ids(table.ids.type),
        notes=table.notes,
        columns=distributions(description, table, party),
        outline=outline,
        width=_WIDTH,
        height=_HEIGHT,
        written=datetime.now().astimezone().strftime("%Y-%m-%d %H:%M"),
    )
    write_atomically(page, written.encode())


def cut(text: str, most: int = _LONGEST) -> str:
    """Shorten text to so many characters."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def outline(bins: Sequence[int]) -> str:
    """Return the path of a histogram's bars.

    One path keeps pages of wide tables small. A range that has rows has a bar to be seen.
    """
    width, most = _WIDTH / len(bins), max(bins)
    heights = [round(max(_HEIGHT * each / most, each > 0), 1) for each in bins]
    return "".join(
        f"M{place * width:g} {_HEIGHT}v-{height:g}h{width - 1:g}v{height:g}z"
        for place, height in enumerate(heights)
        if height
    )
