"""Stories of a report: one configuration, its seeds or folds."""

import os
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vfl_flower.common.errors import RunError
from vfl_flower.common.names import party_name
from vfl_flower.config.evaluation.metrics import AUTO, METRICS, primary, scores_of
from vfl_flower.config.evaluation.positive import positive_text
from vfl_flower.config.run_config import RunConfig
from vfl_flower.learning.metrics.names import score_name, shown
from vfl_flower.protocol.observer import Evaluation
from vfl_flower.reporting.console.format import data_name, ending
from vfl_flower.runs.leakage_file import read_leakage
from vfl_flower.runs.metrics_file import read_metrics
from vfl_flower.runs.results import warnings_of
from vfl_flower.runs.run_folder import RunFolder
from vfl_flower.runs.seeds import seeds_in


@dataclass(frozen=True)
class Spread:
    """A number, or the mean and standard deviation of several.

    Attributes
    ----------
    mean : float
    std : float or None
        None for a single number.
    """

    mean: float
    std: float | None

    @classmethod
    def of(cls, values: Sequence[float]) -> "Spread":
        """Sum up one number a seed."""
        return cls(statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else None)


@dataclass(frozen=True)
class Story:
    """One configuration, with one seed or several.

    Attributes
    ----------
    name : str
        What tells it from the page's other stories.
    cfg : RunConfig
        The first seed's.
    seeds : list of int
        Those that a run was begun for, or numbers of folds.
    metrics : list of list of Evaluation
        Of the seeds that have been evaluated.
    results : list of dict
        Of the seeds that are complete.
    asked : int
        How many seeds there are to be.
    leakage : dict or None
        The leakage card in its folder, if it was audited.

    Raises
    ------
    RunError
        If a party is missing in what was read.
    """

    name: str
    cfg: RunConfig
    seeds: list[int]
    metrics: list[list[Evaluation]]
    results: list[dict[str, Any]]
    asked: int
    leakage: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        tables = [scores_of(r, part) for r in self.results for part in ("test", "validation")]
        tables += [r["metrics"] for r in self.results]
        tables = [table for table in tables if table]  # of no epochs there is no validation
        for each in (evaluation for seed in self.metrics for evaluation in seed):
            tables.append(each.train_loss)
            if self.cfg.validation:
                tables += [*each.validation.values()]
        if any(not table or set(table) != set(self.learners) for table in tables):
            raise RunError(f"{self.name} is damaged: not all parties are in its metrics or result")

    @property
    def complete(self) -> bool:
        """Whether every seed has a result."""
        return len(self.results) == self.asked

    @property
    def state(self) -> str:
        """Say how far it is."""
        if self.complete:
            return "complete"
        if self.asked > 1:
            return f"{len(self.results)} of {self.asked} {self.kind}s complete"
        return "not complete"

    @property
    def kind(self) -> str:
        """Difference of its runs: the seed, or the fold."""
        return "fold" if self.asked > 1 and self.cfg.fold else "seed"

    @property
    def names(self) -> list[str]:
        """Names of its runs, by seed or fold."""
        return [f"{self.kind} {number}" for number in self.seeds]

    def name_of(self, result: dict[str, Any]) -> str:
        """Name the run of a result, by seed or fold."""
        told = str(result["fold"]).partition("/")[0] if self.kind == "fold" else result["seed"]
        return f"{self.kind} {told}"

    @property
    def parties(self) -> list[str]:
        """All parties' names, the active one's first."""
        return [party_name(rank) for rank in range(self.cfg.parties)]

    @property
    def learners(self) -> list[str]:
        """Names of the parties with a model, the active one's first."""
        tables = [scores_of(r, "test") for r in self.results]
        tables += [each.train_loss for seed in self.metrics for each in seed]
        named = set(next(filter(None, tables), self.parties))
        return [name for name in self.parties if name in named]

    @property
    def result(self) -> dict[str, Any] | None:
        """Result of the first complete seed, for facts common to all."""
        return self.results[0] if self.results else None

    @property
    def data(self) -> str:
        """Name of the data set, or of the parties' own tables."""
        return data_name(self.cfg)

    @property
    def task(self) -> str:
        """Task of the labels; empty without a result."""
        return self.result["task"] if self.result else ""

    @property
    def score(self) -> str:
        """Primary metric: accuracy, or R²."""
        return score_name(self.task) if self.task or self.cfg.own_tables else "accuracy"

    @property
    def decisive(self) -> str:
        """Metric that decides on validation rows."""
        metric = self.cfg.metric
        return self.score if metric == AUTO else METRICS[metric].title

    @property
    def decides_in_shares(self) -> bool:
        """Whether that metric is written in percent."""
        return self.cfg.metric == AUTO or METRICS[self.cfg.metric].share

    @property
    def shown(self) -> dict[str, str]:
        """Titles and keys of the further metrics."""
        return shown(self.task)

    def scored(self, part: str, party: str) -> Spread | None:
        """Return a party's primary metric, on test or validation rows."""
        return self.spread(f"{part}_{primary(self.task)}", party)

    def spread(self, *keys: str) -> Spread | None:
        """Return one number's spread over seeds, or None without results."""
        values = []
        for result in self.results:
            value: Any = result
            for key in keys:
                value = value.get(key) if value is not None else None
            values.append(value)
        return Spread.of(values) if values and None not in values else None

    def curve(self, field: str, party: str = "") -> list[Spread]:
        """Return a quantity by evaluation, as far as all seeds are."""

        def read(evaluation: Evaluation) -> float:
            value = getattr(evaluation, field)
            return float(value[party] if party else value)

        return [Spread.of(list(map(read, moment))) for moment in zip(*self.metrics, strict=False)]

    @property
    def policies(self) -> list[str]:
        """Policies in force, each with the parties that keep to it."""
        told = self.result["policies"] if self.result else {}
        kept: dict[str, list[str]] = {}
        for party, each in told.items():
            kept.setdefault(f"policy {each['name']} ({each['digest']})", []).append(party)
        return [f"{', '.join(parties)}: {policy}" for policy, parties in kept.items()]

    @property
    def warnings(self) -> list[str]:
        """Warn of parties that may have learnt nothing, by seed."""
        return self._by_seed(warnings_of)

    @property
    def told_positive(self) -> str:
        """Say which class is positive; nothing unless there are two."""
        result = self.result
        return positive_text(result["positive"], result["positive_by"]) if result else ""

    @property
    def endings(self) -> list[str]:
        """Name the end of training and the weights that count, by seed."""
        return self._by_seed(ending)

    def _by_seed(self, told: Callable[[dict[str, Any]], list[str]]) -> list[str]:
        several = len(self.results) > 1
        return [
            f"{self.name_of(result)}: {text}" if several else text
            for result in self.results
            for text in told(result)
        ]

    @property
    def per_epoch(self) -> float:
        """Steps per epoch, from the evaluations at the ends of epochs."""
        whole = [e.step / e.epoch for e in self.metrics[0] if e.epoch] if self.metrics else []
        return min(whole, default=1)


