"""Tables and single numbers of a benchmark, as data and text."""

import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console
from rich.table import Table as RichTable

Cell = str | int | float | None
WIDTH = 140  # characters a line where the output is no terminal


@dataclass
class Table:
    """Table of a report.

    Parameters
    ----------
    title : str
        Title.
    columns : mapping of str to str
        Name of each column and the format of its numbers, as in ``format(value, ".2f")``.
    rows : list of list
        Raw values, None where there is none.
    """

    title: str
    columns: Mapping[str, str]
    rows: list[list[Cell]] = field(default_factory=list)

    def add(self, *cells: Any) -> None:  # noqa: ANN401
        """Append a row; NumPy's numbers become Python's."""
        if len(cells) != len(self.columns):
            raise ValueError(f"{len(cells)} cells in a table of {len(self.columns)} columns")
        self.rows.append([as_cell(cell) for cell in cells])

    def written(self) -> list[list[str]]:
        """Return the rows as text."""
        forms = self.columns.values()
        return [
            [written(cell, form) for cell, form in zip(row, forms, strict=True)]
            for row in self.rows
        ]

    def markdown(self) -> str:
        """Return the table in Markdown, under its title."""
        names = [name.replace("|", "\\|") for name in self.columns]
        lines = [names, ["---"] * len(names), *self.written()]
        return "\n".join([self.title, "", *(f"| {' | '.join(line)} |" for line in lines), ""])


@dataclass
class Report:
    """Measured tables and single facts.

    Parameters
    ----------
    tables : list of Table
        Tables in their order.
    facts : dict
        Single numbers and texts by name.
    """

    tables: list[Table] = field(default_factory=list)
    facts: dict[str, Cell] = field(default_factory=dict)

    def table(self, title: str, columns: Mapping[str, str]) -> Table:
        """Begin a table."""
        self.tables.append(Table(title, columns))
        return self.tables[-1]

    def fact(self, name: str, value: Any) -> None:  # noqa: ANN401
        """Keep a single number or text."""
        self.facts[name] = as_cell(value)

    def lines(self) -> list[str]:
        """Return the facts as text, a line each."""
        forms = {
            name: ".4g" if isinstance(value, float) else "" for name, value in self.facts.items()
        }
        return [f"{name}: {written(value, forms[name])}" for name, value in self.facts.items()]

    def show(self) -> None:
        """Print everything."""
        out = Console(width=None if sys.stdout.isatty() else WIDTH)
        for table in self.tables:
            shown = RichTable(title=table.title)
            for number, name in enumerate(table.columns):
                shown.add_column(name, justify="right" if number else "left")
            for row in table.written():
                shown.add_row(*row)
            out.print(shown)
        for line in self.lines():
            out.print(line, markup=False, highlight=False)


def as_cell(value: Any) -> Cell:  # noqa: ANN401
    """Convert to a JSON value; numbers that are not finite become None."""
    plain: Cell = value.item() if hasattr(value, "item") else value
    return None if isinstance(plain, float) and not math.isfinite(plain) else plain


def written(cell: Cell, form: str) -> str:
    """Format a number; texts stay, None is empty."""
    if cell is None:
        return ""
    return cell if isinstance(cell, str) else format(cell, form)
