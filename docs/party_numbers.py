"""Tables of rows that some party lacks, and of parties that join."""

import json
from pathlib import Path

from benchmarks.harness.tables import RESULTS
from docs.benchmark_numbers import NONE
from docs.page_numbers import joined

MISSING, JOINING = (RESULTS / f"{name}.json" for name in ("missing_parties", "joining"))


def missing_parties(file: Path = MISSING) -> str:
    """Return the tables in Markdown, with date and settings.

    Parameters
    ----------
    file : Path, optional
        Result of ``python -m benchmarks.missing_parties``.
    """
    return _shown(
        file,
        "{bank_epochs} epochs on the bank's tables, {epochs} on images with {train_rows:,} "
        "training rows before some are lost.",
    )


def joining(file: Path = JOINING) -> str:
    """Return the tables of new parties in Markdown, with date and settings.

    Parameters
    ----------
    file : Path, optional
        Result of ``python -m benchmarks.joining``.
    """
    return _shown(
        file, "{epochs} epochs of each training, {train_rows:,} training rows, of digits all."
    )


def _shown(file: Path, settings: str) -> str:
    """Return a result's tables, after a sentence with its options."""
    if not file.exists():
        return f"{NONE}\n"
    measured = json.loads(file.read_text())
    given = measured["options"]
    told = (
        f"Measured {measured['date'][:10]} with torch {measured['versions']['torch']}: "
        f"{given['seeds']} seeds, MLPs, {settings.format(**given)}"
    )
    parts = [joined(each, each["title"]) for each in measured["tables"]]
    return "\n".join([told, "", *parts])
