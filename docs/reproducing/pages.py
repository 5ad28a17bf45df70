"""Pages of the papers' tables, and a summary of all."""

import statistics
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from benchmarks.reproducing.paper import Table
from benchmarks.reproducing.runs import Record
from benchmarks.reproducing.store import RESULTS, origins, slug
from benchmarks.reproducing.verdicts import VERDICTS
from docs.reproducing import comparison, figures
from docs.reproducing.orders import counted_orders, orders, ranks, ranks_in_words
from docs.reproducing.results import Results, all_results, anchor, headings, in_words
from docs.reproducing.tables import markdown, matrices, reasons
from vfl_flower.common.files import write_atomically

DOCS = Path(__file__).parents[1]
FOLDERS = ("reproduction", "pictures/reproduction")
"""Folders below that hold nothing else."""

MADE = "<!-- made by: python -m docs.numbers -->"
NOTHING = "Nothing is measured yet."
RUNS = "Each file has flags, accuracies by party, the course of training, bytes and versions."
TOLD = (
    "Each cell has the claim, our mean ± standard deviation with the number of seeds in brackets, "
    "and the verdict. A time is an estimate for the first seed, with its search, on two cores, "
    "where no GPU is named. [How to read it](../reproduction.md#how-to-read-the-tables).\n"
)
COMMAND = "python -m benchmarks.reproduce {}:{} --seeds 3 --data-dir DATA --out RUNS"


def made(results: Iterable[Results] | None = None) -> dict[str, str]:
    """Return every page and picture by its path below docs."""
    found = dict[str, str]()
    for each in all_results() if results is None else results:
        pictures = figures.drawn(each)
        for table, picture in pictures.items():
            found[_picture(each.name, table)] = picture.svg
        found[f"reproduction/{each.name}.md"] = page(each, pictures)
    return found


def write() -> None:
    """Write all pages and pictures, and remove those that nothing makes."""
    texts = made()
    for folder in map(DOCS.joinpath, FOLDERS):
        folder.mkdir(exist_ok=True)
        for path in folder.iterdir():
            if path.relative_to(DOCS).as_posix() not in texts:
                path.unlink()
    for name, text in texts.items():
        write_atomically(DOCS / name, text.encode())


def summary() -> str:
    """Return counts of verdicts, of each paper and table."""
    lines = [["", "cells", *VERDICTS], ["---"] * (len(VERDICTS) + 2)]
    lists = list[str]()
    for each in all_results():
        link = f"[{each.paper.title}](reproduction/{each.name}.md)"
        lines += _rows(each, link)
        lists.append(f"{link}, {each.paper.reference}:\n\n{_contents(each)}")
    names = "\n".join(f"reproduction/{each.name}" for each in all_results())
    toctree = f"```{{toctree}}\n:hidden:\n\n{names}\n```\n"
    return "\n".join([markdown(lines), *lists, toctree])


def _rows(results: Results, link: str) -> list[list[str]]:
    """Return counts of a paper's own numbers, and of others'."""
    tables = results.paper.tables
    others = {table.name: comparison.of_others(results, table) for table in tables}
    counts = Counter[str](), Counter[str]()
    for table, each in results.distinct():
        counts[each in others[table.name]][each.verdict] += 1
    return [[link, *_row(counts[0])], ["others in its tables", *_row(counts[1])]]


def _row(counts: Counter[str]) -> list[str]:
    return [str(counts.total()), *(str(counts[name] or "") for name in VERDICTS)]


def _contents(results: Results) -> str:
    """Return a list of a paper's tables with links and counts."""
    lines = []
    for table, heading in headings(results.paper):
        link = f"reproduction/{results.name}.md#{anchor(heading)}"
        told = _counted_in_words(results, table) or _curves_in_words(results, table)
        lines.append(f"* [{heading}]({link}): {table.title}. {told[0].upper()}{told[1:]}.\n")
    return "".join(lines)


