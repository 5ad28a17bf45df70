"""Accuracy of a trained federation that a new party joins.

    python -m benchmarks.joining --data-dir DIR --json FILE

Parties with some of the columns train a model. One more party joins it and trains alone. Beside it
stands a training of all parties anew, with as many epochs. In EASTER, the new party's own model is
compared, too: decision nets of the others never learn what the new embedding means.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import vfl_flower as vfl
from benchmarks.harness.benchmark import DATA_DIR, Arguments, Benchmark, Option
from benchmarks.harness.report import Report
from benchmarks.shown.runs import column, spread, trained

PARTITIONS: Mapping[str, tuple[str, str]] = {
    "digits": ("strips@0,1,5,4/6", "strips@0,1,5,4,2/6"),
    "mnist": ("strips@0,1,5,4/6", "strips@0,1,5,4,2/6"),
    "adult": ("columns@0,1,3,4/5", "columns@0,1,3,4,2/5"),
}
"""Partitions of four parties, and of five: the new one has columns from the middle."""

NEW = "party-4"
ACTIVE = "active"


def scores(given: Arguments, data: str, method: str, seed: int) -> Iterator[tuple[str, float]]:
    """Yield test accuracies in percent: of the model, joined, and anew."""
    few, all_ = PARTITIONS[data]
    options: dict[str, Any] = {"method": method, "epochs": given.epochs, "blinding": "none"}
    if data != "digits":
        options["train_rows"] = given.train_rows
    with TemporaryDirectory() as folder:
        out = Path(folder) / "model"
        before = trained(given, seed, data, **options, parties=4, partition=few, out=out)
        yield "model", accuracy(before, ACTIVE)
        more = {**options, "parties": 5, "partition": all_}
        joined = trained(given, seed, data, **more, new_parties=1, model=out)
        yield ACTIVE, accuracy(joined, ACTIVE)
        if NEW in joined.result["test_accuracy"]:
            yield NEW, accuracy(joined, NEW)
        anew = trained(given, seed, data, **more)
        yield "anew", accuracy(anew, ACTIVE)


def accuracy(run: vfl.Run, party: str) -> float:
    """Return the test accuracy of a party's model, in percent."""
    reached: float = run.result["test_accuracy"][party]
    return 100 * reached


def measure(given: Arguments, report: Report) -> None:
    """Compare the trainings on each data set."""
    columns = {"method": "", "prediction of": ""}
    for name in ("four parties", "one joined", "five anew"):
        columns |= column(f"{name}, %", ".1f")
    for data in given.data.split(","):
        table = report.table(f"{data}, {given.seeds} seeds", columns)
        for method in given.methods.split(","):
            seeds = [dict(scores(given, data, method, seed)) for seed in range(given.seeds)]
            model, anew = (spread([each[key] for each in seeds]) for key in ("model", "anew"))
            for party in (ACTIVE, NEW):
                if party in seeds[0]:
                    table.add(
                        *(method, "the active party" if party == ACTIVE else "the new party"),
                        *(*model, *spread([each[party] for each in seeds]), *anew),
                    )


BENCHMARK = Benchmark(
    measure,
    {
        "data_dir": DATA_DIR,
        "data": Option("digits,adult,mnist", tiny="digits", help="data sets"),
        "methods": Option("agg_vfl,easter,vfedmh", tiny="agg_vfl,easter", help="methods"),
        "train_rows": Option(10_000, help="training rows, but of digits"),
        "epochs": Option(5, tiny=1, help="epochs of each training"),
        "seeds": Option(3, tiny=1, help="number of seeds"),
    },
    timed=False,
)

if __name__ == "__main__":
    BENCHMARK.run()
