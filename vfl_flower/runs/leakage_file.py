"""The leakage card in a run's folder: fields and file."""

from pathlib import Path
from typing import Any

from vfl_flower.common.checksums.records import read_checked, write_checked
from vfl_flower.common.files import refused
from vfl_flower.common.json_schema import Named

LEAKAGE = "leakage.json"
_ESTIMATE = (None, {"mean": float, "low": (None, float), "high": (None, float), "baseline": float})
LEAKAGE_SHAPE = {
    "method": str,
    "dataset": str,
    "rows": int,
    "epochs": int,
    "known": int,
    "auxiliary": int,
    "seeds": [int],
    "protections": [str],
    "lines": [
        {
            "attack": str,
            "target": str,
            "adversary": str,
            "anchor": str,
            "metric": str,
            "without": _ESTIMATE,
            "with": _ESTIMATE,
            "against": str,
            "party": str,
            "source": str,
            "remark": str,
        }
    ],
    "inapplicable": Named(str),
}
"""Fields of a card and their types; an estimate of one seed has no interval."""


def write_leakage(path: Path, card: dict[str, Any]) -> None:
    """Write a card into a run's folder, for its owner alone.

    Raises
    ------
    RunError
        If the file system refuses.
    """
    write_checked(path / LEAKAGE, card)


def read_leakage(path: Path) -> dict[str, Any] | None:
    """Return the card in a run's folder, if there is one.

    Raises
    ------
    RunError
        If it is damaged.
    """
    with refused(path):
        if not (path / LEAKAGE).is_file():
            return None
    card: dict[str, Any] = read_checked(path / LEAKAGE, LEAKAGE_SHAPE)
    return card