def read_stories(paths: Sequence[Path]) -> list[Story]:
    """Read run folders, of single runs, seeds or folds.

    Raises
    ------
    RunError
        If one is missing or damaged, or none of its seeds has begun.
    """
    try:
        roots = [path.resolve() for path in paths]
    except (OSError, RuntimeError, ValueError) as error:  # a loop of links, a NUL in a name
        raise RunError(f"a run's folder cannot be found: {error}") from error
    if len(set(roots)) < len(roots):
        raise RunError("a run is named twice; name each once")
    shared = Path(os.path.commonpath([root.parent for root in roots]))
    return [_read(root, str(root.relative_to(shared))) for root in roots]


def _read(path: Path, name: str) -> Story:
    folders = seeds_in(path, {})
    asked = len(folders) or 1
    begun = [folder for folder in folders if folder.begun] or [RunFolder.reopen(path, {})]
    results = [folder.result() for folder in begun]
    return Story(
        name,
        begun[0].cfg,
        [_number(folder.cfg) if folders else folder.cfg.seed for folder in begun],
        [metrics for folder in begun if (metrics := read_metrics(folder.path))],
        [result for result in results if result is not None],
        asked,
        read_leakage(path),
    )


def _number(cfg: RunConfig) -> int:
    """Return the fold or else the seed of a run."""
    return cfg.fold_of[0] if cfg.fold_of else cfg.seed
