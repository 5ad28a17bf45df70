"""Malformed tables, and how reading them ends.

Good tables, as CSV, gzip and Parquet, are changed at random: bytes and pieces are flipped, removed,
doubled and inserted, files are cut off or written in another encoding. A table is read, or refused
in an error that names party and file.
"""

import gzip
import io
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd

from benchmarks.harness.benchmark import Arguments
from benchmarks.harness.report import Report
from vfl_flower.common.errors import DataError
from vfl_flower.data.tables.description import Description
from vfl_flower.data.tables.reader import read_table

ROWS, MOST_CHANGES, SLOW = 40, 2, 10.0
PARTY = "party-1"
OUTCOMES = ("read", "refused", "slow", "printed", "TRACEBACK")
"""Slow is more than `SLOW` seconds of the processor; printed, a library's own words as well."""

PIECES = [
    *(
        b'"',
        b'""',
        b",",
        b";",
        b"\t",
        b"\n",
        b"\r",
        b"\r\n",
        b"\0",
        b"\xff",
        b"\xc3",
        b"\xef\xbb\xbf",
    ),
    *(b"nan", b"inf", b"-1e999", b"1e-999", b"9" * 40, b"x" * 200_000, b"2024-13-40", b"0x10"),
    *("\u202e\u0301\U0001f600".encode(), b"\xed\xa0\x80", b"1,234.5", b"true", b" ", b"'=1+1"),
]
ENCODINGS = ("utf-16", "utf-32", "utf-8-sig", "utf-16-le")
Content = tuple[bytes, str]
Rng = np.random.Generator


def good() -> list[Content]:
    """Return the contents and file endings of good tables."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "id": [f"c-{n}" for n in range(ROWS)],
            "amount": rng.normal(0, 100, ROWS).round(2),
            "town": rng.choice(["Zürich", "Bern, BE", 'the "Isle"'], ROWS),
            "since": pd.date_range("2020-01-01", periods=ROWS, freq="17D").strftime("%Y-%m-%d"),
            "open": rng.choice(["yes", "no"], ROWS),
            "y": rng.integers(0, 2, ROWS),
        }
    )
    text, packed = frame.to_csv(index=False).encode(), io.BytesIO()
    frame.to_parquet(packed)
    return [
        *((text, ".csv"), (text.replace(b",", b";"), ".csv"), (text, ".csv.gz")),
        (packed.getvalue(), ".parquet"),
    ]


def changed(content: bytes, rng: Rng) -> bytes:
    """Change a content at one place."""
    at, piece = int(rng.integers(len(content) + 1)), PIECES[rng.integers(len(PIECES))]
    end = min(len(content), at + int(rng.integers(1, 200)))
    changes: list[Callable[[], bytes]] = [
        lambda: content[:at] + bytes([rng.integers(256)]) + content[at + 1 :],
        lambda: content[:at] + content[end:],
        lambda: content[:end] + content[at:],
        lambda: content[:at],
        lambda: content[:at] + piece + content[at:],
        lambda: content[:at] + piece + content[end:],
    ]
    return changes[rng.integers(len(changes))]()


def malformed(table: Content, rng: Rng) -> Content:
    """Change a table at some places, or its encoding."""
    content, ending = table
    if ending != ".parquet" and not rng.integers(12):
        encoding = ENCODINGS[rng.integers(len(ENCODINGS))]
        content = content.decode().encode(encoding)
    for _ in range(rng.integers(1, MOST_CHANGES + 1)):
        content = changed(content, rng)
    if ending == ".csv.gz":
        content = gzip.compress(content, 1)
        content = changed(content, rng) if not rng.integers(4) else content
    return content, ending


def outcome(path: Path, said: dict[str, Any]) -> str:
    """Read a table; return how that ended."""
    printed = list[object]()
    started = time.process_time()
    with patch.object(sys, "unraisablehook", printed.append):
        try:
            read_table(Description(path, "id", **said), PARTY)
            found = "read"
        except DataError as error:
            named = str(error).startswith(f"{PARTY}: ") and str(error).isprintable()
            found = "refused" if named else "TRACEBACK"
        except Exception:
            found = "TRACEBACK"
    if printed:
        return "printed"
    return "slow" if time.process_time() - started > SLOW else found


def tables(given: Arguments, report: Report) -> None:
    """Read malformed tables; report counts, and those that end otherwise."""
    rng, originals = np.random.default_rng(given.seed), good()
    counts = {ending: Counter[str]() for _, ending in originals}
    shown = list[tuple[str, int, str]]()
    with tempfile.TemporaryDirectory(prefix="vfl-flower-tables-") as folder:
        for number in range(given.tables):
            content, ending = malformed(originals[number % len(originals)], rng)
            path = Path(folder, f"own{ending}")
            path.write_bytes(content)
            found = outcome(path, {"label": "y"} if rng.integers(2) else {})
            counts[ending][found] += 1
            shown += [(ending, number, found)] if found not in {"read", "refused"} else []
    table = report.table(
        "malformed tables", {"file": "", "tables": ",", **dict.fromkeys(OUTCOMES, ",")}
    )
    for ending, each in counts.items():
        table.add(f"`{ending}`", each.total(), *(each[name] for name in OUTCOMES))
    if shown:
        failed = report.table("malformed tables, other ends", {"file": "", "number": "", "end": ""})
        for row in shown:
            failed.add(*row)
