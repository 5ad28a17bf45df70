"""Numbers that pages of the documentation show.

    python -m benchmarks.pages --data-dir DIR --json benchmarks/results/pages.json [NAME ...]

Each name is a block of a page, and has the runs that it needs: small ones, of a few seeds. A page's
title says its setting. Nothing is chosen on test rows. With ``--out``, tables of each name are
kept in a folder, and those found there are not measured again.
"""

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from benchmarks.harness.benchmark import DATA_DIR, OUT, Arguments, Benchmark, Option
from benchmarks.harness.report import Report, Table
from benchmarks.shown import cards, deciding, explaining, leaking, noise, privacy, rows
from vfl_flower.common.files import json_bytes, write_atomically

SHOWN: dict[str, Callable[[Arguments, Report], None]] = {
    "label-privacy": privacy.label_privacy,
    "client-privacy": privacy.client_privacy,
    "distributed-noise": noise.distributed_noise,
    "row-level": rows.row_level,
    "embedding-scale": noise.embedding_scale,
    "reconstruction": privacy.reconstruction,
    "explain-tables": explaining.tables,
    "explain-methods": explaining.methods,
    "explain-heads": explaining.heads,
    "thresholds": deciding.thresholds,
    "bound": privacy.bound,
    "leakage": cards.leakage,
    "leakage-steps": cards.leakage_steps,
    "leakage-images": cards.leakage_images,
    "defences": leaking.defences,
    "embedding-defences": leaking.embedding_defences,
    "encodings": leaking.encodings,
    "scores": leaking.scores,
}
"""What fills a report, by the name of a block."""


def tables_of(name: str, given: Arguments) -> list[Table]:
    """Measure the tables of a block, or read kept ones."""
    path = Path(given.out) / f"{name}.json" if given.out else None
    if path and path.exists():
        return [Table(**each) for each in json.loads(path.read_text())]
    report = Report()
    SHOWN[name](given, report)
    if path:
        write_atomically(path, json_bytes([asdict(table) for table in report.tables]))
    return report.tables


def measure(given: Arguments, report: Report) -> None:
    """Measure block by block; a table's title begins with its block."""
    for name in given.names:
        for table in tables_of(name, given):
            table.title = f"{name}: {table.title}"
            report.tables.append(table)


BENCHMARK = Benchmark(
    measure,
    {
        "data_dir": DATA_DIR,
        "out": OUT,
        "images": Option("cifar10", tiny="digits", help="data set whose tiles are reconstructed"),
        "traded": Option("mnist,adult", tiny="digits", help="data sets under distributed noise"),
        "attacked": Option("mnist", tiny="digits", help="larger images that are attacked"),
        "scaled": Option("mnist", tiny="digits", help="data set with standardised uploads"),
        "train_rows": Option(4000, tiny=500, help="training rows of those"),
        "seeds": Option(3, tiny=1, help="number of seeds"),
        "epochs": Option(60, tiny=1, help="epochs of a run at most"),
        "most": Option(100, tiny=1, help="rows of a table at most, such as methods"),
    },
    known=list(SHOWN),
    few=list(SHOWN),
    timed=False,  # no time is among its results, which may be kept ones
)

if __name__ == "__main__":
    BENCHMARK.run()
