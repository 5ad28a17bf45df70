"""A paper as data: experiments, and cells of tables and figures.

A module of `benchmarks.papers` holds a `Paper` called ``PAPER``, and nothing that computes. An
example::

    PAPER = Paper(
        title="EASTER",
        reference="Wang et al. 2023, arXiv:2310.13367",
        repeats=5,
        experiments={
            "mnist mixed": Experiment(PUBLISHED | {"dataset": "mnist", "models": MIXED}, minutes=5),
        },
        tables=(
            Table(
                name="table2",
                title="Accuracy of heterogeneous parties",
                place="Table 2",
                cells=(
                    Cell("EASTER, MNIST", "CNN", "mnist mixed", "test:active", 97.58, spread=1.0),
                    Cell("EASTER, CINIC", "CNN", None, why="no copy of the data set is at hand"),
                ),
            ),
        ),
    )
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

Flags = Mapping[str, str]
"""Options of ``run_simulation.py`` without their dashes, and their values."""

AT_THE_END = "at the end"
"""Column of a curve's last point."""


@dataclass(frozen=True)
class Search:
    """Choice among settings on validation rows.

    Seed 0 trains a run of each; the best one's flags are those of all seeds. The choice is no part
    of any epsilon.

    Parameters
    ----------
    grid : mapping of str to sequence of str
        Values of each flag. Tiny runs have the first.
    draws : int
        Number of points that are drawn from the grid, without replacement; all if there are fewer.
    """

    grid: Mapping[str, Sequence[str]]
    draws: int = 20

    @property
    def points(self) -> int:
        """Number of points that are tried."""
        return min(self.draws, prod(map(len, self.grid.values())))


@dataclass(frozen=True)
class Experiment:
    """Runs that differ in their seed only.

    Parameters
    ----------
    flags : mapping of str to str
        Options of ``run_simulation.py``, without seed, data folder, device and baselines (off).
        A ``precision`` is that of all its runs.
    minutes : float
        Estimated time of one seed, on two cores that do nothing else.
    retrained : sequence of str, optional
        Values of ``vfl-flower explain --retrain``, as in ``top:50``, for each run afterwards.
    noise : float, optional
        Deviation of noise that is put on the test columns of one party at a time, after each run,
        as by ``vfl-flower explain --sigma``; 0 is none.
    pretrained : bool, optional
        Whether what passive parties have learnt by themselves is tested, after each run.
    search : Search, optional
        Flags that are chosen on validation rows.
    most_seeds : int, optional
        Largest number of seeds, where one takes long; 0 is no limit.
    least_seeds : int, optional
        Least number of seeds, where one tells little, as splits of a small table.
    same_as : str, optional
        Another paper's experiment with the same flags, whose results are taken, as in
        ``easter: MNIST mixed``.
    lacking : str, optional
        Why it has not been run, if not for its time.
    """

    flags: Flags
    minutes: float
    retrained: Sequence[str] = ()
    noise: float = 0
    pretrained: bool = False
    search: Search | None = None
    most_seeds: int = 0
    least_seeds: int = 1
    same_as: str = ""
    lacking: str = ""

    def with_flags(self, flags: Flags) -> "Experiment":
        """Return the same runs with some flags changed or added."""
        return replace(self, flags={**self.flags, **flags})

    def place(self, paper: str, name: str) -> tuple[str, str]:
        """Return the paper and the name under which its results are kept."""
        other, _, its = self.same_as.partition(": ")
        return (other, its) if its else (paper, name)


@dataclass(frozen=True)
class Cell:
    """A number of a paper, and how ours is read.

    Parameters
    ----------
    row, column : str
        Headings, as in the paper. In a figure of curves, the curve and its end.
    experiment : str or None
        Name of the experiment that holds it; None: it cannot be run, and `why` says so.
    reading : str, optional
        How the number is read from a run: see `benchmarks.reproducing.readings`.
    claim : float, optional
        The paper's number, in percent or in the table's unit; None where a figure names none.
    spread : float, optional
        Standard deviation that the paper gives.
    lower : bool, optional
        Whether less is better, as of bytes.
    why : str, optional
        What stands in the way, or what explains a miss, which alone is told then; one sentence.
    counted : bool, optional
        Whether summaries count it. They do not where settings are neither the paper's nor those
        of its table's own rows, nor where a claim is none or worked out from others.
    """

    row: str
    column: str
    experiment: str | None
    reading: str = "test:active"
    claim: float | None = None
    spread: float | None = None
    lower: bool = False
    why: str = ""
    counted: bool = True


@dataclass(frozen=True)
class Curve:
    """A line of a figure.

    Parameters
    ----------
    label : str
        Its name.
    experiment : str
        Name of the experiment.
    across : str
        What the horizontal axis shows: epoch, step, or mib (2^20 bytes).
    reading : str
        What the vertical axis shows, of each evaluation: validation or train, a colon, a party.
    """

    label: str
    experiment: str
    across: str = "epoch"
    reading: str = "validation:active"


@dataclass(frozen=True)
class Table:
    """A table or a figure of a paper.

    Parameters
    ----------
    name : str
        How it is asked for, as in ``easter:table2``.
    title : str
        What it shows.
    place : str
        Where it stands in the paper, as in "Table 2".
    cells : sequence of Cell, optional
        Its numbers.
    curves : sequence of Curve, optional
        Lines, if it is a figure of curves.
    picture : str, optional
        Kind of the picture that is drawn from it: curves, lines (a column a point of the
        horizontal axis, a row a line), heat (rows by columns), or none.
    unit : str, optional
        Of all numbers: %, or MiB.
    note : str, optional
        What a reader has to know, a few sentences: choices where the paper is silent.
    best : str, optional
        Row or column that the paper has above the others, where it names an order and no numbers.
    ranked : str, optional
        Last words of rows whose levels cannot be held against the claims, but whose ranks can.
    alike : bool, optional
        Whether methods were given the same care, and can be held against each other.
    """

    name: str
    title: str
    place: str
    cells: Sequence[Cell] = ()
    curves: Sequence[Curve] = ()
    picture: str = ""
    unit: str = "%"
    note: str = ""
    best: str = ""
    ranked: str = ""
    alike: bool = True

    @property
    def ends(self) -> list[Cell]:
        """Last points of curves, where no cell tells of their experiment."""
        told = {cell.experiment for cell in self.cells}
        return [
            Cell(curve.label, AT_THE_END, curve.experiment, curve.reading)
            for curve in self.curves
            if curve.experiment not in told
        ]


@dataclass(frozen=True)
class Paper:
    """A paper.

    Parameters
    ----------
    title : str
        Short name.
    reference : str
        Authors, year, where to find it.
    repeats : int
        Number of runs behind each of its numbers with a spread.
    experiments : mapping of str to Experiment
        All runs, by names.
    tables : sequence of Table
        Tables and figures in their order.
    methods : sequence of str
        Its own methods, by their names here.
    settings : str
        In what all of its runs differ from the paper, or decide where it is silent.
    """

    title: str
    reference: str
    repeats: int
    experiments: Mapping[str, Experiment]
    tables: Sequence[Table]
    methods: Sequence[str] = ()
    settings: str = ""

    def table(self, name: str) -> Table:
        """Return a table by its name."""
        return next(each for each in self.tables if each.name == name)

    def needed(self, tables: Sequence[Table]) -> list[str]:
        """Return the names of the experiments behind some tables, each once."""
        of_cells = [cell.experiment for table in tables for cell in table.cells]
        of_curves = [curve.experiment for table in tables for curve in table.curves]
        return list(dict.fromkeys(name for name in (*of_cells, *of_curves) if name))
