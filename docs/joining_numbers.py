"""Tables of federations that a new party joins."""

import json
from pathlib import Path

from benchmarks.harness.tables import RESULTS
from docs.benchmark_numbers import NONE
from docs.page_numbers import joined

FILE = RESULTS / "joining.json"


def joining(file: Path = FILE) -> str:
    """Return the tables in Markdown, with date and settings.

    Parameters
    ----------
    file : Path, optional
        Result of ``python -m benchmarks.joining``.
    """
    if not file.exists():
        return f"{NONE}\n"
    measured = json.loads(file.read_text())
    given = measured["options"]
    told = (
        f"Measured {measured['date'][:10]} with torch {measured['versions']['torch']}: "
        f"{given['seeds']} seeds, MLPs, {given['epochs']} epochs of each training, "
        f"{given['train_rows']:,} training rows of MNIST."
    )
    parts = [joined(each, each["title"]) for each in measured["tables"]]
    return "\n".join([told, "", *parts])
