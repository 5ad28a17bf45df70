"""Tables of numbers at three parties, for generalized linear models."""

import csv
from typing import Any

import numpy as np

import vfl_flower as vfl

PARTIES = ("active", "party-1", "party-2")


def tables(x: Any, y: Any, weights: Any = None) -> list[vfl.Table]:
    """Build three parties' tables, with labels and weights at the first."""
    held: list[dict[str, Any]] = [{"id": [f"r{n}" for n in range(len(y))]} for _ in PARTIES]
    for number, column in enumerate(x):
        held[number % 3][f"x{number}"] = column
    own = held[0] | {"y": y} | ({} if weights is None else {"w": weights})
    active = vfl.Table(own, id="id", label="y", weight=None if weights is None else "w")
    return [active, *(vfl.Table(each, id="id") for each in held[1:])]


def train(x: Any, y: Any, weights: Any = None, **options: Any) -> vfl.Run:
    """Train ``logistic`` on all rows."""
    usual: dict[str, Any] = {"epochs": 100, "baselines": "off", "test_share": 0, "validation": 0}
    return vfl.train(tables(x, y, weights), method="logistic", **usual | options)


def lines(run: vfl.Run, name: str) -> list[dict[str, str]]:
    """Return the lines of a file of all parties' model folders."""
    found = []
    for party in PARTIES:
        with (run.path / party / "model" / name).open(newline="") as file:
            of_party = [*csv.DictReader(file)]
        assert {line["party"] for line in of_party} == {party}
        found += of_party
    return found


def told(run: vfl.Run) -> dict[tuple[str, str], dict[str, str]]:
    """Return the lines of all parties' coefficients, by column and value."""
    return {(each["column"], each["value"]): each for each in lines(run, "coefficients.csv")}


def coefficients(run: vfl.Run, columns: int) -> Any:
    """Return the coefficients of numbers, in order."""
    found = told(run)
    return np.array([float(found[f"x{n}", ""]["coefficient"]) for n in range(columns)])


def z(values: Any) -> Any:
    """Return standardised values."""
    return (values - values.mean()) / values.std()


_DRAW = np.random.default_rng(0)
X = _DRAW.normal(3, 2, size=(6, 120))
SIGNAL = np.array([0.5, -1.0, 0.25, 0.0, 1.5, -0.5]) @ (X - 3)
NOISY = SIGNAL + _DRAW.normal(size=120)
