"""Leakage card: every attack that applies, before and after protection.

Transcripts of a run are not kept, so it is repeated from its configuration, with recorders around
the passive parties: with its own protections, and once more without. Every attack of the registry
then has what its adversary has, and no more. Its figure stands beside a baseline that needs no
attack. Over several seeds, which draw rows, split and weights anew, a figure is a mean with a
Student-t interval of 95 %.

An attack's figure is a lower limit of the leakage: a better attack may exist.
"""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from math import sqrt
from pathlib import Path
from typing import Any

from scipy.stats import t as student

from vfl_flower.analysis.audit.attack import Attack, Score
from vfl_flower.analysis.audit.protection import protections_of, unprotected
from vfl_flower.analysis.audit.registry import ATTACKS, WITHOUT_INPUT, attack_of
from vfl_flower.analysis.audit.transcripts.attacked import AttackedRows
from vfl_flower.analysis.audit.transcripts.repetition import configured
from vfl_flower.analysis.audit.transcripts.stage import EndedRun, Stage
from vfl_flower.common.errors import ConfigError, RunError
from vfl_flower.common.names import party_name
from vfl_flower.config.run_config import RunConfig
from vfl_flower.data.loading import split_of
from vfl_flower.data.splitting.record import Split
from vfl_flower.reporting.console.lines import say
from vfl_flower.runs.leakage_file import write_leakage
from vfl_flower.runs.run_folder import RunFolder
from vfl_flower.runs.seeds import first_run

LEVEL = 0.95
WITHOUT, WITH = "without", "with"


@dataclass(frozen=True)
class Terms:
    """How a run is attacked.

    Attributes
    ----------
    epochs : int
        That each repetition trains at most.
    known : int
        Labels of each class that an attacker who learns has.
    auxiliary : int
        Rows whose columns an attacker who learns has.
    seeds : int
        How many seeds there are, from the run's own on.
    attacks : sequence of str
        Their names; empty for all.
    """

    epochs: int = 3
    known: int = 10
    auxiliary: int = 200
    seeds: int = 1
    attacks: Sequence[str] = ()


@dataclass(frozen=True)
class Estimate:
    """Mean of a figure over seeds, with an interval.

    Attributes
    ----------
    mean, baseline : float
        Of the attack, and of its baseline.
    low, high : float or None
        Ends of the interval for the former; None for a single seed.
    """

    mean: float
    baseline: float
    low: float | None = None
    high: float | None = None

    @classmethod
    def of(cls, scores: Sequence[Score]) -> "Estimate":
        """Estimate the means of one score a seed."""
        values = [each.value for each in scores]
        mean, baseline = statistics.fmean(values), statistics.fmean(s.baseline for s in scores)
        if len(values) < 2:
            return cls(mean, baseline)
        deviation = statistics.stdev(values) / sqrt(len(values))
        reach = float(student.ppf((1 + LEVEL) / 2, len(values) - 1)) * deviation
        return cls(mean, baseline, mean - reach, mean + reach)


@dataclass
class Trials:
    """Scores of one attack by setting, and reasons against it."""

    scores: dict[str, list[Score]] = field(default_factory=dict)
    reasons: dict[str, list[str]] = field(default_factory=dict)

    def note(self, attack: Attack, stage: Stage, setting: str) -> None:
        """Attack a repetition, or keep the reason why not."""
        if reason := attack.applies(stage):
            self.reasons.setdefault(setting, []).append(reason)
            return
        try:
            score = attack.run(stage)
        except EndedRun as ended:
            self.reasons.setdefault(setting, []).append(str(ended))
        else:
            self.scores.setdefault(setting, []).append(score)

    def line(self, name: str, attack: Attack) -> dict[str, Any]:
        """Return the line of a card about an attack that has scores."""
        first = next(iter(self.scores.values()))[0]
        estimates = {
            setting: asdict(Estimate.of(scores)) if (scores := self.scores.get(setting)) else None
            for setting in (WITHOUT, WITH)
        }
        return {
            "attack": name,
            "target": str(attack.target),
            "adversary": str(attack.adversary),
            "anchor": attack.anchor,
            "metric": first.metric,
            **estimates,
            "against": first.against,
            "party": first.party,
            "source": first.source,
            "remark": "; ".join(self._remark(setting) for setting in self.reasons),
        }

    def _remark(self, setting: str) -> str:
        """Return the reason against a figure, or against some of its seeds."""
        reasons, scores = self.reasons[setting], self.scores.get(setting, [])
        lacks = f", in {len(reasons)} of {len(reasons) + len(scores)} seeds" if scores else ""
        return f"{setting} protection{lacks}: {reasons[0]}"


