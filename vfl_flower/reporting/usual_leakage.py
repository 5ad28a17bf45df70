"""Measured leakage of each method, for runs without a card."""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("usual_leakage.json")
"""Made from the measurement that docs/leakage.md shows."""


@dataclass(frozen=True)
class Strongest:
    """The attack on a target that is furthest beyond its baseline.

    Attributes
    ----------
    target, attack, metric, against : str
        As in a leakage card.
    figure, baseline : float
        Means over seeds.
    """

    target: str
    attack: str
    metric: str
    figure: float
    baseline: float
    against: str

    def written(self) -> str:
        """Return it in words."""
        return (
            f"{self.target}: {self.attack}, {self.metric} {self.figure:.2f} "
            f"({self.against} {self.baseline:.2f})"
        )


@cache
def _measured() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(FILE.read_text())
    return found


def usual_setting() -> str:
    """Return data, networks and knowledge of the attackers in words."""
    setting: str = _measured()["setting"]
    return f"digits, {setting}"


def usual_leakage(method: str) -> list[Strongest]:
    """Return the strongest attack on each target; none of methods not measured."""
    return [Strongest(**each) for each in _measured()["methods"].get(method, ())]
