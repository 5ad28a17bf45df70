"""Tables in Markdown from results that benchmarks wrote.

    python -m benchmarks.harness.tables [FILE ...]

Without files, from all in ``benchmarks/results``.
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.harness.parts import days
from benchmarks.harness.report import Report, Table

RESULTS = Path(__file__).parents[1] / "results"


def shown(result: dict[str, Any]) -> str:
    """Return a result in Markdown under the benchmark's name."""
    return f"## {result['benchmark']}\n\n{body(result)}"


def body(result: dict[str, Any]) -> str:
    """Return a result in Markdown, with command, date and machine."""
    options = " ".join(
        f"--{name.replace('_', '-')} {value}"
        for name, value in result["options"].items()
        if name not in {"tiny", "names"} and not isinstance(value, bool)
    )
    machine, versions = result["machine"], result["versions"]
    gain = machine.get("side_by_side")  # older results have none
    parallel = f" (two programs at once: {gain} times as fast as in turn)" if gain else ""
    report = Report([Table(**table) for table in result["tables"]], result["facts"])
    return "\n".join(
        [
            f"`python -m benchmarks.{result['benchmark']} {options}`\n".replace(" `", "`"),
            f"{days(result)}, {machine['processor']}, {machine['cores']} cores{parallel}, "
            f"Python {versions['python']}, torch {versions['torch']}, code {versions['code']}.\n",
            *(table.markdown() for table in report.tables),
            *(f"* {line}" for line in report.lines()),
        ]
    )


def main(files: Sequence[str]) -> None:
    """Print the tables of some files."""
    paths = [Path(file) for file in files] or sorted(RESULTS.glob("*.json"))
    print("\n".join(shown(json.loads(path.read_text())) for path in paths))


if __name__ == "__main__":
    main(sys.argv[1:])