def leakage_card(path: Path, terms: Terms, trust_code: bool = False) -> dict[str, Any]:
    """Attack a run, and write and return its card.

    `trust_code` is as for `RunFolder.reopen`.

    Raises
    ------
    ConfigError
        If an attack is unknown, or no attack is left.
    RunError
        If there is no run, or it was between machines.
    """
    attacks = {name: attack_of(name) for name in terms.attacks or ATTACKS}
    folder = first_run(path, trust_code)
    refuse_deployed(folder)
    cfg = configured(folder.cfg, terms.epochs)
    if cfg.spec.alone:
        raise ConfigError(f"with {cfg.method} no party sends another one anything to attack")
    trials = {name: Trials() for name in attacks}
    split, rows = split_of(cfg, folder.path / party_name(0)), 0
    seeds = [cfg.seed + number for number in range(terms.seeds)]
    for seed in seeds:
        rows = _attack(replace(cfg, seed=seed), attacks, trials, terms, split)
    tried = {name: each for name, each in trials.items() if each.scores}
    card = {
        "method": cfg.method,
        "dataset": cfg.dataset,
        "rows": rows,
        "epochs": cfg.epochs,
        "known": terms.known,
        "auxiliary": terms.auxiliary,
        "seeds": seeds,
        "protections": protections_of(cfg),
        "lines": [each.line(name, attacks[name]) for name, each in tried.items()],
        "inapplicable": _inapplicable(trials, bool(terms.attacks)),
    }
    write_leakage(path, card)
    return card


def _attack(
    cfg: RunConfig,
    attacks: Mapping[str, Attack],
    trials: Mapping[str, Trials],
    terms: Terms,
    split: Split | None,
) -> int:
    """Attack repetitions of one seed; return the number of attacked rows."""
    attacked = AttackedRows(unprotected(cfg), terms.known, terms.auxiliary, split)
    settings = {WITHOUT: unprotected(cfg)} | ({WITH: cfg} if protections_of(cfg) else {})
    for setting, each in settings.items():
        say(f"seed {cfg.seed}: attacking a repetition {setting} protection")
        stage = Stage.of(each, attacked)
        for name, attack in attacks.items():
            trials[name].note(attack, stage, setting)
    return len(attacked.rows)


def _inapplicable(trials: Mapping[str, Trials], chosen: bool) -> dict[str, str]:
    """Return the reasons against the attacks without a score, by name."""
    found = {
        name: next(iter(each.reasons.values()))[0]
        for name, each in trials.items()
        if not each.scores and each.reasons
    }
    return found if chosen else found | WITHOUT_INPUT


def refuse_deployed(folder: RunFolder) -> None:
    """Refuse a run whose parties' folders are not all here.

    Raises
    ------
    RunError
        Says which are, and what cannot be seen.
    """
    names = [party_name(rank) for rank in range(folder.cfg.parties)]
    here = [name for name in names if (folder.path / name).is_dir()]
    if here and len(here) < len(names):
        raise RunError(
            f"{folder.path} holds the folder of {', '.join(here)} alone, of a run between "
            f"machines: {names[0]} and each of {', '.join(names[1:])} have their own transcripts, "
            "and nobody has all of them. An audit here could neither see other parties' columns, "
            "to judge guesses by, nor repeat the run; audit a simulation with the same options "
            "on data that may be seen"
        )
