"""Results of benchmarks of time and memory, for benchmarks/results.md."""

import json
from functools import partial
from pathlib import Path

from benchmarks.harness.tables import RESULTS, body

NONE = "Not measured yet."
NAMES = (
    *("communication", "step", "carriers", "runtimes", "scale", "upload", "reading"),
    *("zsolver", "psi", "wire", "start", "serve", "peers", "linear", "precision", "memory"),
)


def results(name: str, folder: Path = RESULTS) -> str:
    """Return all results of a benchmark in Markdown.

    Parameters
    ----------
    name : str
        Name of the benchmark: its results are ``NAME.json``, then ``NAME-*.json``.
    folder : Path, optional
        Folder of the files.
    """
    paths = [*folder.glob(f"{name}.json"), *sorted(folder.glob(f"{name}-*.json"))]
    found = [body(json.loads(path.read_text())).rstrip() for path in paths]
    return "\n\n".join(found or [NONE]) + "\n"


MADE = {name: partial(results, name) for name in NAMES}
"""Functions that make the tables, by the benchmark's name."""
