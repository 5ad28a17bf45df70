"""Retraining with the most or the least important passive parties only."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from vfl_flower.analysis.explain.importance import Findings
from vfl_flower.common.errors import ConfigError, DataError
from vfl_flower.common.names import party_name
from vfl_flower.config.run_config import RunConfig
from vfl_flower.config.schema import split_list
from vfl_flower.data.sources.own_tables import OWN_TABLES_ONLY
from vfl_flower.runs.run_folder import RunFolder
from vfl_flower.workflows.simulate import simulate

_LISTS = ("models", "weights", "optimizers", "learning_rates")
"""Options that may have an entry for each party."""


@dataclass(frozen=True)
class Choice:
    """Which passive parties are to stay.

    Attributes
    ----------
    end : {"top", "bottom"}
        The most or the least important.
    percent : float
        How many of them; at least one stays, and at least one does not.
    """

    end: str
    percent: float

    @classmethod
    def read(cls, text: str) -> "Choice":
        """Read ``top:50`` or ``bottom:50``.

        Raises
        ------
        ConfigError
            If it is none, or the percentage is not between 0 and 100.
        """
        end, _, percent = text.partition(":")
        try:
            made = cls(end, float(percent))
        except ValueError:
            made = cls(end, math.nan)
        if end not in ("top", "bottom") or not 0 < made.percent < 100:
            raise ConfigError(
                "--retrain must be top:PERCENT or bottom:PERCENT, with a percentage above 0 and "
                f"below 100, not '{text}'"
            )
        return made

    def places(self, norms: dict[int, float]) -> list[int]:
        """Return the places that stay, in order.

        Parameters
        ----------
        norms : dict of int to float
            Of the passive parties' heads, by place.

        Raises
        ------
        ConfigError
            If there is one passive party only.
        """
        if len(norms) < 2:
            raise ConfigError("--retrain leaves passive parties out, and this run has only one")
        falling = sorted(norms, key=lambda rank: -norms[rank])
        count = min(max(round(self.percent / 100 * len(norms)), 1), len(norms) - 1)
        return sorted(falling[:count] if self.end == "top" else falling[-count:])

    def __str__(self) -> str:
        return f"{self.end}-{self.percent:g}"


@dataclass(frozen=True)
class Summary:
    """Result of a reduced set of parties.

    Attributes
    ----------
    kind : {"most", "least"}
        How important they are.
    parties : list of str
        The passive ones, as the full run calls them.
    accuracy : float
        On the test rows.
    """

    kind: str
    parties: list[str]
    accuracy: float


def reduced(cfg: RunConfig, passive: Sequence[int]) -> RunConfig:
    """Return a run's configuration with some of its passive parties only.

    Parameters
    ----------
    cfg : RunConfig
        The full run's.
    passive : sequence of int
        The places of those that stay.

    Raises
    ------
    ConfigError
        If they are too few for the method.
    """
    places, first = [0, *passive], cfg.parties - cfg.holders
    numbers = cfg.partition_spec().kept or range(cfg.holders)
    kept = ",".join(str(numbers[rank - first]) for rank in places[first:])
    total = cfg.partition_spec().total or cfg.holders
    made, _, _ = cfg.partition.partition("@")
    noises = cfg.noises()
    try:
        return replace(
            cfg,
            parties=len(places),
            partition=f"{made}@{kept}/{total}",
            column_noise=",".join(f"{n}:{noises[p]}" for n, p in enumerate(places) if p in noises),
            transport="auto",
            **_lists(cfg, places),  # type: ignore[arg-type]
        )
    except ConfigError as error:
        raise ConfigError(
            f"--retrain keeps {len(passive)} of {cfg.parties - 1} passive parties: {error}"
        ) from error


def _lists(cfg: RunConfig, places: Sequence[int]) -> dict[str, str]:
    """Return the options that list entries by party, for some places."""
    lists = {key: split_list(getattr(cfg, key)) for key in _LISTS}
    if cfg.models == "mixed" and not cfg.spec.network:
        lists["models"] = [cfg.listed_model(rank) for rank in range(cfg.parties)]
    return {
        key: ",".join([entries[rank] for rank in places] if len(entries) > 1 else entries)
        for key, entries in lists.items()
    }


@dataclass(frozen=True)
class Plan:
    """A reduced run that can be trained.

    Attributes
    ----------
    choice : Choice
        Which parties were asked for.
    cfg : RunConfig
        Its configuration.
    parties : list of str
        The passive parties that stay in it, as the full run calls them.
    full : int
        How many parties the full run has.
    """

    choice: Choice
    cfg: RunConfig
    parties: list[str]
    full: int


def plan(cfg: RunConfig, findings: Findings, choice: Choice) -> Plan:
    """Choose the parties of a reduced run.

    Raises
    ------
    ConfigError
        If there cannot be one.
    DataError
        If the parties have tables of their own, which no partition leaves out.
    """
    if cfg.own_tables:
        raise DataError(f"--retrain cuts the columns anew; {OWN_TABLES_ONLY}")
    sizes = {each.party: each.norm for each in findings.parties}
    norms = {rank: sizes[party_name(rank)] for rank in range(1, cfg.parties)}
    places = choice.places(norms)
    return Plan(choice, reduced(cfg, places), [party_name(rank) for rank in places], cfg.parties)


def retrain(plan: Plan, out: Path) -> Summary:
    """Train a reduced run in a folder within `out`."""
    result = simulate(RunFolder(out / str(plan.choice), plan.cfg))
    kind = "most" if plan.choice.end == "top" else "least"
    return Summary(kind, plan.parties, result["test_accuracy"]["active"])
