"""Training with and without rows that some party lacks.

    python -m benchmarks.missing_parties --data-dir DIR --json FILE

Images: each passive party has each row with a probability. Bank and shop: the example's tables, two
parties, without masks. Models are compared on the same test rows: those that all parties have, and
those that some lack and at least two have (of the bank, that the shop lacks). A model that was
trained on complete rows alone predicts the others from the parties that are there, too.
"""

import runpy
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray

from benchmarks.harness.benchmark import DATA_DIR, Arguments, Benchmark, Option
from benchmarks.harness.report import Report
from benchmarks.shown.runs import column, spread
from vfl_flower.common.codec import Array
from vfl_flower.common.errors import ProtocolError
from vfl_flower.config.run_config import RunConfig
from vfl_flower.data.loading import Alignments, run_data
from vfl_flower.data.party_data import PartyData
from vfl_flower.parties.active import ActiveParty
from vfl_flower.parties.party import Party
from vfl_flower.protocol.exchange import Protocol
from vfl_flower.training.loop import train
from vfl_flower.transport.local import LocalTransport
from vfl_flower.workflows.align import align_here
from vfl_flower.workflows.build_parties import build_active, build_passive
from vfl_flower.workflows.prediction import asked

EXAMPLE = Path(__file__).parents[1] / "examples" / "bank-and-shop" / "make_tables.py"


@dataclass(frozen=True)
class Loaded:
    """Data of all parties, with other training rows."""

    data: list[PartyData]

    def party(self, rank: int, *, labelled: bool = True) -> PartyData:
        """Return the data of one party."""
        return self.data[rank]

    def pooled(self, *, labelled: bool = True) -> PartyData:
        """Refuse: no run here pools columns."""
        raise NotImplementedError


def loaded(cfg: RunConfig, alignments: Alignments | None, *, complete: bool) -> Loaded:
    """Load all parties' data, training rows maybe only complete ones."""
    source = run_data(cfg, alignments)
    data = [source.party(rank) for rank in range(cfg.parties)]
    rows = data[0].rows["train"]
    if complete:
        rows = rows[presence_of(data[0])[rows].all(1)]
    return Loaded([replace(each, rows=each.rows | {"train": rows}) for each in data])


def presence_of(data: PartyData) -> NDArray[np.bool_]:
    """Return who has which rows, as the active party knows it."""
    return cast("NDArray[np.bool_]", data.presence)


def built(cfg: RunConfig, data: Loaded) -> tuple[ActiveParty, list[Any]]:
    """Build all parties of a run."""
    passive = [build_passive(cfg, k, data=data.party(k)) for k in range(1, cfg.parties)]
    return build_active(cfg, source=data), passive


def trained(cfg: RunConfig, data: Loaded) -> torch.Tensor:
    """Train, and return outputs of the test rows, (N, C)."""
    active, passive = built(cfg, data)
    LocalTransport(passive).run(active)
    again, others = built(cfg, data)
    pairs: Iterator[tuple[Party, Party]] = zip([active, *passive], [again, *others], strict=True)
    for learnt, fresh in pairs:
        fresh.net.load_state_dict(learnt.net.state_dict())
    return asked(again, again.rows["test"], LocalTransport(others))


def alone(cfg: RunConfig, alignments: Alignments | None, test: Array) -> torch.Tensor:
    """Train the active party alone, and return outputs of rows."""
    changed = cfg.changed(method="local", blinding="auto", subset_training="off")
    changed = changed.changed(row_presence=1.0)
    active = build_active(changed, source=run_data(changed, alignments))
    exhausted(train(active))
    return active.compute(lambda: active.decide(active.embed_rows(test)), training=False)


def exhausted(protocol: Protocol) -> None:
    """Run a protocol that asks for nothing."""
    for request in protocol:
        raise ProtocolError(f"'{request.phase}' was asked, where nobody is to answer")


def accuracies(data: PartyData, outputs: torch.Tensor) -> list[float]:
    """Return accuracies on complete and other rows, in percent."""
    rows = data.rows["test"]
    whole = presence_of(data)[rows].all(1)
    y = cast("torch.Tensor", data.y)[torch.from_numpy(rows)]
    right = (outputs.argmax(1) == y).numpy()
    return [100 * float(right[part].mean()) for part in (whole, ~whole)]


