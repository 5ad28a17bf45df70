"""Cells of EASTER's tables."""

from dataclasses import replace

from benchmarks.papers.easter.claims import TABLE_2, TABLE_3, TABLE_4
from benchmarks.papers.easter.runs import (
    BASELINES,
    DIVERGING,
    EXPERIMENTS,
    LATER,
    OPTIMIZERS,
    PARTIES,
    POOLED,
    RESIDUAL,
    SETS,
    SLOWED,
    SMALL,
    VARIED,
)
from benchmarks.reproducing.cells import uncounted, variants, with_spreads
from benchmarks.reproducing.paper import Cell

SMALLER = "PraVFed's LeNet is larger and comes closer: see {}Table 2, other networks"
BEST = "the best evaluation of 60 epochs comes closer: see that row"
ONE_GRADIENT = (
    "its four local steps are on one gradient; with labels shared each has its own, and it trains, "
    "on CIFAR-10 at a quarter of the rate only: see the rows with labels shared{}"
)
FALLING = "60 epochs whose rate falls are not distinguishable from it: see that row"
LEVEL = "60 epochs are not distinguishable from it: see that row"
NO_MORE = (
    "60 epochs whose rate falls come closer; one network on whole images, with this row's 20 "
    "epochs, comes to no more than it: see those rows"
)
OF_HOMOGENEOUS = {
    ("FMNIST", "LeNet"): LEVEL,
    ("CIFAR10", "LeNet"): FALLING,
    ("CIFAR10", "MLP"): NO_MORE,
}
"""What explains misses of Homo_EASTER, by data set and network."""

WHY = {
    ("CIFAR10", "Local", "LeNet"): SMALLER.format(""),
    **{(dataset, "C_VFL", network): ONE_GRADIENT.format("") for dataset, network in DIVERGING},
    **{("CIFAR10", "EASTER", network): BEST for network in SMALL},
    **{(dataset, "Homo_EASTER", of): why for (dataset, of), why in OF_HOMOGENEOUS.items()},
}
"""The same of all rows of Tables 2 and 3, and failures; tests hold it against results."""

LONGER = "60 epochs of Homo_EASTER come closer: see {}Table 3"
NOR_WHOLE_IMAGES = (
    "one network on whole images, with the same 20 epochs, does not reach it either: see {}Table 3"
)
"""What that table's last rows say of other tables' misses."""


def _lines(text: str) -> list[list[str]]:
    return [line.split() for line in text.strip().splitlines()]


def _cell(dataset: str, name: str, network: str, claim: str, spread: str = "") -> Cell:
    """Return a cell of Table 2 or 3."""
    run, reading = f"{dataset} {network} {name.replace('Homo_aggVFL', 'Agg_VFL')}", "test:active"
    if name == "Homo_EASTER":
        reading = "test-mean"
    if name == "EASTER":
        kind, networks = ("mixed", SMALL) if network in SMALL else ("residual", RESIDUAL)
        run, reading = f"{dataset} {kind}", f"test:{PARTIES[networks.index(network)]}"
    deviation = float(spread) if spread else None
    why = WHY.get((dataset, name, network), "")
    return Cell(f"{dataset}, {name}", network, run, reading, float(claim), deviation, why=why)


def table2() -> list[Cell]:
    """Return Table 2's cells."""
    return [
        _cell(dataset, name, network, claim, spread)
        for dataset, name, *numbers in _lines(TABLE_2)
        for network, claim, spread in zip(
            SMALL + RESIDUAL, numbers[::2], numbers[1::2], strict=True
        )
    ]


def other_settings() -> list[Cell]:
    """Return rows of other settings and lengths than the paper's."""
    short = (
        Cell(f"{d}, EASTER, shortened", "ResNet18", f"{d} ResNet18 shortened", "test-mean")
        for d in SETS
    )
    varied = [
        Cell(f"{d}, {name}", network, f"{d} {network} {name}")
        for name, (where, _) in VARIED.items()
        for d, network in where
    ]
    longer = variants(table2(), LATER, EXPERIMENTS)
    return [*uncounted(varied), *longer, *uncounted(short)]


def networks() -> list[Cell]:
    """Return Table 2's rows Local and EASTER with other networks."""
    return uncounted(
        replace(
            cell,
            experiment=f"{cell.row.split(',')[0]} {cell.column if alone else 'mixed'} of PraVFed",
            why="",
        )
        for cell in table2()
        if cell.column in SMALL and ((alone := cell.row.endswith("Local")) or "EASTER" in cell.row)
    )


def rounds() -> list[Cell]:
    """Return exchanges of a training, of which the paper has ratios only."""
    runs = {"EASTER, three networks": "mixed"}
    runs |= {f"{name}, one network": f"MLP {name}" for name in BASELINES if name != "Local"}
    return [
        Cell(row, dataset, f"{dataset} {run}", "exchanges", lower=True)
        for row, run in runs.items()
        for dataset in SETS
    ]


def table3() -> list[Cell]:
    """Return Table 3's cells, with the deviations of Table 2."""
    cells = [
        _cell(dataset, name, network, claim)
        for dataset, name, *claims in _lines(TABLE_3)
        for network, claim in zip(SMALL, claims, strict=True)
    ]
    claimed = with_spreads(cells, table2())
    longer = [cell for end in (LATER, SLOWED) for cell in variants(claimed, end, EXPERIMENTS)]
    pooled = uncounted(
        Cell(f"{dataset}, Central, on whole images", network, f"{dataset} {network} Central")
        for dataset, network in POOLED
    )
    return claimed + longer + pooled


def unbounded() -> list[Cell]:
    """Return cells of Table 4 without a bound of embeddings."""
    ends = (", unbounded", ", tuned", ", one rate")
    return [cell for end in ends for cell in variants(table4(), end, EXPERIMENTS)]


def table4() -> list[Cell]:
    """Return Table 4's cells."""
    return [
        Cell(
            f"{dataset}, {name}",
            network,
            f"{dataset} {network} optimizers",
            f"test:{PARTIES[list(OPTIMIZERS).index(name)]}",
            float(claim),
            why=LONGER.format("") if (dataset, network) == ("CIFAR10", "LeNet") else "",
        )
        for dataset, name, *claims in _lines(TABLE_4)
        for network, claim in zip(SMALL, claims, strict=True)
    ]