def _counted_in_words(results: Results, table: Table) -> str:
    """Return a table's verdicts, and the number of its other cells."""
    others = sum(not cell.counted for cell in table.cells)
    beside = f"{others} not counted" if others else ""
    verdicts = in_words(results.counts(table)), counted_orders(results, table)
    return "; ".join(filter(None, (*verdicts, ranks_in_words(results, table), beside)))


def _curves_in_words(results: Results, table: Table) -> str:
    there = sum(curve.experiment in results.records(table) for curve in table.curves)
    return f"{there} of {len(table.curves)} curves"


def page(results: Results, pictures: dict[str, figures.Picture]) -> str:
    """Return the page of a paper."""
    paper = results.paper
    total = Counter(each.verdict for _, each in results.distinct())
    parts = [
        MADE,
        f"# {paper.title}, repeated\n",
        f"{paper.reference}.\n",
        f"{paper.settings}\n" if paper.settings else "",
        f"Of {total.total()} cells: {in_words(total)}.\n",
        TOLD,
        comparison.section(results),
    ]
    for table, heading in headings(paper):
        parts.append(_section(results, table, heading, pictures.get(table.name)))
    return "\n".join(part for part in [*parts, _runs(results)] if part)


def _section(results: Results, table: Table, heading: str, picture: figures.Picture | None) -> str:
    cells = results.judged(table)
    unit = "" if table.unit == "%" else f" Unit: {table.unit}."
    command = COMMAND.format(results.name, table.name)
    parts = [f"## {heading}\n", f"{table.title}.{unit} {table.note}".strip() + "\n"]
    parts.append(f"```sh\n{command}\n```\n")
    if picture:
        path = f"../{_picture(results.name, table.name)}"
        parts += [f"![{picture.told}]({path})\n", figures.behind(results, table)]
    if cells:
        told = reasons(cells) + orders(results, table) + ranks(results, table)
        parts += [matrices(cells), told]
    parts.append(_origin(results.records(table)) + "\n")
    return "\n".join(part for part in parts if part)


def _picture(paper: str, table: str) -> str:
    return f"pictures/reproduction/{paper}-{slug(table)}.svg"


def _origin(records: dict[str, Record]) -> str:
    """Return date, machine and versions of results."""
    if not records:
        return NOTHING
    seeds = [each for record in records.values() for each in origins(record)]
    days = sorted(seed["date"][:10] for seed in seeds)
    machines = dict.fromkeys(map(_machine, seeds))
    span = days[0] if days[0] == days[-1] else f"{days[0]} to {days[-1]}"
    return f"Measured {span} on {'; '.join(machines)}."


def _machine(seed: Record) -> str:
    machine, versions = seed["machine"], seed["versions"]
    told = seed.get("device", "cpu"), seed.get("precision", "float32")
    networks = "" if told == ("cpu", "float32") else "networks on {} in {}, ".format(*told)
    return (
        f"{machine['cores']} cores ({machine['processor']}), {networks}Python "
        f"{versions['python']}, torch {versions['torch']}"
    )


def _runs(results: Results) -> str:
    """Return a table of all experiments with results, and their files."""
    lines = [["", "seeds", "minutes a seed", "chosen on validation rows", "date"], ["---"] * 5]
    for name in results.paper.experiments:
        if not (record := results.record(name)):
            continue
        seeds = record["seeds"]
        times = [seed["seconds"] / 60 for seed in seeds if not seed["failed"]]
        chosen = " ".join(f"`--{flag} {value}`" for flag, value in record["chosen"].items())
        minutes = f"{statistics.fmean(times):.1f}" if times else ""
        lines.append([_file(record), str(len(seeds)), minutes, chosen, _latest(record)])
    return f"## Runs\n\n{RUNS}\n\n{markdown(lines)}" if lines[2:] else ""


def _latest(record: Record) -> str:
    return max(str(seed["date"]) for seed in origins(record))[:10]


def _file(record: Record) -> str:
    path = RESULTS / slug(record["paper"]) / f"{slug(record['experiment'])}.json"
    return f"[{record['experiment']}](../../{path.relative_to(DOCS.parent).as_posix()})"
