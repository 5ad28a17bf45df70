"""Interface of attacks on a repeated run."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from vfl_flower.analysis.audit.transcripts.stage import Stage


class Adversary(StrEnum):
    """Who attacks, and how far it keeps to the protocol.

    Those that do not deviate are semi-honest: they keep to the protocol and look at what they get.
    """

    PASSIVE = "passive party"
    ACTIVE = "active party"
    INFORMED = "active party that was given all parties' networks"
    COLLUDING = "active party and all passive parties but one"
    OPERATOR = "SuperLink operator"
    RECIPIENT = "recipient of predictions"
    INFORMED_RECIPIENT = "recipient of predictions that was given all else"
    DEVIATING_PASSIVE = "deviating passive party"
    DEVIATING_ACTIVE = "deviating active party"


class Target(StrEnum):
    """The secret, or the property, that an attack is after."""

    LABELS = "labels"
    COLUMNS = "columns"
    MEMBERSHIP = "membership"
    PROPERTY = "a property"
    INTEGRITY = "integrity"


@dataclass(frozen=True)
class Score:
    """Success of one attack on one repeated run.

    Attributes
    ----------
    metric : str
        Name of the figure.
    value : float
        Of the attack, where it does best.
    baseline : float
        The figure without the attack.
    against : str
        Name of that baseline.
    party : str
        The attacker, of passive parties; else the party under attack; empty where it is none.
    source : str
        The messages that were used, where there is a choice.
    """

    metric: str
    value: float
    baseline: float
    against: str
    party: str = ""
    source: str = ""


class Attack(ABC):
    """One attack, without a state of its own.

    Attributes
    ----------
    target : Target
    adversary : Adversary
    anchor : str
        The paper, year and arXiv number.
    idea : str
        The attack in one line.
    """

    target: ClassVar[Target]
    adversary: ClassVar[Adversary]
    anchor: ClassVar[str]
    idea: ClassVar[str]

    @abstractmethod
    def applies(self, stage: Stage) -> str:
        """Return the reason why the attack has no input here, or nothing."""

    @abstractmethod
    def run(self, stage: Stage) -> Score:
        """Attack a repeated run."""
