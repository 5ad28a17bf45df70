"""Time and memory of reading a party's table.

    python -m benchmarks.reading [--rows 1000000,10000000]

A table has ids of 16 characters, 16 columns of numbers, four of eight categories each, and one of
text that is ignored. It is read in a process of its own, whose memory before is not counted: that
is the libraries'. *Kept* is what the table holds, *most* the peak while it is read.
"""

import multiprocessing
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from benchmarks.harness.benchmark import Arguments, Benchmark, Option
from benchmarks.harness.report import Report
from vfl_flower.data.tables.description import Description
from vfl_flower.data.tables.reader import read_table
from vfl_flower.runs.memory import peak_memory

MIB = 1 << 20
NUMBERS, CATEGORIES, VALUES = 16, 4, 8
PIECE = 100_000  # rows that are made at a time


def pieces(rows: int) -> Iterator[pa.Table]:
    """Make a table, some rows at a time."""
    draw = np.random.default_rng(0)
    names = np.array([f"category {n}" for n in range(VALUES)])
    for start in range(0, rows, PIECE):
        count = min(PIECE, rows - start)
        columns: dict[str, Any] = {"id": [f"customer{n:08d}" for n in range(start, start + count)]}
        columns |= {f"x{n}": draw.normal(size=count).round(6) for n in range(NUMBERS)}
        columns |= {f"c{n}": names[draw.integers(VALUES, size=count)] for n in range(CATEGORIES)}
        columns["remark"] = [f"remark {n}" for n in range(count)]
        yield pa.table(columns)


def write(rows: int, path: Path) -> None:
    """Write a table as CSV or Parquet."""
    schema = next(pieces(1)).schema
    writers = {".csv": pa.csv.CSVWriter, ".parquet": pa.parquet.ParquetWriter}
    with writers[path.suffix](path, schema) as writer:
        for piece in pieces(rows):
            writer.write_table(piece)


def read(path: Path) -> tuple[int, int, float]:
    """Read a table; return kept bytes, peak bytes and seconds."""
    before, started = (peak_memory() or 0), time.perf_counter()
    table = read_table(Description(path, "id", columns={"remark": "ignored"}), "active")
    spent = time.perf_counter() - started
    return table.features.nbytes + table.ids.nbytes, (peak_memory() or 0) - before, spent


def measure(given: Arguments, report: Report) -> None:
    """Measure every size and format."""
    columns = {"rows": ",", "format": "", "file, MiB": ".0f", "kept, MiB": ".0f"}
    table = report.table("reading a table", columns | {"most, MiB": ".0f", "s": ".1f"})
    spawn = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory(prefix="vfl-flower-") as temporary:
        for rows in map(int, given.rows.split(",")):
            for ending in given.formats.split(","):
                path = Path(temporary) / f"table.{ending}"
                write(rows, path)
                with ProcessPoolExecutor(1, mp_context=spawn) as pool:
                    kept, most, spent = pool.submit(read, path).result()
                size = path.stat().st_size / MIB
                table.add(rows, ending, size, kept / MIB, most / MIB, spent)
                path.unlink()


BENCHMARK = Benchmark(
    measure,
    {
        "rows": Option("1000000,10000000", tiny="1000", help="numbers of rows"),
        "formats": Option("csv,parquet", help="formats of the file"),
    },
)

if __name__ == "__main__":
    BENCHMARK.run()
