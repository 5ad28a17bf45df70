"""Which runs are missing, and in which order they are made."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import benchmarks.papers
from benchmarks.reproducing.choice import best, drawn, first, settled
from benchmarks.reproducing.paper import Experiment, Flags, Paper, Search, Table
from benchmarks.reproducing.runs import Record, Run
from benchmarks.reproducing.small import MINUTES, shrunk
from benchmarks.reproducing.store import Store, origin
from vfl_flower.learning.device import described, device_of

COMMON = {"baselines": "off"}
"""Options of all runs."""


def papers() -> dict[str, Paper]:
    """Return all papers by their names."""
    names = sorted(each.name for each in iter_modules(benchmarks.papers.__path__))
    return {name: import_module(f"benchmarks.papers.{name}").PAPER for name in names}


def table_names() -> list[str]:
    """Return all papers, and all tables as ``easter:table2``."""
    known = papers()
    tables = [f"{name}:{table.name}" for name, paper in known.items() for table in paper.tables]
    return [*known, *tables]


def asked_for(names: Iterable[str]) -> dict[str, list[Table]]:
    """Return the tables of each paper that some names ask for."""
    known, found = papers(), dict[str, list[Table]]()
    for name in names:
        paper, _, table = name.partition(":")
        of = [known[paper].table(table)] if table else known[paper].tables
        taken = found.setdefault(paper, [])
        taken += [each for each in of if each not in taken]
    return found


@dataclass(frozen=True)
class Settings:
    """How experiments are run.

    Attributes
    ----------
    seeds : int
        Seeds of each.
    small : bool
        Whether they are made tiny, with made data.
    flags : mapping of str to str
        Options of all runs: device, precision, data folder.
    out : Path
        Folder of all runs.
    only : str, optional
        Part of the names of experiments; others are left out.
    """

    seeds: int
    small: bool
    flags: Flags
    out: Path
    only: str = ""


class Plan:
    """The experiments that are asked for.

    Parameters
    ----------
    wanted : mapping of str to sequence of Table
        Tables of each paper.
    settings : Settings
        How they are run.
    store : Store
        Where results are kept.
    """

    def __init__(self, wanted: Mapping[str, list[Table]], settings: Settings, store: Store) -> None:
        self.settings, self.store = settings, store
        known = papers()
        every = [
            (name, experiment, self._timed(known[name].experiments[experiment]))
            for name, tables in wanted.items()
            for experiment in known[name].needed(tables)
            if settings.only.lower() in experiment.lower()
        ]
        self.experiments = {of.place(name, its): of for name, its, of in every}

    def _timed(self, of: Experiment) -> Experiment:
        return replace(of, minutes=MINUTES) if self.settings.small else of

    def missing(self) -> list[tuple[str, str, Run]]:
        """Return missing runs with paper and experiment, the cheapest first.

        Of equal ones it is the first: when that is made, the others are found in its folder.
        """
        found = [(*key, run) for key in self.experiments for run in self._missing_of(*key)]
        first = dict[Path, tuple[str, str, Run]]()
        for each in sorted(found, key=lambda each: (each[2].minutes, each[2].seed)):
            first.setdefault(each[2].folder, each)
        return [*first.values()]

    def record(self, paper: str, experiment: str) -> Record:
        """Return the results of an experiment so far, with its present settings."""
        found = self.store.current(paper, experiment, self._flags(paper, experiment))
        of = self.experiments[paper, experiment]
        return settled(found, self._points(of.search)) if of.search else found

    def of_other_settings(self) -> list[str]:
        """Return names of experiments whose results have other settings."""
        return [
            name
            for paper, name in self.experiments
            if (found := self.store.read(paper, name))
            and found["flags"] != dict(self._flags(paper, name))
        ]

    def failures(self) -> list[str]:
        """Return a line for each run that failed."""
        return [
            f"{paper}: {name}: {each['failed']}"
            for paper, name in self.experiments
            for record in (self.record(paper, name),)
            for each in (*record["searched"], *record["seeds"])
            if each["failed"]
        ]

    def add(self, paper: str, experiment: str, run: Run, made: Record) -> None:
        """Keep the record of a run."""
        record = self.record(paper, experiment)
        of = self.experiments[paper, experiment]
        device = described(device_of(run.flags["device"]))
        made = made | {"device": device, "precision": run.flags["precision"]} | origin()
        if of.search and not record["chosen"]:
            record["searched"] += [{"flags": _point_of(of.search, run.flags), **made}]
            record["chosen"] = best(record["searched"], self._points(of.search))
        else:
            record["seeds"] = sorted([*record["seeds"], made], key=lambda each: each["seed"])
        self.store.write(record)

    def _flags(self, paper: str, experiment: str) -> Flags:
        """Return the flags of an experiment as they are recorded."""
        flags = dict(self.experiments[paper, experiment].flags) | COMMON
        return shrunk(flags) if self.settings.small else flags

    def _missing_of(self, paper: str, name: str) -> Iterator[Run]:
        of, record = self.experiments[paper, name], self.record(paper, name)
        if of.search and not record["chosen"]:
            tried = [each["flags"] for each in record["searched"]]
            for number, point in enumerate(self._points(of.search)):
                if point not in tried:
                    yield self._run(
                        paper, name, point | {"seed": "0"}, f"search-{number}", point=True
                    )
            return
        there = {each["seed"] for each in record["seeds"]}
        for seed in range(self._seeds(of)):
            if seed not in there:
                flags = record["chosen"] | {"seed": f"{seed}"}
                yield self._run(paper, name, flags, f"seed-{seed}")

    def _seeds(self, of: Experiment) -> int:
        if self.settings.small:
            return self.settings.seeds
        count = max(self.settings.seeds, of.least_seeds)
        return min(count, of.most_seeds or count)

    def _run(self, paper: str, name: str, changed: Flags, told: str, point: bool = False) -> Run:
        of = self.experiments[paper, name]
        flags = {**self.settings.flags, **self._flags(paper, name), **changed}
        place = self.settings.out / f"{flags['method']}-{self._mark(flags)}"
        return Run(f"{paper}: {name}, {told}", flags, place, of, point)

    def _mark(self, flags: Flags) -> str:
        """Return a mark of flags, and of whether data are made."""
        told = {name: value for name, value in flags.items() if name != "data-dir"}
        text = json.dumps([self.settings.small, told], sort_keys=True)
        return sha256(text.encode()).hexdigest()[:12]

    def _points(self, search: Search) -> list[dict[str, str]]:
        return [first(search)] if self.settings.small else drawn(search, search.points)


def _point_of(search: Search, flags: Flags) -> dict[str, str]:
    return {flag: flags[flag] for flag in search.grid}