def seed_scores(
    cfg: RunConfig, alignments: Alignments | None = None
) -> Iterator[tuple[str, list[float]]]:
    """Yield each way to train, its training rows and accuracies."""
    every = loaded(cfg, alignments, complete=False)
    data, test = every.data[0], every.data[0].rows["test"]
    size = len(data.rows["train"])
    whole = loaded(cfg, alignments, complete=True)
    yield (
        "complete rows only",
        [len(whole.data[0].rows["train"]), *accuracies(data, trained(cfg, whole))],
    )
    yield "rows that some lack, too", [size, *accuracies(data, trained(cfg, every))]
    drawn = replace(cfg, subset_training="on")
    yield "the same, subsets drawn", [size, *accuracies(data, trained(drawn, every))]
    lone = alone(cfg, alignments, test)
    rows = len(run_data(cfg.changed(row_presence=1.0), alignments).party(0).rows["train"])
    yield "the active party alone", [rows, *accuracies(data, lone)]


COLUMNS = {"method": "", "trained on": "", "training rows": ".0f"}
COLUMNS |= column("all have, %", ".1f") | column("some lack, %", ".1f")


def images(given: Arguments, report: Report) -> None:
    """Compare on images, for each data set and probability."""
    for dataset, share in product(given.images.split(","), (0.5, 0.9)):
        title = f"{dataset}, each passive party has a row with probability {share:g}"
        table = report.table(f"{title}, {given.seeds} seeds", COLUMNS)
        for method in given.methods.split(","):
            cfg = RunConfig(
                method=method,
                dataset=dataset,
                data_dir=given.data_dir,
                models="mlp",
                parties=5,
                epochs=given.epochs,
                train_rows=given.train_rows,
                missing_parties="use",
                row_presence=share,
                validation=0.0,
                baselines="off",
                device="cpu",
            )
            add(
                table, method, [dict(seed_scores(replace(cfg, seed=s))) for s in range(given.seeds)]
            )


def add(table: Any, method: str, seeds: list[dict[str, list[float]]]) -> None:  # noqa: ANN401
    """Add a row for each way to train, averaged over seeds."""
    for way in seeds[0]:
        rows, whole, partly = zip(*(each[way] for each in seeds), strict=True)
        table.add(method, way, float(np.mean(rows)), *spread(whole), *spread(partly))


@contextmanager
def bank_tables() -> Iterator[str]:
    """Make the example's tables; give their descriptions."""
    with TemporaryDirectory() as folder:
        words, sys.argv = sys.argv, [str(EXAMPLE), folder]
        try:
            runpy.run_path(str(EXAMPLE), run_name="__main__")
        finally:
            sys.argv = words
        yield ",".join(str(Path(folder) / f"{name}.toml") for name in ("bank", "shop"))


def bank(given: Arguments, report: Report) -> None:
    """Compare on the tables of the bank and the shop."""
    table = report.table(f"bank and shop, without masks, {given.seeds} seeds", COLUMNS)
    with bank_tables() as tables, TemporaryDirectory() as folder:
        cfg = RunConfig(
            dataset="own",
            tables=tables,
            parties=2,
            blinding="none",
            models="mlp",
            epochs=given.bank_epochs,
            missing_parties="use",
            validation=0.0,
            baselines="off",
            device="cpu",
        )
        alignments = align_here(cfg, Path(folder)).alignments
        for method in given.methods.split(","):
            chosen = cfg.changed(method=method)
            seeds = [
                dict(seed_scores(replace(chosen, seed=s), alignments)) for s in range(given.seeds)
            ]
            add(table, method, seeds)


def measure(given: Arguments, report: Report) -> None:
    """Measure both."""
    bank(given, report)
    images(given, report)


BENCHMARK = Benchmark(
    measure,
    {
        "data_dir": DATA_DIR,
        "images": Option("mnist,cifar10", tiny="digits", help="data sets of images"),
        "methods": Option("easter,agg_vfl", tiny="agg_vfl", help="methods that sum"),
        "train_rows": Option(20_000, tiny=0, help="training rows of images, before rows are lost"),
        "epochs": Option(5, tiny=1, help="epochs on images"),
        "bank_epochs": Option(20, tiny=1, help="epochs on the bank's tables"),
        "seeds": Option(2, tiny=1, help="number of seeds"),
    },
    timed=False,
)

if __name__ == "__main__":
    BENCHMARK.run()
